//! A shortened history folds to the same: at every event of every shape of run, whole or damaged, reopened or not.

use super::shapes::{self, Journal};
use super::{Mutations, damaged};
use convoke_engine::budget::Spending;
use convoke_engine::{Changes, compact, fold_into, replay};
use convoke_model::{EffectKind, Event, JsonText, Payload, Stamped, TaskId, Usage};
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use std::sync::Arc;

/// Journals whose attempts are conversations: calls that are paid, turns that are recorded, tools that are called, and what
/// capacity says meanwhile.
fn journals() -> Vec<Journal> {
    let talks = |journal: Journal| {
        let mut random = convoke_testkit::Random::new(journal.events.len() as u64);
        let mut events = Vec::new();
        for stamped in journal.events {
            let said = match &stamped.event {
                Event::AttemptStarted { task, attempt, .. } => talk(task, *attempt, &mut random),
                _ => Vec::new(),
            };
            let at = stamped.at;
            events.push(stamped);
            events.extend(said.into_iter().map(|event| Stamped { seq: 0, at, event }));
        }
        (1..).zip(&mut events).for_each(|(seq, stamped)| stamped.seq = seq);
        Journal { plan: journal.plan, events }
    };
    shapes::journals().into_iter().map(talks).collect()
}

fn talk(task: &TaskId, attempt: u32, random: &mut convoke_testkit::Random) -> Vec<Event> {
    let usage = |cost_micros| Usage { calls: 1, cost_micros, ..Usage::default() };
    let task = || task.clone();
    let one = |n: u64| match n {
        0..4 => Event::CallReserved { task: task(), attempt, worst: usage(n) },
        4..10 => {
            let usage = if n == 4 { Usage::default() } else { usage(n) };
            let piece = Payload::Inline(JsonText::of(&n));
            Event::TurnRecorded { task: task(), attempt, piece, kept: Vec::new(), usage }
        }
        10..13 => Event::ToolCalled { task: task(), attempt, tool: format!("t{n}"), ms: n, failed: false },
        13 => Event::CallLost { task: task(), attempt, worst: usage(2) },
        14 => Event::EffectCommitted {
            task: task(),
            attempt,
            key: format!("k{n}"),
            failed: false,
            result: Some(Payload::Inline(JsonText::of(&n))),
        },
        15 => Event::EffectClaimed {
            task: task(),
            attempt,
            key: format!("k{n}"),
            kind: EffectKind::Call,
            what: "w".into(),
        },
        16 => Event::Blocked { task: task(), on: "slots".into() },
        _ => Event::Noted { task: Some(task()), code: "x".into(), message: "y".into() },
    };
    (0..random.below(12)).map(|_| one(random.below(18))).collect()
}

/// Everything that the owner of a run takes from its history, in words.
fn owners_view(plan: &Arc<Plan>, events: Vec<Stamped>) -> Option<String> {
    let spending = Spending::of(&events);
    let left_open: Vec<Event> = spending.left_open().collect();
    let scheduler = fold_into(Scheduler::new(plan.clone()), events).ok()?;
    let state: &convoke_schedule::State = &scheduler;
    Some(in_order(&format!("{:?} {left_open:?} {:?} {state:?}", spending.by_task(), spending.lost)))
}

/// Debug words with the entries of maps and sets in order: they have none of their own.
fn in_order(words: &str) -> String {
    let mut open = vec![vec![String::new()]];
    let (mut quoted, mut escaped) = (false, false);
    for letter in words.chars() {
        let part = |open: &mut Vec<Vec<String>>| {
            open.last_mut().and_then(|parts| parts.last_mut()).expect("a part is open").push(letter);
        };
        match letter {
            _ if quoted => {
                quoted = letter != '"' || escaped;
                escaped = letter == '\\' && !escaped;
                part(&mut open);
            }
            '{' | '[' | '(' => {
                part(&mut open);
                open.push(vec![String::new()]);
            }
            '}' | ']' | ')' => {
                let mut parts = open.pop().expect("brackets match");
                // An entry of a map looks like a field, and the order of fields does not matter either.
                if letter == '}' {
                    parts.sort();
                }
                let around = open.last_mut().and_then(|parts| parts.last_mut()).expect("brackets match");
                around.push_str(&parts.join(","));
                around.push(letter);
            }
            ',' => open.last_mut().expect("a list is open").push(String::new()),
            ' ' => {}
            _ => {
                quoted = letter == '"';
                part(&mut open);
            }
        }
    }
    open.concat().join(",")
}

/// The views of the whole history and of one whose beginning is shortened.
fn compare(plan: &Arc<Plan>, events: &[Stamped], cut: usize, what: &str) -> usize {
    let (before, rest) = events.split_at(cut);
    let short = compact(before.to_vec());
    let left_out = before.len() - short.len();
    let mixed: Vec<Stamped> = short.iter().chain(rest).cloned().collect();
    if let Some(whole) = owners_view(plan, events.to_vec()) {
        assert_eq!(Some(whole), owners_view(plan, mixed.clone()), "{what}, shortened at {cut}");
    }
    assert_eq!(compact(mixed), compact(events.to_vec()), "{what}, shortened twice at {cut}");
    left_out
}

#[test]
fn a_shortened_history_folds_to_the_same() {
    let mut left_out = 0;
    for (n, journal) in journals().iter().enumerate() {
        for cut in 0..=journal.events.len() {
            left_out += compare(&journal.plan, &journal.events, cut, &format!("journal {n}"));
        }
    }
    assert!(left_out > 1000, "something is left out: {left_out}");
}

#[test]
fn a_damaged_history_that_can_be_folded_folds_to_the_same() {
    let journals = journals();
    let mutations = Mutations::of(&journals);
    for seed in 0..1500 {
        let mut random = convoke_testkit::Random::new(seed);
        let journal = &journals[random.below(journals.len() as u64) as usize];
        let mut events = damaged(journal, &mutations, &mut random);
        // No owner writes a time before the last one.
        let mut last = Default::default();
        for stamped in &mut events {
            last = stamped.at.max(last);
            stamped.at = last;
        }
        let cut = random.below(events.len() as u64 + 1) as usize;
        // Only a journal whose beginning was written so can have a snapshot.
        if fold_into(Scheduler::new(journal.plan.clone()), events[..cut].to_vec()).is_ok() {
            compare(&journal.plan, &events, cut, &format!("seed {seed}"));
        }
    }
}

/// What is reopened, and which events say so, comes of the shortened history as of the whole one.
#[test]
fn a_run_that_has_ended_is_reopened_alike() {
    let mut reopened = 0;
    for journal in journals() {
        let opened = |events: Vec<Stamped>| {
            let found = replay(&journal.plan, events, &Changes::None, &|_| None);
            found.map(|(state, opening)| {
                let state: &convoke_schedule::State = &state;
                in_order(&format!("{opening:?} {state:?}"))
            })
        };
        let whole = opened(journal.events.clone());
        let short = opened(compact(journal.events.clone()));
        assert_eq!(whole.as_ref().map_err(ToString::to_string), short.as_ref().map_err(ToString::to_string));
        reopened += usize::from(whole.is_ok_and(|words| words.contains("RunReopened")));
    }
    assert!(reopened > 0, "some of them are reopened");
}
