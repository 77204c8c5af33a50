//! Journals that no engine wrote: events are lost, doubled, moved, mixed up, changed, or made up.
//!
//! Events are changed as JSON, so that every field of every kind is reached, also those that are yet to come.

use crate::folds::shapes::Journal;
use convoke_model::{Event, Stamped, Timestamp};
use convoke_testkit::Random;
use serde_json::{Map, Value, json};

/// What changes are made from: every event and every text of all journals.
pub struct Mutations {
    events: Vec<Value>,
    texts: Vec<String>,
}

impl Mutations {
    pub fn of(journals: &[Journal]) -> Mutations {
        let mut all =
            Mutations { events: Vec::new(), texts: vec![String::new(), "/".into(), "a[9]#0".into()] };
        let mut kinds = std::collections::BTreeMap::<String, usize>::new();
        for stamped in journals.iter().flat_map(|journal| &journal.events) {
            let event = serde_json::to_value(&stamped.event).expect("an event is JSON");
            gather(&event, &mut all.texts);
            // A few of each kind: the rare ones are met as often as the others.
            let kind = event.as_object().and_then(|event| event.keys().next()).cloned().unwrap_or_default();
            let seen = kinds.entry(kind).or_default();
            *seen += 1;
            if *seen <= 25 {
                all.events.push(event);
            }
        }
        all.events.extend(unseen());
        all.texts.sort();
        all.texts.dedup();
        all
    }
}

/// Kinds of events that no simulated run has.
fn unseen() -> Vec<Value> {
    vec![
        json!({"plan_changed": {"plan": "00", "dropped": ["a"], "opened": ["both"]}}),
        json!({"summary_started": {"task": "a", "covers": ["b"], "summary": "summary"}}),
        json!({"hook_started": {"within": "sub", "hook": "on_error"}}),
        json!({"hook_rendered": {"hook": "on_start", "text": "t"}}),
        json!({"attempt_suspended": {"task": "a", "attempt": 1, "state": {"inline": []}, "waits_for": {"time": 5}}}),
        json!({"turn_recorded": {"task": "a", "attempt": 1, "piece": {"inline": 1}}}),
        json!({"call_reserved": {"task": "a", "attempt": 1, "worst": {"calls": 1}}}),
        json!({"call_lost": {"task": "a", "attempt": 1, "worst": {"calls": 1}}}),
        json!({"budget_exceeded": {"spent_micros": 2, "budget_micros": 1}}),
        json!({"stop_requested": {"now": false, "by": "x"}}),
    ]
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() < 60 => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, texts)),
        _ => {}
    }
}

/// A journal with a few changes, most of them near each other.
pub fn damaged(journal: &Journal, mutations: &Mutations, random: &mut Random) -> Vec<Stamped> {
    let mut events = journal.events.clone();
    for _ in 0..1 + random.below(6) {
        if events.is_empty() {
            break;
        }
        damage(&mut events, mutations, random);
    }
    events
}

/// A start, and then events of any kind about tasks of this journal.
pub fn arbitrary(journal: &Journal, mutations: &Mutations, random: &mut Random) -> Vec<Stamped> {
    let kept = 1 + random.below(journal.events.len() as u64) as usize;
    let mut events = journal.events[..kept].to_vec();
    for _ in 0..random.below(30) {
        let made = made_up(&events, mutations, random);
        events.extend(made);
    }
    events
}

fn damage(events: &mut Vec<Stamped>, mutations: &Mutations, random: &mut Random) {
    let count = events.len() as u64;
    let at = random.below(count) as usize;
    let other = random.below(count) as usize;
    match random.below(14) {
        0 => drop(events.remove(at)),
        1 => events.insert(other, events[at].clone()),
        2 => events.swap(at, other),
        3 => events.truncate(at.max(1)),
        4 => {
            let moved = events.remove(at);
            events.insert(other.min(events.len()), moved);
        }
        5 => events[at].at = Timestamp(large_or_small(events[at].at.0, random)),
        6 => drop(events.drain(at.min(other)..at.max(other).min(at.min(other) + 4))),
        7 => {
            if let Some(made) = made_up(events, mutations, random) {
                events.insert(other, made);
            }
        }
        8 => change(&mut events[at], random, spend),
        9 => change(&mut events[at], random, |event, random| rename(event, mutations, random)),
        _ => change(&mut events[at], random, |event, random| change_leaf(event, mutations, random)),
    }
}

/// Changes an event as JSON; what is no event any more stays as it was.
fn change(stamped: &mut Stamped, random: &mut Random, how: impl Fn(&mut Value, &mut Random)) {
    let mut value = serde_json::to_value(&stamped.event).expect("an event is JSON");
    how(&mut value, random);
    if let Ok(event) = serde_json::from_value::<Event>(value) {
        stamped.event = event;
    }
}

/// An event of any kind about something that this journal knows.
fn made_up(events: &[Stamped], mutations: &Mutations, random: &mut Random) -> Option<Stamped> {
    let mut value = mutations.events[random.below(mutations.events.len() as u64) as usize].clone();
    let near = events[random.below(events.len() as u64) as usize].clone();
    let own = serde_json::to_value(&near.event).expect("an event is JSON");
    take_over(body(&mut value)?, own.as_object()?.values().next()?.as_object()?);
    if random.percent(30) {
        change_leaf(&mut value, mutations, random);
    }
    Some(Stamped { event: serde_json::from_value(value).ok()?, ..near })
}

/// The event becomes one of another kind, with all that it says which the other kind says too.
fn rename(event: &mut Value, mutations: &Mutations, random: &mut Random) {
    let mut other = mutations.events[random.below(mutations.events.len() as u64) as usize].clone();
    let own = body(event).cloned().unwrap_or_default();
    if let Some(fields) = body(&mut other) {
        take_over(fields, &own);
        *event = other;
    }
}

/// The event says that something was used, where events of its kind can say so.
fn spend(event: &mut Value, random: &mut Random) {
    if let Some(fields) = body(event) {
        let mut some = || large_or_small(1, random);
        let usage = json!({"calls": some() as u32, "input_tokens": some(), "output_tokens": some(), "cost_micros": some()});
        fields.insert("usage".into(), usage);
    }
}

fn body(event: &mut Value) -> Option<&mut Map<String, Value>> {
    event.as_object_mut()?.values_mut().next()?.as_object_mut()
}

fn take_over(fields: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, field) in fields {
        if let Some(own) = from.get(name) {
            *field = own.clone();
        }
    }
}

/// Changes one value somewhere in an event.
fn change_leaf(value: &mut Value, mutations: &Mutations, random: &mut Random) {
    let here = random.percent(20);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len() as u64) as usize;
            if here && fields.len() > 1 {
                let name = fields.keys().nth(at).cloned().expect("counted");
                fields.remove(&name);
            } else if let Some(field) = fields.values_mut().nth(at) {
                change_leaf(field, mutations, random);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let at = random.below(list.len() as u64) as usize;
            match random.below(4) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => change_leaf(&mut list[at], mutations, random),
            }
        }
        Value::Number(number) => *value = json!(large_or_small(number.as_u64().unwrap_or(0), random)),
        Value::Bool(flag) => *flag = !*flag,
        Value::String(text) => {
            *text = mutations.texts[random.below(mutations.texts.len() as u64) as usize].clone()
        }
        _ => {}
    }
}

fn large_or_small(number: u64, random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 => number.saturating_sub(1),
        2 => number.saturating_add(1),
        3 => u64::from(u32::MAX),
        4 => u64::MAX,
        5 => number.saturating_mul(2),
        _ => random.below(6),
    }
}
