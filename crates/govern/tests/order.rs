//! The order of grants: class, tenants in turn, priority, path, order, age; and the longest waiting every eighth time.

use convoke_govern::{
    Admission, Amount, Demand, Governor, Outcome, Rank, Refused, ResourceId, Rules, Spec, Used,
};
use convoke_model::Timestamp;

const NOW: Timestamp = Timestamp(1_000_000);

fn slots(governor: &Governor) -> [Amount; 1] {
    [Amount::of(governor.resource("slots").expect("slots"), 1)]
}

fn ask(governor: &mut Governor, key: u64, rank: Rank) {
    let needs = slots(governor);
    governor.demand(Demand { key, rank, needs: &needs }, NOW).expect("a demand that fits is taken");
}

fn granted(governor: &mut Governor) -> Vec<u64> {
    std::iter::from_fn(|| match governor.admit(NOW) {
        Admission::Granted(key) => Some(key),
        _ => None,
    })
    .collect()
}

fn free(governor: &mut Governor, key: u64) {
    governor.release(key, Used::AsReserved, Outcome::Unknown, NOW).expect("it holds a permit");
}

fn rank(class: u8, priority: u8) -> Rank {
    Rank { class, priority, ..Rank::default() }
}

#[test]
fn urgent_first_then_longer_paths_then_as_asked_then_oldest() {
    let mut governor = Governor::new(9);
    let demands = [(1, 2, 0, 5), (2, 0, 0, 9), (3, 2, 7, 9), (4, 1, 0, 0), (5, 2, 0, 5), (6, 2, 0, 4)];
    for (key, priority, path, order) in demands {
        ask(&mut governor, key, Rank { priority, path, order, ..Rank::default() });
    }
    assert_eq!(granted(&mut governor), [2, 4, 3, 6, 1, 5]);
    assert_eq!(governor.admit(NOW), Admission::Idle);
}

#[test]
fn the_eighth_grant_goes_to_the_longest_waiting() {
    let mut governor = Governor::new(100);
    ask(&mut governor, 0, rank(2, 4));
    (1..=20).for_each(|key| ask(&mut governor, key, rank(0, 0)));
    let order = granted(&mut governor);
    assert_eq!(order.iter().position(|key| *key == 0), Some(7));
}

/// PI-18.
#[test]
fn a_fresh_critical_is_never_behind_an_old_low_but_for_the_eighth_grant() {
    let mut governor = Governor::new(1);
    (0..40).for_each(|key| ask(&mut governor, key, rank(1, 3)));
    let mut low = 0;
    for turn in 0..80u64 {
        ask(&mut governor, 1_000 + turn, rank(1, 0));
        let key = granted(&mut governor)[0];
        low += u64::from(key < 1_000);
        assert_eq!(key < 1_000, (turn + 1) % 8 == 0, "turn {turn} went to {key}");
        free(&mut governor, key);
    }
    assert_eq!(low, 10);
}

#[test]
fn a_blocked_demand_takes_nothing_and_says_on_what() {
    let mut governor = Governor::new(1);
    let on = governor.resource("slots").expect("slots");
    ask(&mut governor, 1, Rank::default());
    ask(&mut governor, 2, Rank::default());
    assert_eq!(governor.admit(NOW), Admission::Granted(1));
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on, until: None });
    assert_eq!((governor.held(), governor.waiting(), governor.name(on)), (1, 1, "slots"));
    free(&mut governor, 1);
    let again = governor.release(1, Used::AsReserved, Outcome::Unknown, NOW);
    assert_eq!(again, Err(convoke_govern::NotHeld(1)), "a second release is a mistake that is told");
    assert_eq!(governor.metrics(NOW).not_held, 1);
    assert_eq!(governor.admit(NOW), Admission::Granted(2));
}

#[test]
fn granted_whole_or_not_at_all() {
    let mut governor = Governor::with(Rules::default());
    let model = governor.add(Spec::slots("model:a", 3)).expect("a limit");
    let gpu = governor.add(Spec::slots("gpu", 1)).expect("a limit");
    let both = [Amount::of(model, 1), Amount::of(gpu, 1)];
    for key in [1, 2] {
        governor.demand(Demand { key, rank: Rank::default(), needs: &both }, NOW).expect("taken");
    }
    assert_eq!(governor.admit(NOW), Admission::Granted(1));
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on: gpu, until: None });
    let used =
        |governor: &mut Governor, id: ResourceId| governor.explain(NOW)[if id == model { 0 } else { 1 }].used;
    assert_eq!((used(&mut governor, model), used(&mut governor, gpu)), (1, 1));
    let only = [Amount::of(model, 1)];
    governor.demand(Demand { key: 3, rank: Rank::default(), needs: &only }, NOW).expect("taken");
    assert_eq!(governor.admit(NOW), Admission::Granted(3), "who fits does not wait for who does not");
    let standing = governor.explain(NOW);
    assert_eq!((standing[1].held_by.as_slice(), standing[1].waiting), (&[1][..], 1));
}

/// PI-15.
#[test]
fn what_can_never_fit_is_refused_at_once() {
    let mut governor = Governor::new(4);
    let needs = [Amount::of(governor.resource("slots").expect("slots"), 5)];
    let refused = governor.demand(Demand { key: 1, rank: Rank::default(), needs: &needs }, NOW);
    assert_eq!(refused, Err(Refused::NeverFits { resource: "slots".into(), count: 5, limit: 4 }));
    assert_eq!(governor.waiting(), 0);
}

#[test]
fn a_full_queue_refuses_the_newcomer_and_keeps_what_it_has() {
    let mut governor = Governor::with(Rules { queue: 2, ..Rules::default() });
    governor.add(Spec::slots("slots", 1)).expect("a limit");
    let needs = slots(&governor);
    let low = |key| Demand { key, rank: rank(2, 4), needs: &needs };
    assert_eq!([governor.demand(low(1), NOW), governor.demand(low(2), NOW)], [Ok(()), Ok(())]);
    let critical = Demand { key: 3, rank: rank(0, 0), needs: &needs };
    assert_eq!(governor.demand(critical, NOW), Err(Refused::Full { limit: 2 }));
    assert_eq!(governor.demand(low(2), NOW), Err(Refused::Known(2)));
    assert_eq!(governor.waiting(), 2);
    assert_eq!(governor.metrics(NOW).overflowed, 1);
}

/// PI-6 and F-C5.
#[test]
fn a_limit_lowered_below_use_stops_nobody_and_starts_nobody() {
    let mut governor = Governor::new(0);
    ask(&mut governor, 0, Rank::default());
    assert_eq!(granted(&mut governor), [0], "a limit of none is taken as one");
    let id = governor.resource("slots").expect("slots");
    governor.set_limit(id, 4, convoke_govern::Origin::Operator, NOW).expect("a limit");
    (1..=6).for_each(|key| ask(&mut governor, key, Rank::default()));
    assert_eq!(granted(&mut governor), [1, 2, 3]);
    governor.set_limit(id, 2, convoke_govern::Origin::Operator, NOW).expect("a limit");
    for key in [0, 1] {
        assert!(granted(&mut governor).is_empty());
        assert_eq!(governor.held(), 4 - key as usize, "nothing is taken from who runs");
        free(&mut governor, key);
    }
    free(&mut governor, 2);
    assert_eq!(granted(&mut governor), [4]);
    assert!(governor.set_limit(id, 0, convoke_govern::Origin::Operator, NOW).is_err());
}

#[test]
fn small_demands_pass_a_large_one_only_so_often() {
    let mut governor = Governor::with(Rules { passes: 5, ..Rules::default() });
    let gpu = governor.add(Spec::slots("gpu", 4)).expect("a limit");
    let one = [Amount::of(gpu, 1)];
    let all = [Amount::of(gpu, 4)];
    governor.demand(Demand { key: 0, rank: rank(0, 0), needs: &one }, NOW).expect("taken");
    assert_eq!(governor.admit(NOW), Admission::Granted(0));
    governor.demand(Demand { key: 999, rank: rank(2, 4), needs: &all }, NOW).expect("taken");
    let (mut passed, mut oldest) = (0, 0);
    for key in 1.. {
        governor.demand(Demand { key, rank: rank(0, 0), needs: &one }, NOW).expect("taken");
        match governor.admit(NOW) {
            Admission::Granted(999) => break,
            Admission::Granted(_) => passed += 1,
            _ => {
                free(&mut governor, oldest);
                oldest += 1;
            }
        }
        assert!(passed <= 5, "passed {passed} times");
    }
    assert_eq!(passed, 5);
}

/// PI-14.
#[test]
fn counters_rise_and_return() {
    let mut governor = Governor::new(3);
    (0..3).for_each(|key| ask(&mut governor, key, Rank::default()));
    assert_eq!(granted(&mut governor).len(), 3);
    assert_eq!((governor.held(), governor.explain(NOW)[0].used), (3, 3));
    (0..3).for_each(|key| free(&mut governor, key));
    let metrics = governor.metrics(NOW);
    assert_eq!((metrics.active, metrics.granted, metrics.released), (0, 3, 3));
    assert_eq!(governor.explain(NOW)[0].used, 0);
}

#[test]
fn what_is_over_can_be_forgotten_and_what_is_in_use_cannot() {
    let mut governor = Governor::new(3);
    let team = governor.add(Spec::slots("team:a", 1)).expect("a limit");
    let needs = [Amount::of(team, 1)];
    governor.demand(Demand { key: 1, rank: Rank::default(), needs: &needs }, NOW).expect("taken");
    assert!(!governor.retire(team), "somebody waits for it");
    assert_eq!(governor.admit(NOW), Admission::Granted(1));
    assert!(!governor.retire(team), "somebody holds it");
    free(&mut governor, 1);
    assert!(governor.retire(team) && !governor.retire(team));
    assert_eq!((governor.resource("team:a"), governor.explain(NOW).len()), (None, 1));
    let other = governor.add(Spec::slots("team:b", 2)).expect("a limit");
    assert_eq!((other, governor.name(other)), (team, "team:b"), "its number is given out again");
    (2..4).for_each(|key| {
        governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, NOW).expect("taken");
    });
    assert_eq!(granted(&mut governor), [2, 3], "with the new limit");
}
