//! Which deaths are tried: all, those at places of a name, or a sample by a seed.
#![allow(clippy::print_stderr, reason = "a sweep says its seed")]

use super::driver::Death;
use super::scenarios::Scenario;
use crate::support::random::{Random, fresh_seed, number};
use convoke_failpoint::NAMES;
use convoke_model::fnv;
use std::collections::BTreeSet;

/// Deaths of each scenario in a sample.
const FEW: u64 = 2;

/// One of so many scenarios of commands is in a sample.
const ONE_OF: u64 = 5;

/// One of so many second deaths is tried after each first one, unless `CONVOKE_FAILPOINT_SPREAD` says otherwise.
pub const SPREAD: u64 = 12;

/// The same in the reference workflows, which are large.
pub const WIDE_SPREAD: u64 = 60;

/// Makes a scenario.
pub type Make = fn() -> Scenario;

/// What is tried.
#[derive(Clone)]
pub enum Extent {
    Sample(u64),
    All,
    Named(String),
}

impl Extent {
    /// As `CONVOKE_FAILPOINT_SWEEP` says.
    pub fn told() -> Extent {
        match std::env::var("CONVOKE_FAILPOINT_SWEEP") {
            Ok(all) if all == "all" => Extent::All,
            Ok(name) => Extent::Named(name),
            Err(_) => {
                let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
                eprintln!("CONVOKE_SEED={seed}");
                Extent::Sample(seed)
            }
        }
    }

    /// The same seed gives other moments to each scenario, in whatever order they are played.
    fn random(seed: u64, what: &str) -> Random {
        Random(seed ^ fnv(what.bytes()))
    }

    /// Whether a scenario of commands is tried.
    pub fn takes(&self, scenario: &str) -> bool {
        match self {
            Extent::Sample(seed) => Extent::random(*seed, scenario).below(ONE_OF) == 0,
            _ => true,
        }
    }

    /// The scenarios in which recovery is killed, of the small one and of these: a sample has one of these, others all.
    pub fn recovered(&self, small: Make, others: Vec<Make>) -> Vec<Make> {
        let mut all = vec![small];
        match self {
            Extent::Sample(seed) => {
                let at = Extent::random(*seed, "recovery").below(others.len() as u64) as usize;
                all.push(others[at]);
            }
            _ => all.extend(others),
        }
        all
    }

    /// Of all deaths that a play can have, those that are tried: the first and the last time that a place is reached.
    pub fn pick(&self, what: &str, counts: &[u64]) -> Vec<Death> {
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
            Extent::Sample(seed) => {
                let mut random = Extent::random(*seed, what);
                let pick = |_| all.get(random.below(all.len().max(1) as u64) as usize).copied();
                (0..FEW).filter_map(pick).collect()
            }
        }
    }

    /// The second deaths after the first death of this number: others after each, so that all come up.
    pub fn pick_second(&self, first: usize, counts: &[u64], spread: u64) -> Vec<Death> {
        let deaths = self.pick(&first.to_string(), counts);
        match self {
            Extent::All => {
                let spread = number("CONVOKE_FAILPOINT_SPREAD").unwrap_or(spread).max(1) as usize;
                deaths.into_iter().skip(first % spread).step_by(spread).collect()
            }
            _ => deaths,
        }
    }
}
