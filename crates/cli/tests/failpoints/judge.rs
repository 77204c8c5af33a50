//! What must hold after a death and a recovery, against an undisturbed play of the same scenario.

use super::driver::{Driver, Journals, allowed, journals};
use crate::support::front_ends::{effects, key_of};
use convoke_journal::{StateDir, verify};
use convoke_model::{Event, RunId, Stamped};
use serde_json::Value;
use std::collections::BTreeMap;

/// What an undisturbed play gives.
pub struct Usual {
    pub result: Value,
    pub effects: BTreeMap<String, u64>,
    pub events: usize,
    /// How often each place is reached.
    pub counts: Vec<u64>,
    /// How often each task comes to its end.
    ends: BTreeMap<String, u64>,
}

impl Usual {
    /// Reads it off a play without a death.
    pub fn of(driver: &Driver, result: Value) -> Usual {
        let journals = journals(&driver.world, &driver.name);
        Usual {
            result,
            effects: effects(&driver.world),
            events: journals.values().map(Vec::len).sum(),
            counts: driver.counted(),
            ends: ends(&journals),
        }
    }
}

/// The most events that one death adds to a journal: attempts that are lost and begun again, the new owner, questions and answers
/// about unknown outcomes, of all that ran at that moment.
const GROWTH: usize = 60;

/// Judges a play with deaths. `calls` are the keys of effects that models call for: one of which nothing is known is left out, in words.
pub fn judge(driver: &Driver, usual: &Usual, result: &Value, calls: &[String]) {
    let (name, journals) = (&driver.name, journals(&driver.world, &driver.name));
    for kept in &driver.kept {
        nothing_is_lost(name, kept, &journals);
    }
    if !driver.lost_a_supervisor() {
        assert_eq!(result, &usual.result, "{name}: the result is the undisturbed one");
    }
    ended_once(name, usual, &journals);
    no_effect_is_repeated(driver, usual, &journals, calls);
    let state = StateDir::for_reading(driver.world.state());
    for run in journals.keys() {
        verify(&state, run).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let events: usize = journals.values().map(Vec::len).sum();
    // A scripted model begins its replies anew in each process, so a conversation that is cut off is longer.
    let again = if name.starts_with("long journal") { usual.events } else { 0 };
    let most = usual.events + again + GROWTH * driver.died.len();
    assert!(events <= most, "{name}: {events} events, {} undisturbed", usual.events);
}

/// What a journal held after a death is the beginning of what it holds now. A run that was removed has none.
fn nothing_is_lost(name: &str, kept: &Journals, now: &Journals) {
    for (run, before) in kept {
        let Some(after) = now.get(run) else { continue };
        let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
        assert_eq!(same, before.len(), "{name}: run `{run}` has lost or changed event {}", same + 1);
    }
}

/// Each attempt ends once, and each task not more often than undisturbed.
fn ended_once(name: &str, usual: &Usual, journals: &Journals) {
    let mut attempts: BTreeMap<(RunId, String), u64> = BTreeMap::new();
    for (run, events) in journals {
        for attempt in events.iter().filter_map(ended_attempt) {
            *attempts.entry((run.clone(), attempt)).or_default() += 1;
        }
    }
    // A task that is opened again counts its attempts anew.
    let reopened = reopenings(journals);
    let twice = attempts.into_iter().find(|(_, times)| *times > 1 + reopened);
    assert_eq!(twice, None, "{name}: an outcome was recorded twice");
    for (task, times) in ends(journals) {
        let most = usual.ends.get(&task).copied().unwrap_or(1);
        assert!(times <= most + reopened, "{name}: `{task}` ended {times} times");
    }
}

fn ended_attempt(stamped: &Stamped) -> Option<String> {
    match &stamped.event {
        Event::AttemptFinished { task, attempt, .. }
        | Event::AttemptFailed { task, attempt, .. }
        | Event::AttemptLost { task, attempt, .. } => Some(format!("{task} {attempt}")),
        _ => None,
    }
}

fn ends(journals: &Journals) -> BTreeMap<String, u64> {
    let mut ends = BTreeMap::new();
    for stamped in journals.values().flatten() {
        if let Event::TaskSucceeded { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskCancelled { task, .. } = &stamped.event
        {
            *ends.entry(task.to_string()).or_default() += 1;
        }
    }
    ends
}

fn reopenings(journals: &Journals) -> u64 {
    let is_one = |stamped: &&Stamped| matches!(stamped.event, Event::RunReopened(_) | Event::PlanChanged(_));
    journals.values().flatten().filter(is_one).count() as u64
}

fn no_effect_is_repeated(driver: &Driver, usual: &Usual, journals: &Journals, calls: &[String]) {
    let (name, seen, allowed) = (&driver.name, effects(&driver.world), allowed(journals, key_of));
    for (key, times) in &seen {
        let most = usual.effects.get(key).copied().unwrap_or(0) + allowed.get(key).copied().unwrap_or(0);
        assert!(*times <= most, "{name}: `{key}` happened {times} times, allowed {most}");
    }
    let text =
        || serde_json::to_string(&journals.values().flatten().collect::<Vec<_>>()).expect("events are JSON");
    for key in usual.effects.keys().filter(|key| !seen.contains_key(*key)) {
        // A command that was killed with its supervisor, and a server that was, are on record as such.
        if driver.lost_a_supervisor() && ["137", "attempt_failed"].iter().any(|word| text().contains(word)) {
            continue;
        }
        assert!(calls.contains(key), "{name}: `{key}` never happened");
        // The model was told that the outcome is unknown, or, where a supervisor died and the engine lived, that its call failed.
        let told =
            text().contains("outcome_unknown") || driver.lost_a_supervisor() && has_failed_call(journals);
        assert!(told, "{name}: `{key}` was left out without a word");
    }
}

fn has_failed_call(journals: &Journals) -> bool {
    let is_one = |stamped: &Stamped| matches!(stamped.event, Event::ToolCalled { failed: true, .. });
    journals.values().flatten().any(is_one)
}
