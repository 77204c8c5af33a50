//! How long anybody can be kept waiting: never longer than the bound that the crate states.

use crate::kit;

use convoke_govern::{Amount, Governor, Rank, Rules, Spec};
use kit::{Dice, ask, free, grant};

/// A hundred thousand schedules, in four parts.
const SCHEDULES: u64 = 25_000;

/// One slot or a few, urgent work without end, and a demand of the lowest class behind a few others.
fn lowest_class(seed: u64) {
    let mut dice = Dice::seeded(seed);
    let turn = 2 + dice.roll(4);
    let limit = 1 + dice.roll(3);
    let mut governor = Governor::with(Rules { age_turn: turn as u32, ..Rules::default() });
    let slots = governor.add(Spec::slots("slots", limit)).expect("a limit");
    let needs = [Amount::of(slots, 1)];
    let before = dice.roll(3);
    for key in 1..=before {
        let tenant = governor.tenant(["a", "b"][dice.roll(2) as usize]);
        let rank =
            Rank { class: dice.roll(3) as u8, tenant, priority: dice.roll(5) as u8, path: 0, order: 0 };
        ask(&mut governor, key, rank, &needs).expect("taken");
    }
    ask(&mut governor, 0, Rank { class: 2, priority: 4, ..Rank::default() }, &needs).expect("taken");
    let bound = turn * (before + 1);
    let (mut running, mut grants, mut next) = (Vec::new(), 0, 100);
    loop {
        for _ in 0..2 {
            next += 1;
            ask(&mut governor, next, Rank { path: dice.roll(9) as u32, ..Rank::default() }, &needs)
                .expect("taken");
        }
        let Some(key) = grant(&mut governor) else {
            free(&mut governor, running.remove(dice.roll(limit) as usize));
            continue;
        };
        grants += 1;
        assert!(grants <= bound, "seed {seed}: not among the first {bound} grants");
        if key == 0 {
            return;
        }
        running.push(key);
    }
}

/// Demands of several sizes and shapes; a large one of the lowest class among small urgent ones without end.
fn large_and_low(seed: u64) -> (u64, u64) {
    let mut dice = Dice::seeded(seed);
    let (turn, passes, limit) = (2 + dice.roll(3), 1 + dice.roll(4), 2 + dice.roll(4));
    let rules = Rules { age_turn: turn as u32, passes: passes as u32, ..Rules::default() };
    let mut governor = Governor::with(rules);
    let gpu = governor.add(Spec::slots("gpu", limit)).expect("a limit");
    let other = governor.add(Spec::slots("other", 3)).expect("a limit");
    let shape = |dice: &mut Dice| {
        let count = 1 + dice.roll(limit);
        let mut needs = vec![Amount::of(gpu, count)];
        if dice.roll(2) == 0 {
            needs.push(Amount::of(other, 1 + dice.roll(2)));
        }
        needs
    };
    let shapes: Vec<_> = (0..3).map(|_| shape(&mut dice)).collect();
    let before = dice.roll(3);
    for key in 1..=before {
        let needs = &shapes[dice.roll(3) as usize];
        ask(&mut governor, key, Rank { class: 1, ..Rank::default() }, needs).expect("taken");
    }
    let large = [Amount::of(gpu, limit), Amount::of(other, 2)];
    ask(&mut governor, 0, Rank { class: 2, priority: 4, ..Rank::default() }, &large).expect("taken");
    let bound = 2 * turn * (before + 1) * (passes + shapes.len() as u64 + 3);
    let (mut running, mut grants, mut next) = (Vec::new(), 0, 100);
    loop {
        while governor.waiting() < 12 {
            next += 1;
            let needs = &shapes[dice.roll(3) as usize];
            ask(&mut governor, next, Rank { class: dice.roll(2) as u8, ..Rank::default() }, needs)
                .expect("taken");
        }
        let Some(key) = grant(&mut governor) else {
            free(&mut governor, running.swap_remove(dice.roll(running.len() as u64) as usize));
            continue;
        };
        grants += 1;
        assert!(grants <= bound, "seed {seed}: not among the first {bound} grants");
        if key == 0 {
            return (grants, bound);
        }
        running.push(key);
    }
}

#[test]
fn the_lowest_class_starts_within_the_bound() {
    (0..SCHEDULES).for_each(lowest_class);
}

#[test]
fn the_lowest_class_starts_within_the_bound_in_other_schedules() {
    (SCHEDULES..2 * SCHEDULES).for_each(lowest_class);
}

#[test]
fn a_large_demand_of_the_lowest_class_starts_within_the_bound() {
    let closest =
        (2 * SCHEDULES..3 * SCHEDULES).map(large_and_low).map(|(grants, bound)| grants * 100 / bound);
    assert!(closest.max().expect("many") >= 10, "a bound that is never approached says nothing");
}

#[test]
fn a_large_demand_of_the_lowest_class_starts_within_the_bound_in_other_schedules() {
    (3 * SCHEDULES..4 * SCHEDULES).for_each(|seed| {
        large_and_low(seed);
    });
}

#[test]
fn a_demand_that_cannot_come_by_waiting_keeps_nothing_from_others() {
    use convoke_govern::{BudgetRules, WhenSpent};
    let mut governor = Governor::with(Rules { passes: 2, ..Rules::default() });
    let slots = governor.add(Spec::slots("slots", 2)).expect("a limit");
    let rules = BudgetRules { when_spent: WhenSpent::Queue, ..BudgetRules::money() };
    let money = governor.add(Spec::budget("money", 100, rules)).expect("a budget");
    let dear = [Amount::of(slots, 1), Amount::of(money, 90)];
    let cheap = [Amount::of(slots, 1), Amount::of(money, 1)];
    ask(&mut governor, 0, Rank::default(), &[Amount::of(money, 20)]).expect("taken");
    assert_eq!(grant(&mut governor), Some(0));
    free(&mut governor, 0);
    ask(&mut governor, 1, Rank::default(), &dear).expect("it may wait for a larger budget");
    for key in 2..60 {
        ask(&mut governor, key, Rank::default(), &cheap).expect("taken");
        assert_eq!(grant(&mut governor), Some(key), "what is there is not kept for what cannot be paid");
        free(&mut governor, key);
    }
}

#[test]
fn slots_do_not_stand_idle_for_who_waits_for_a_rate() {
    use convoke_govern::Counts;
    use convoke_model::Timestamp;
    let mut governor = Governor::with(Rules { passes: 2, ..Rules::default() });
    let slots = governor.add(Spec::slots("slots", 1)).expect("a limit");
    let tokens = governor.add(Spec::per_minute("tokens", 31, Counts::Ends)).expect("a limit");
    let small = [Amount::of(slots, 1), Amount::of(tokens, 2)];
    let large = [Amount::of(slots, 1), Amount::of(tokens, 31)];
    let other = [Amount::of(slots, 1)];
    let mut key = 0;
    let mut next = |governor: &mut Governor, needs: &[Amount]| {
        key += 1;
        ask(governor, key, Rank::default(), needs).expect("taken");
        let granted = grant(governor);
        granted.inspect(|granted| free(governor, *granted));
        granted == Some(key)
    };
    assert!(next(&mut governor, &small));
    assert!(!next(&mut governor, &large), "it waits for the minute to pass");
    assert!(next(&mut governor, &small) && next(&mut governor, &small), "it is passed twice");
    assert!(!next(&mut governor, &small), "and not a third time");
    assert!((0..50).all(|_| next(&mut governor, &other)), "who needs no tokens is not affected");
    let minute = Timestamp(kit::NOW.0 + 61_000_000);
    assert_eq!(governor.admit(minute), convoke_govern::Admission::Granted(2));
}

/// A full queue makes room by class, and not by age.
#[test]
fn a_full_queue_makes_room_for_a_higher_class() {
    let mut governor = Governor::with(Rules { queue: 3, ..Rules::default() });
    let slots = governor.add(Spec::slots("slots", 1)).expect("a limit");
    let needs = [Amount::of(slots, 1)];
    let rank = |class, priority| Rank { class, priority, ..Rank::default() };
    for (key, class, priority) in [(1, 2, 1), (2, 2, 3), (3, 1, 4)] {
        ask(&mut governor, key, rank(class, priority), &needs).expect("taken");
    }
    assert_eq!(governor.give_way(rank(2, 0), |_| true), None, "nobody is of a lower class");
    assert!(ask(&mut governor, 4, rank(2, 0), &needs).is_err());
    assert_eq!(governor.give_way(rank(1, 2), |key| key != 2), Some(1), "who may not go stays");
    ask(&mut governor, 4, rank(1, 2), &needs).expect("there is room");
    assert_eq!(
        governor.give_way(rank(0, 2), |_| true),
        Some(2),
        "the lowest class, then the lowest priority"
    );
    ask(&mut governor, 5, rank(0, 2), &needs).expect("there is room");
    assert_eq!(governor.give_way(rank(0, 0), |_| true), Some(3));
    assert_eq!((governor.waiting(), governor.give_way(rank(0, 0), |_| true)), (2, None), "there is room");
}
