//! Processes on one machine, simulated in many schedules ([`convoke_testkit::machine`] says what happens and what is promised).
//!
//! Every schedule follows from a number. `CONVOKE_SCHEDULES` says how many there are, `CONVOKE_SCHEDULES_FROM` which
//! number is the first. The long form: `CONVOKE_SCHEDULES=100000 cargo nextest run -p convoke-testkit machine::
//! --no-capture`.
#![allow(clippy::print_stderr, reason = "the counts are told")]

use convoke_testkit::machine::{Sabotage, Scenario, Tally, plans};
use std::panic::{AssertUnwindSafe, catch_unwind};

const FEW: u64 = 250;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn promises_hold_whatever_processes_do() {
    let (count, from) = (number("CONVOKE_SCHEDULES", FEW), number("CONVOKE_SCHEDULES_FROM", 0));
    let plans = plans();
    let mut tally = Tally::default();
    for seed in from..from + count {
        let held = catch_unwind(AssertUnwindSafe(|| Scenario::of(seed, &plans).run(&mut tally)));
        assert!(
            held.is_ok(),
            "schedule {seed}: CONVOKE_SCHEDULES=1 CONVOKE_SCHEDULES_FROM={seed} repeats it"
        );
    }
    eprintln!("from {from} on: {tally:?}");
    let missed: Vec<_> = tally.met().into_iter().filter(|(_, times)| *times == 0).collect();
    assert!(count < FEW || missed.is_empty(), "not met: {missed:?}");
}

/// The first schedule in which a promise is broken, and in which words.
fn broken(by: Sabotage, plans: &[std::sync::Arc<convoke_plan::Plan>]) -> Option<(u64, String)> {
    (0..FEW).find_map(|seed| {
        let scenario = Scenario::of(seed, plans).sabotaged(by);
        let words = catch_unwind(AssertUnwindSafe(|| scenario.run(&mut Tally::default()))).err()?;
        let words = words.downcast::<String>().map(|words| *words);
        let words = words.unwrap_or_else(|words| {
            words.downcast::<&str>().map_or(String::new(), |words| words.to_string())
        });
        Some((seed, words))
    })
}

#[test]
fn every_promise_can_be_broken() {
    let plans = plans();
    for (sabotage, promises) in Sabotage::ALL {
        let (seed, words) = broken(sabotage, &plans).unwrap_or_else(|| panic!("{sabotage:?} breaks nothing"));
        eprintln!("{sabotage:?}: schedule {seed}: {words}");
        assert!(promises.iter().any(|promise| words.contains(promise)), "{sabotage:?}: {words}");
    }
}
