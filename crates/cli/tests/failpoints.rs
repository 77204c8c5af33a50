//! Kills the program at its named places (`convoke_failpoint`), and recovers: nothing that was acknowledged is lost, no outcome is
//! recorded twice, and no effect is repeated without a word.
//!
//! Each scenario is played undisturbed first, which says which places it reaches and how often. Then it is played again for each
//! place with a process that dies there, the first and the last time that the place is reached. What the journals held after
//! the death must be the beginning of what they hold at the end; the result must be the undisturbed one.
//!
//!     CONVOKE_FAILPOINT_SWEEP=all cargo test -p convoke --test all failpoints:: -- --nocapture
//!
//! kills at every place of every scenario, says the counts, and fails unless a process has died at every place; a sample by a
//! seed unless told. `CONVOKE_FAILPOINT_SWEEP=NAME` kills at the places whose names begin so, `CONVOKE_FAILPOINT_SCENARIO=NAME` plays one
//! scenario, `CONVOKE_FAILPOINT_AT_ONCE=N` so many at once, `CONVOKE_SEED=N` takes the same sample again. With
//! `CONVOKE_FAILPOINT_KEPT=FOLDER` a sweep that was cut off goes on (`tally`).
#![allow(clippy::print_stderr, reason = "a sweep says its counts")]

mod commands;
mod copies;
mod driver;
mod extent;
mod handovers;
mod judge;
mod leftovers;
mod proofs;
mod scenarios;
mod tally;
mod troubles;
mod worktrees;

use crate::support::random::number;
use convoke_failpoint::NAMES;
use driver::{Death, Driver};
use extent::{Extent, Make, SPREAD, WIDE_SPREAD};
use judge::Usual;
use scenarios::Scenario;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use tally::{PlayRecord, Tally};

/// Scenarios that are played at once, unless told otherwise: each waits more than it works.
const AT_ONCE: u64 = 2;

/// Scenarios whose test waits for a script, or has it succeed at once: it must not die with its supervisor.
const WAITS: [&str; 8] = [
    "stop",
    "interrupt",
    "detach",
    "queue",
    "busy journal",
    "accept changes",
    "cancellation",
    "dead claimant",
];

fn undisturbed(scenario: &Scenario) -> Usual {
    let mut driver = Driver::new(scenario.name, (scenario.world)(), &[]);
    let result = (scenario.play)(&mut driver);
    Usual::of(&driver, result)
}

fn sweep(scenario: &Scenario, extent: &Extent, tally: &mut Tally) {
    let usual = undisturbed(scenario);
    let (mut kept, mut own, begun) = (PlayRecord::of(scenario.name), Tally::default(), Instant::now());
    let waits = WAITS.contains(&scenario.name);
    let is_tried = |place: usize| {
        if waits && NAMES[place].starts_with("supervisor.") {
            return false;
        }
        scenario.only.is_empty() || scenario.only.iter().any(|name| NAMES[place].starts_with(name))
    };
    let counts = usual.counts.iter().enumerate();
    let counts: Vec<u64> = counts.map(|(place, count)| if is_tried(place) { *count } else { 0 }).collect();
    for death in extent.pick(scenario.name, &counts) {
        if !own.knows(&[death], &kept) {
            own.play(scenario, &usual, &[death], &mut kept);
        }
    }
    if matches!(extent, Extent::All) && own.violations.is_empty() {
        kept.close();
    }
    let reached = usual.counts.iter().filter(|count| **count > 0).count();
    let (deaths, places, wrong) = (own.deaths, own.died_at.len(), own.violations.len());
    let (name, took) = (scenario.name, begun.elapsed());
    eprintln!(
        "{name}: {reached} places reached, {deaths} deaths at {places} places, {wrong} violations in {took:.0?}"
    );
    tally.add(own);
}

/// Does all of the work on a few threads.
fn at_once<T: Sync>(work: &[T], perform: impl Fn(&T, &mut Tally) + Sync) -> Tally {
    let threads = number("CONVOKE_FAILPOINT_AT_ONCE").unwrap_or(AT_ONCE).max(1);
    let next = AtomicUsize::new(0);
    let each = || {
        let mut tally = Tally::default();
        while let Some(one) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            perform(one, &mut tally);
        }
        tally
    };
    let mut all = Tally::default();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(each)).collect();
        for thread in running {
            all.add(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    all
}

/// What people do to runs, and what becomes of them.
fn of_commands() -> Vec<fn() -> Scenario> {
    [commands::all(), troubles::all(), copies::all(), leftovers::all(), handovers::all(), proofs::all()]
        .concat()
}

/// The scenarios that are played.
fn chosen(extent: &Extent) -> Vec<fn() -> Scenario> {
    let mut all = scenarios::reference();
    all.extend(of_commands().into_iter().filter(|make| extent.takes(make().name)));
    if !matches!(extent, Extent::Sample(_)) {
        all.extend(troubles::slow());
    }
    if let Ok(name) = std::env::var("CONVOKE_FAILPOINT_SCENARIO") {
        all.retain(|make| make().name == name);
    }
    all
}

#[test]
fn a_death_at_any_place_loses_nothing_and_repeats_nothing() {
    let extent = Extent::told();
    let scenarios = chosen(&extent);
    assert!(!scenarios.is_empty(), "no scenario has this name");
    let tally = at_once(&scenarios, |make, tally| sweep(&make(), &extent, tally));
    let died_at = tally.close("all scenarios");
    if matches!(extent, Extent::All) {
        every_place_was_died_at(died_at);
    }
}

/// Once all scenarios were played, by this process or by others whose files are kept.
fn every_place_was_died_at(mut died_at: BTreeSet<String>) {
    if std::env::var_os("CONVOKE_FAILPOINT_SCENARIO").is_some() {
        let all = [scenarios::reference(), of_commands(), troubles::slow()].concat();
        let all: Vec<PlayRecord> = all.into_iter().map(|make| PlayRecord::read(make().name)).collect();
        let missing = all.iter().filter(|kept| !kept.is_whole).count();
        if missing > 0 {
            return eprintln!("{missing} of {} scenarios are not on record as played", all.len());
        }
        died_at.extend(all.iter().flat_map(PlayRecord::died_at));
    }
    let missed = NAMES.iter().filter(|name| !died_at.contains(**name));
    assert_eq!(missed.collect::<Vec<_>>(), [&""; 0], "a process has died at every place");
    eprintln!("a process has died at each of {} places", NAMES.len());
}

/// How often recovery dies at one and the same place before it is let be.
const AGAIN: usize = 4;

/// A first death of a scenario, after which recovery is killed.
struct First {
    make: Make,
    usual: Arc<Usual>,
    number: usize,
    death: Death,
    /// One of so many second deaths is tried.
    spread: u64,
}

/// The first deaths of a scenario. It is played undisturbed for them.
fn firsts(make: Make, extent: &Extent) -> Vec<First> {
    let scenario = make();
    let usual = Arc::new(undisturbed(&scenario));
    let spread = if scenario.name == "small" { SPREAD } else { WIDE_SPREAD };
    let deaths = extent.pick(scenario.name, &usual.counts).into_iter().enumerate();
    deaths.map(|(number, death)| First { make, usual: usual.clone(), number, death, spread }).collect()
}

#[test]
fn a_death_of_recovery_itself_loses_nothing_and_repeats_nothing() {
    let extent = Extent::told();
    let mut makes = extent.recovered(scenarios::small, scenarios::reference());
    if let Ok(name) = std::env::var("CONVOKE_FAILPOINT_SCENARIO") {
        makes.retain(|make| make().name == name);
    }
    let all: Vec<First> = makes.into_iter().flat_map(|make| firsts(make, &extent)).collect();
    let tally = at_once(&all, |first, tally| {
        let (scenario, usual, death) = ((first.make)(), &first.usual, first.death);
        let mut kept = PlayRecord::of(&format!("recovery {} {}", scenario.name, first.number));
        // Which places recovery reaches is known from a play of it.
        let Some(recovery) = tally.play(&scenario, usual, &[death], &mut kept) else { return };
        for second in extent.pick_second(first.number, &recovery.counted(), first.spread) {
            if !tally.knows(&[death, second], &kept) {
                tally.play(&scenario, usual, &[death, second], &mut kept);
            }
        }
        // However often it dies at the beginning of its work, it comes to an end.
        if death.time == 1 && !tally.knows(&[death; AGAIN], &kept) {
            tally.play(&scenario, usual, &[death; AGAIN], &mut kept);
        }
    });
    tally.close("recovery");
}
