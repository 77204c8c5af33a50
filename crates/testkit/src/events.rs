//! Events as tests write them down, with as few words as possible.

use convoke_model::{Digest, Event, JsonText, Payload, RunId, RunStarted, Stamped, TaskId, Timestamp, Usage};

/// A task id.
pub fn id(text: &str) -> TaskId {
    TaskId(text.into())
}

/// Each event a second after the one before.
pub fn stamp(events: Vec<Event>) -> Vec<Stamped> {
    let second = |i: usize| Timestamp(1_000_000 * i as u64);
    events
        .into_iter()
        .enumerate()
        .map(|(i, event)| Stamped { seq: i as u64 + 1, at: second(i), event })
        .collect()
}

/// The run `r1` of workflow `w` begins.
pub fn started() -> Event {
    Event::RunStarted(Box::new(RunStarted {
        run: RunId("r1".into()),
        workflow: "w".into(),
        file: "w.yaml".into(),
        folder: "/".into(),
        plan: Digest::of(b""),
        inputs: Payload::Inline(JsonText::of(&())),
        seed: 0,
        skip_gates: false,
        version: "0".into(),
        metadata: Default::default(),
        configuration: Default::default(),
        base: None,
    }))
}

/// An attempt of a task starts.
pub fn attempt(task: &str, attempt: u32) -> Event {
    Event::AttemptStarted { task: id(task), attempt, lease: None }
}

/// The first attempt of a task ends well; it has used fifteen tokens.
pub fn done(task: &str) -> Event {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Event::AttemptFinished { task: id(task), attempt: 1, output: Payload::Inline(JsonText::of(&1)), usage }
}

/// A group has so many items.
pub fn fan_out(task: &str, count: u32) -> Event {
    Event::FannedOut { task: id(task), count, items: Payload::Inline(JsonText::of(&[1])), keys: None }
}

/// A task that holds others starts.
pub fn group(task: &str) -> Event {
    Event::TaskStarted { task: id(task), until: None, inputs: None }
}
