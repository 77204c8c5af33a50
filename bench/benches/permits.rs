//! What a permit costs to decide on. Prints figures, and fails where they are far off.
//!
//! `cargo bench -p convoke-bench --bench permits`
#![allow(clippy::print_stdout, reason = "figures are what it is for")]

#[path = "../../crates/govern/tests/kit/mod.rs"]
mod kit;

use convoke_govern::{Amount, Counts, Governor, Outcome, Rank, Rules, Spec, Used};
use convoke_model::Timestamp;
use kit::{Dice, ask, free, grant};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const QUEUED: u64 = 100_000;

fn main() {
    one_permit_in_and_out();
    a_fan_out_of_ten_thousand();
    one_call_with_everything();
    a_dispatch_with_a_hundred_thousand_waiting();
}

fn report(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what}: mean {mean:?}, p50 {p50:?}, p99 {p99:?}, worst {:?}", times[times.len() - 1]);
    p99
}

fn one_permit_in_and_out() {
    let mut governor = Governor::new(8);
    let needs = [Amount::of(governor.resource("slots").expect("slots"), 1)];
    let rounds = 1_000_000;
    let started = Instant::now();
    for key in 0..rounds {
        ask(&mut governor, key, Rank::default(), &needs).expect("taken");
        assert_eq!(grant(&mut governor), Some(key));
        free(&mut governor, key);
    }
    let each = started.elapsed() / rounds as u32;
    println!("demand, admit, release: {each:?}");
    assert!(each < Duration::from_micros(2));
}

fn a_fan_out_of_ten_thousand() {
    let mut times = Vec::new();
    for _ in 0..20 {
        let mut governor = Governor::new(300);
        let needs = [Amount::of(governor.resource("slots").expect("slots"), 1)];
        let started = Instant::now();
        (0..10_000).for_each(|key| ask(&mut governor, key, Rank::default(), &needs).expect("taken"));
        let mut running = VecDeque::new();
        loop {
            while let Some(key) = grant(&mut governor) {
                running.push_back(key);
            }
            let Some(key) = running.pop_front() else { break };
            free(&mut governor, key);
        }
        times.push(started.elapsed() / 10_000);
    }
    report("a fan-out of 10 000, each", &mut times);
}

fn one_call_with_everything() {
    let mut governor = Governor::with(Rules::default());
    let slots = governor.add(Spec::slots("model", 100).learn_from(100)).expect("a limit");
    let requests = governor.add(Spec::per_minute("requests", 1 << 40, Counts::Arrivals)).expect("a limit");
    let tokens = governor.add(Spec::per_minute("tokens", 1 << 50, Counts::Ends)).expect("a limit");
    let needs = [Amount::of(slots, 1), Amount::of(requests, 1), Amount::of(tokens, 4_096)];
    let rounds = 300_000;
    let started = Instant::now();
    for key in 0..rounds {
        let now = Timestamp(key * 200);
        ask(&mut governor, key, Rank::default(), &needs).expect("taken");
        assert_eq!(grant(&mut governor), Some(key));
        governor.arrived(key, now).expect("held");
        let used = [Amount::of(tokens, 900)];
        governor.release(key, Used::Amounts(&used), Outcome::Succeeded, now).expect("held");
    }
    let each = started.elapsed() / rounds as u32;
    println!("demand, admit, arrive, release of slots, requests and tokens: {each:?}");
    assert!(each < Duration::from_micros(4));
}

/// Ends one and starts another, a hundred thousand times, with as many waiting.
fn dispatches(what: &str, governor: &mut Governor, needs: impl Fn(u64) -> Vec<Amount>, tenants: u64) {
    let mut dice = Dice::seeded(3);
    let mut next = 0;
    let mut come = |governor: &mut Governor, dice: &mut Dice| {
        let tenant = governor.tenant(&dice.roll(tenants).to_string());
        let (class, priority, path) = (dice.roll(3) as u8, dice.roll(5) as u8, dice.roll(100) as u32);
        ask(governor, next, Rank { class, tenant, priority, path, order: 0 }, &needs(next)).expect("taken");
        next += 1;
    };
    (0..QUEUED - 1).for_each(|_| come(governor, &mut dice));
    let mut running = Vec::new();
    while let Some(key) = grant(governor) {
        running.push(key);
    }
    let mut times = Vec::new();
    for _ in 0..QUEUED {
        let ended = running.swap_remove(dice.roll(running.len() as u64) as usize);
        while governor.waiting() < QUEUED as usize - 1 {
            come(governor, &mut dice);
        }
        let started = Instant::now();
        free(governor, ended);
        while let Some(key) = grant(governor) {
            running.push(key);
        }
        times.push(started.elapsed());
    }
    assert!(report(what, &mut times) < Duration::from_millis(1));
}

fn a_dispatch_with_a_hundred_thousand_waiting() {
    let mut governor = Governor::new(300);
    let slots = governor.resource("slots").expect("slots");
    dispatches("one shape, one tenant", &mut governor, |_| vec![Amount::of(slots, 1)], 1);
    let mut governor = Governor::new(300);
    let slots = governor.resource("slots").expect("slots");
    dispatches("one shape, 1 000 tenants", &mut governor, |_| vec![Amount::of(slots, 1)], 1_000);
    let mut governor = Governor::new(300);
    let slots = governor.resource("slots").expect("slots");
    let models: Vec<_> =
        (0..200).map(|n| governor.add(Spec::slots(format!("model:{n}"), 3)).expect("a limit")).collect();
    let needs = |key: u64| {
        let model = (key % 200) as usize;
        vec![Amount::of(slots, 1), Amount::of(models[model], 1 + key / 200 % 2)]
    };
    dispatches("400 shapes, 30 tenants", &mut governor, needs, 30);
}
