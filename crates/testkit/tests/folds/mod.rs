//! The fold never panics: journals of simulated runs of every shape are damaged, or made up, and folded.
//!
//! Every journal follows from a number. `CONVOKE_FOLDS` says how many journals there are (a few thousand without it),
//! `CONVOKE_FOLDS_FROM` which number is the first: `CONVOKE_FOLDS=1 CONVOKE_FOLDS_FROM=n` folds one journal again. The
//! long form: `CONVOKE_FOLDS=1000000 cargo nextest run -p convoke-testkit folds:: --no-capture`.
#![allow(clippy::print_stderr, reason = "the count is told")]

mod compacted;
mod found;
use crate::goals::kit as goals;
use crate::merging::kit as merging;
mod mutation;
use crate::pipelines::kit as pipelines;
mod shapes;

use convoke_engine::fold_into;
use convoke_model::Stamped;
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use mutation::{Mutations, arbitrary, damaged};
use shapes::Journal;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What became of the journals.
#[derive(Debug, Default)]
struct Tally {
    folded: u64,
    refused: u64,
    events: u64,
    /// Where the fold panicked: how often, and the first journal.
    panics: BTreeMap<String, (u64, u64)>,
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn no_journal_makes_the_fold_panic() {
    let journals = shapes::journals();
    let mutations = Mutations::of(&journals);
    let (count, from) = (number("CONVOKE_FOLDS", 4000), number("CONVOKE_FOLDS_FROM", 0));
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PLACE.set(format!("{place}: {}", info.payload_as_str().unwrap_or_default()));
    }));
    let mut tally = Tally::default();
    for seed in from..from + count {
        let (plan, events) = journal(seed, &journals, &mutations);
        tally.events += events.len() as u64;
        match catch_unwind(AssertUnwindSafe(|| fold(seed, &plan, events))) {
            Ok(true) => tally.folded += 1,
            Ok(false) => tally.refused += 1,
            Err(_) => tally.panics.entry(PLACE.take()).or_insert((0, seed)).0 += 1,
        }
    }
    std::panic::set_hook(usual);
    eprintln!(
        "{count} journals from {from} on ({} events, {} shapes): {} folded, {} refused",
        tally.events,
        journals.len(),
        tally.folded,
        tally.refused
    );
    assert!(tally.panics.is_empty(), "place, times, first number: {:#?}", tally.panics);
    let both = tally.folded > count / 20 && tally.refused > count / 20;
    assert!(count < 1000 || both, "some are folded to their end, some are refused: {tally:?}");
}

/// The journal that belongs to a number.
fn journal(seed: u64, journals: &[Journal], mutations: &Mutations) -> (Arc<Plan>, Vec<Stamped>) {
    let mut random = convoke_testkit::Random::new(seed);
    let journal = &journals[random.below(journals.len() as u64) as usize];
    let events = match random.percent(15) {
        true => arbitrary(journal, mutations, &mut random),
        false => damaged(journal, mutations, &mut random),
    };
    (journal.plan.clone(), events)
}

/// Folds a journal as the engine does, or as a reader that leaves out what is refused; whether all of it was taken.
fn fold(seed: u64, plan: &Arc<Plan>, events: Vec<Stamped>) -> bool {
    let mut scheduler = Scheduler::new(plan.clone());
    match seed.is_multiple_of(2) {
        true => fold_into(scheduler, events).is_ok(),
        false => {
            let refused = events.iter().filter(|event| scheduler.apply(event).is_err()).count();
            refused == 0
        }
    }
}
