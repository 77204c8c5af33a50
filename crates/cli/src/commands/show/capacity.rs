//! What a run had to wait for, what limits did meanwhile, and what it spent of its budget: all from its events.

use crate::view::words;
use convoke_model::{Budget, Event, Failure, Stamped, TaskId, Timestamp, Usage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// How capacity fared in a run.
#[derive(Debug, Default, PartialEq)]
pub struct Fared {
    /// How long each attempt was ready before it had its permit, shortest first.
    waits: Vec<Duration>,
    /// What the queue stood still for, and how often.
    blocked: BTreeMap<String, u32>,
    /// Limits that changed.
    changes: BTreeMap<String, Change>,
    /// Tasks and calls that were refused because they could never be admitted.
    refused: u32,
}

/// What became of a limit.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    first: u64,
    last: u64,
    reason: String,
    times: u32,
}

impl Fared {
    /// Reads the events of a run.
    pub fn of(events: &[Stamped]) -> Fared {
        let mut fared = Fared::default();
        let mut ready = HashMap::new();
        events.iter().for_each(|stamped| fared.take(stamped, &mut ready));
        fared.waits.sort_unstable();
        fared
    }

    fn take<'a>(&mut self, stamped: &'a Stamped, ready: &mut HashMap<&'a TaskId, Timestamp>) {
        match &stamped.event {
            Event::TaskStarted { task, .. } | Event::TaskWoken { task } => {
                ready.insert(task, stamped.at);
            }
            Event::AttemptStarted { task, .. } => {
                self.waits.extend(ready.remove(task).map(|since| stamped.at.since(since)));
            }
            Event::Blocked { on, .. } => *self.blocked.entry(on.clone()).or_default() += 1,
            Event::LimitAdapted { resource, setting, from, to, reason } if setting == "limit" => {
                self.change(resource, *from, *to, reason);
            }
            Event::TaskFailed { failure, .. } | Event::AttemptFailed { failure, .. } => self.refuse(failure),
            _ => {}
        }
    }

    fn change(&mut self, resource: &str, from: u64, to: u64, reason: &str) {
        let first = Change { first: from, last: from, reason: String::new(), times: 0 };
        let change = self.changes.entry(resource.to_owned()).or_insert(first);
        (change.last, change.reason) = (to, reason.to_owned());
        change.times += 1;
    }

    fn refuse(&mut self, failure: &Failure) {
        self.refused += u32::from(failure.reason.as_deref() == Some("never_fits"));
    }

    /// The wait that this part of all attempts did not exceed.
    fn percentile(&self, part: f64) -> Duration {
        let place = (self.waits.len() as f64 * part).ceil() as usize;
        self.waits.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Fields for people; none where nothing stood in the way.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if !self.blocked.is_empty() {
            let on: Vec<_> = self.blocked.keys().map(String::as_str).collect();
            let [half, most] = [0.5, 0.95].map(|part| words::duration(self.percentile(part)));
            let waited = format!("for permits: p50 {half}, p95 {most}; blocked on {}", on.join(", "));
            fields.push(("waited", waited));
        }
        for (name, change) in &self.changes {
            let Change { first, last, reason, times } = change;
            let often = if *times > 1 { format!(", {times} changes") } else { String::new() };
            fields.push(("limit", format!("{name} {first} -> {last} ({reason}{often})")));
        }
        if self.refused > 0 {
            fields.push(("refused", format!("{} that could never be admitted", self.refused)));
        }
        fields
    }

    /// The same for programs.
    pub fn record(&self) -> Value {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let changes = self.changes.iter().map(|(name, change)| {
            json!({
                "resource": name,
                "from": change.first,
                "to": change.last,
                "reason": change.reason,
                "times": change.times,
            })
        });
        json!({
            "attempts": self.waits.len(),
            "waited_ms": {
                "p50": millis(self.percentile(0.5)),
                "p95": millis(self.percentile(0.95)),
                "longest": millis(self.percentile(1.0)),
            },
            "blocked_on": self.blocked,
            "adapted": changes.collect::<Vec<_>>(),
            "refused": self.refused,
        })
    }
}

/// What was spent of a budget, in words.
pub fn spent(usage: &Usage, budget: &Budget) -> String {
    let money =
        budget.micros.map(|limit| format!("{} of {}", words::money(usage.cost_micros), words::money(limit)));
    let used = usage.input_tokens + usage.output_tokens;
    let tokens =
        budget.tokens.map(|limit| format!("{} of {} tokens", words::count(used), words::count(limit)));
    let mode = if budget.audit { " (audit)" } else { "" };
    format!("{}{mode}", money.into_iter().chain(tokens).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Class;

    fn at(millis: u64, event: Event) -> Stamped {
        Stamped { seq: 0, at: Timestamp(millis * 1000), event }
    }

    fn task(number: u64) -> TaskId {
        TaskId(format!("t{number}").into())
    }

    fn adapted(from: u64, to: u64, reason: &str) -> Event {
        Event::LimitAdapted {
            resource: "model:m".into(),
            setting: "limit".into(),
            from,
            to,
            reason: reason.into(),
        }
    }

    #[test]
    fn waits_count_from_being_ready_to_the_permit_and_back_off_is_no_wait() {
        let mut events = Vec::new();
        for number in 1..=20 {
            events.push(at(0, Event::TaskWoken { task: task(number) }));
            events
                .push(at(number * 10, Event::AttemptStarted { task: task(number), attempt: 1, lease: None }));
        }
        events.push(at(5000, Event::TaskWoken { task: task(1) }));
        events.push(at(5001, Event::AttemptStarted { task: task(1), attempt: 2, lease: None }));
        events.push(at(1, Event::Blocked { task: task(3), on: "machine".into() }));
        let fields = Fared::of(&events).fields();
        let expected = "for permits: p50 100 ms, p95 190 ms; blocked on machine";
        assert_eq!(fields, [("waited", expected.to_owned())]);
    }

    #[test]
    fn changes_and_refusals_are_told_and_silence_is_kept_otherwise() {
        let failure = Failure::new(Class::Capacity, "no").reason("never_fits");
        let events = [
            at(1, adapted(40, 20, "rate_limited")),
            at(2, adapted(20, 21, "recovered")),
            at(3, Event::TaskFailed { task: task(1), failure }),
        ];
        let expected = [
            ("limit", "model:m 40 -> 21 (recovered, 2 changes)".to_owned()),
            ("refused", "1 that could never be admitted".to_owned()),
        ];
        assert_eq!(Fared::of(&events).fields(), expected);
        assert_eq!(Fared::of(&[]).fields(), []);
    }

    #[test]
    fn money_and_tokens_are_held_against_their_budget() {
        let usage = Usage { cost_micros: 250_000, input_tokens: 900, output_tokens: 100, ..Usage::default() };
        let budget = Budget { micros: Some(1_000_000), tokens: Some(5000), audit: true, ..Budget::default() };
        assert_eq!(spent(&usage, &budget), "$0.25 of $1.00, 1000 of 5000 tokens (audit)");
    }
}
