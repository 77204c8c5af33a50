//! Tenants take turns.

use crate::kit;

use convoke_govern::{Amount, Governor, Rank, Rules, Spec, Tenant};
use kit::{Dice, ask, free, grant};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn of(tenant: Tenant) -> Rank {
    Rank { tenant, ..Rank::default() }
}

/// Jain's index: 1 if all have the same.
fn jain(shares: &[u64]) -> f64 {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), n| (sum + *n as f64, squares + (*n * *n) as f64));
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn three_equal_tenants_get_the_same_whatever_they_ask() {
    let mut governor = Governor::with(Rules::default());
    let slots = governor.add(Spec::slots("slots", 7)).expect("a limit");
    let models =
        ["a", "b", "c"].map(|m| governor.add(Spec::slots(format!("model:{m}"), 5)).expect("a limit"));
    let tenants = ["x", "y", "z"].map(|name| governor.tenant(name));
    let mut key = 0;
    // The first one floods, and says that all of it is critical; the others ask for other models as well.
    for (at, count) in [(0, 9_000), (1, 1_200), (2, 1_200)] {
        for n in 0..count {
            let rank = Rank { priority: if at == 0 { 0 } else { 4 }, ..of(tenants[at]) };
            let needs = [Amount::of(slots, 1), Amount::of(models[(at + n % 2) % 3], 1)];
            key += 1;
            ask(&mut governor, key * 3 + at as u64, rank, &needs).expect("taken");
        }
    }
    let (mut shares, mut running, mut dice) = ([0; 3], Vec::new(), Dice::seeded(1));
    while shares.iter().sum::<u64>() < 3_000 {
        while let Some(key) = grant(&mut governor) {
            shares[(key % 3) as usize] += 1;
            running.push(key);
        }
        let ends = dice.roll(running.len() as u64) as usize;
        free(&mut governor, running.swap_remove(ends));
    }
    assert!(jain(&shares) >= 0.95, "{shares:?}: {:.3}", jain(&shares));
}

#[test]
fn a_flood_delays_a_single_task_by_two_dispatches_at_most() {
    let mut governor = Governor::new(1);
    let needs = [Amount::of(governor.resource("slots").expect("slots"), 1)];
    let (flood, single) = (governor.tenant("flood"), governor.tenant("single"));
    let critical = Rank { priority: 0, ..of(flood) };
    let modest = Rank { priority: 4, ..of(single) };
    (0..10_000).for_each(|key| ask(&mut governor, key, critical, &needs).expect("taken"));
    let mut dice = Dice::seeded(2);
    for next in 10_000..10_500 {
        for _ in 0..dice.roll(20) {
            let key = grant(&mut governor).expect("a slot is free");
            free(&mut governor, key);
        }
        ask(&mut governor, next, modest, &needs).expect("taken");
        let delay = (0..).find(|_| {
            let key = grant(&mut governor).expect("a slot is free");
            free(&mut governor, key);
            key == next
        });
        assert!(delay.expect("it was granted") <= 2, "delayed by {delay:?}");
    }
}

#[test]
fn weights_say_how_many_turns() {
    let mut governor = Governor::new(1);
    let needs = [Amount::of(governor.resource("slots").expect("slots"), 1)];
    let (heavy, light) = (governor.tenant("heavy"), governor.tenant("light"));
    governor.set_weight(heavy, 3);
    for key in 0..2_000 {
        ask(&mut governor, key, of(if key % 2 == 0 { heavy } else { light }), &needs).expect("taken");
    }
    let mut shares = [0; 2];
    for _ in 0..800 {
        let key = grant(&mut governor).expect("a slot is free");
        free(&mut governor, key);
        shares[(key % 2) as usize] += 1;
    }
    assert!((560..=640).contains(&shares[0]), "{shares:?}");
}

#[test]
fn nobody_saves_up_turns() {
    let mut governor = Governor::new(1);
    let needs = [Amount::of(governor.resource("slots").expect("slots"), 1)];
    let (busy, late) = (governor.tenant("busy"), governor.tenant("late"));
    (0..1_000).for_each(|key| ask(&mut governor, key, of(busy), &needs).expect("taken"));
    for _ in 0..500 {
        let key = grant(&mut governor).expect("a slot is free");
        free(&mut governor, key);
    }
    (1_000..2_000).for_each(|key| ask(&mut governor, key, of(late), &needs).expect("taken"));
    let mut shares = [0; 2];
    for _ in 0..100 {
        let key = grant(&mut governor).expect("a slot is free");
        free(&mut governor, key);
        shares[usize::from(key >= 1_000)] += 1;
    }
    assert!(shares[1] <= 52, "{shares:?}: being late is not a reason to get more");
}

proptest! {
    /// Whatever comes when: among tenants of a class that fit, at most two in a row go to the same one.
    #[test]
    fn at_most_two_in_a_row_while_another_waits(
        steps in prop::collection::vec((0u64..4, 0u8..5, 0usize..3, 0u8..3), 1..200),
        limit in 1u64..4,
    ) {
        let mut governor = Governor::with(Rules::default());
        let slots = governor.add(Spec::slots("slots", limit)).expect("a limit");
        // Never scarce: they only make shapes.
        let models = ["a", "b", "c"].map(|m| governor.add(Spec::slots(m, 1_000)).expect("a limit"));
        let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut running, mut last, mut next) = (Vec::new(), (u64::MAX, 0), 0);
        for (who, priority, model, ends) in steps {
            let tenant = governor.tenant(&who.to_string());
            let needs = [Amount::of(slots, 1), Amount::of(models[model], 1)];
            let rank = Rank { tenant, priority, ..Rank::default() };
            ask(&mut governor, next, rank, &needs).expect("taken");
            waiting.insert(next, who);
            next += 1;
            for _ in 0..ends.min(running.len() as u8) {
                free(&mut governor, running.remove(0));
            }
            while let Some(key) = grant(&mut governor) {
                let who = waiting.remove(&key).expect("who is granted waited");
                let alone = waiting.values().all(|other| *other == who);
                last = if last.0 == who && !alone { (who, last.1 + 1) } else { (who, 1) };
                prop_assert!(last.1 <= 2, "{who} got {} in a row", last.1);
                running.push(key);
            }
        }
    }
}
