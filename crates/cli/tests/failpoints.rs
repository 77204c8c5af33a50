//! Kills the program at its named places (`convoke_failpoint`), and recovers: nothing that was acknowledged is lost, no outcome is
//! recorded twice, and no effect is repeated without a word.
//!
//! Each scenario is played undisturbed first, which says which places it reaches and how often. Then it is played again for each
//! place with a process that dies there, the first and the last time that the place is reached. What the journals held after
//! the death must be the beginning of what they hold at the end; the result must be the undisturbed one.
//!
//!     CONVOKE_FAILPOINT_SWEEP=all cargo nextest run -p convoke failpoints:: --no-capture
//!
//! kills at every place of every scenario, and says the counts; a sample by a seed unless told. `CONVOKE_FAILPOINT_SWEEP=NAME` kills
//! at the places whose names begin so, `CONVOKE_FAILPOINT_SCENARIO=NAME` plays one scenario, `CONVOKE_SEED=N` takes the same sample again.
#![allow(clippy::print_stderr, reason = "a sweep says its seed and its counts")]

mod commands;
mod driver;
mod judge;
mod scenarios;

use crate::support::random::{Random, fresh_seed, number};
use convoke_failpoint::NAMES;
use driver::{Death, Driver};
use judge::{Usual, judge};
use scenarios::Scenario;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Deaths of each scenario in a sample.
const FEW: u64 = 2;

/// One of so many scenarios of commands is in a sample.
const ONE_OF: u64 = 4;

/// What is tried.
enum Extent {
    Sample(Random),
    All,
    Named(String),
}

impl Extent {
    fn told() -> Extent {
        match std::env::var("CONVOKE_FAILPOINT_SWEEP") {
            Ok(all) if all == "all" => Extent::All,
            Ok(name) => Extent::Named(name),
            Err(_) => {
                let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
                eprintln!("CONVOKE_SEED={seed}");
                Extent::Sample(Random(seed))
            }
        }
    }

    /// Whether the next scenario of commands is tried.
    fn takes_part(&mut self) -> bool {
        match self {
            Extent::Sample(random) => random.below(ONE_OF) == 0,
            _ => true,
        }
    }

    /// Of all deaths that a play can have, those that are tried.
    fn pick(&mut self, counts: &[u64]) -> Vec<Death> {
        let reached = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let deaths = |(place, count): (usize, &u64)| {
            [1, *count]
                .into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(move |time| Death { place, time })
        };
        let all: Vec<Death> = reached.flat_map(deaths).collect();
        match self {
            Extent::All => all,
            Extent::Named(name) => {
                all.into_iter().filter(|death| NAMES[death.place].starts_with(name.as_str())).collect()
            }
            Extent::Sample(random) => {
                let pick = |_| all.get(random.below(all.len().max(1) as u64) as usize).copied();
                (0..FEW).filter_map(pick).collect()
            }
        }
    }
}

/// What a sweep has done.
#[derive(Default)]
struct Tally {
    plays: u64,
    deaths: u64,
    /// The places at which a process has died.
    died_at: BTreeSet<usize>,
    violations: Vec<String>,
}

impl Tally {
    /// Plays with deaths, judges, and notes what came of it; all violations of a sweep are wanted, not the first one.
    fn play(&mut self, scenario: &Scenario, usual: &Usual, deaths: &[Death]) -> Option<Driver> {
        self.plays += 1;
        let played = std::panic::catch_unwind(AssertUnwindSafe(|| play(scenario, usual, deaths)));
        let names: Vec<_> = deaths.iter().map(|death| death.target()).collect();
        let driver = played.map_err(|_| self.violations.push(format!("{} {names:?}", scenario.name))).ok()?;
        self.deaths += driver.died.len() as u64;
        self.died_at.extend(driver.died.iter().map(|death| death.place));
        Some(driver)
    }

    fn close(self, what: &str) -> BTreeSet<usize> {
        let Tally { plays, deaths, died_at, violations } = self;
        let (places, all, wrong) = (died_at.len(), NAMES.len(), violations.len());
        eprintln!("{what}: {plays} plays, {deaths} deaths at {places} of {all} places, {wrong} violations");
        assert_eq!(violations, [""; 0], "what was promised was broken");
        died_at
    }
}

fn undisturbed(scenario: &Scenario) -> Usual {
    let mut driver = Driver::new(scenario.name, (scenario.world)(), &[]);
    let result = (scenario.play)(&mut driver);
    Usual::of(&driver, result)
}

fn play(scenario: &Scenario, usual: &Usual, deaths: &[Death]) -> Driver {
    let mut driver = Driver::new(scenario.name, (scenario.world)(), deaths);
    let result = (scenario.play)(&mut driver);
    judge(&driver, usual, &result, &scenario.calls);
    driver
}

fn sweep(scenario: &Scenario, extent: &mut Extent, tally: &mut Tally) {
    let usual = undisturbed(scenario);
    let (deaths, wrong, begun) = (tally.deaths, tally.violations.len(), Instant::now());
    // A script for which a test waits, or that is to succeed at once, must not die with its supervisor.
    let waits =
        ["stop", "interrupt", "detach", "queue", "busy journal", "accept changes"].contains(&scenario.name);
    let is_tried = |place: usize| {
        if waits && NAMES[place].starts_with("supervisor.") {
            return false;
        }
        scenario.only.is_empty() || scenario.only.iter().any(|name| NAMES[place].starts_with(name))
    };
    let counts: Vec<u64> = usual
        .counts
        .iter()
        .enumerate()
        .map(|(place, count)| if is_tried(place) { *count } else { 0 })
        .collect();
    for death in extent.pick(&counts) {
        tally.play(scenario, &usual, &[death]);
    }
    let reached = usual.counts.iter().filter(|count| **count > 0).count();
    let (deaths, wrong) = (tally.deaths - deaths, tally.violations.len() - wrong);
    let (name, took) = (scenario.name, begun.elapsed());
    eprintln!("{name}: {reached} places reached, {deaths} deaths, {wrong} violations in {took:.0?}");
}

fn chosen(scenario: &Scenario) -> bool {
    std::env::var("CONVOKE_FAILPOINT_SCENARIO").map_or(true, |name| name == scenario.name)
}

#[test]
fn a_death_at_any_place_loses_nothing_and_repeats_nothing() {
    let (mut extent, mut tally) = (Extent::told(), Tally::default());
    for scenario in scenarios::reference().iter().filter(|one| chosen(one)) {
        sweep(scenario, &mut extent, &mut tally);
    }
    for scenario in commands::all().iter().filter(|one| chosen(one)) {
        if extent.takes_part() {
            sweep(scenario, &mut extent, &mut tally);
        }
    }
    if !matches!(extent, Extent::Sample(_)) {
        // These take seconds each.
        for scenario in [commands::busy_journal(), commands::take_over(), commands::long_journal()]
            .iter()
            .filter(|one| chosen(one))
        {
            sweep(scenario, &mut extent, &mut tally);
        }
    }
    let whole = matches!(extent, Extent::All) && std::env::var_os("CONVOKE_FAILPOINT_SCENARIO").is_none();
    let died_at = tally.close("all scenarios");
    let missed = (0..NAMES.len()).filter(|place| whole && !died_at.contains(place)).map(|place| NAMES[place]);
    assert_eq!(missed.collect::<Vec<_>>(), [""; 0], "a process has died at every place");
}

/// How often recovery dies at one and the same place before it is let be.
const AGAIN: usize = 4;

#[test]
fn a_death_of_recovery_itself_loses_nothing_and_repeats_nothing() {
    let (mut extent, mut tally) = (Extent::told(), Tally::default());
    let scenario = scenarios::small();
    let usual = undisturbed(&scenario);
    for first in extent.pick(&usual.counts) {
        let Some(recovery) = tally.play(&scenario, &usual, &[first]) else { continue };
        for second in extent.pick(&recovery.counted()) {
            tally.play(&scenario, &usual, &[first, second]);
        }
    }
    // However often it dies at the beginning of its work, it comes to an end.
    for first in extent.pick(&usual.counts).into_iter().filter(|first| first.time == 1) {
        tally.play(&scenario, &usual, &[first; AGAIN]);
    }
    tally.close("recovery");
}
