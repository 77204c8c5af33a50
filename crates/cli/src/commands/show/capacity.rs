//! What a run had to wait for, and what limits did meanwhile.
//!
//! From its events, which say that a task waits when what the queue stands still for changes; waits of tasks further back are
//! not in them. A run that took longer than a moment has also written down how it used its capacity, and that counts all.

use crate::view::format;
use convoke_model::{Event, Failure, LimitAdapted, LimitSetting, Stamped, TaskId, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// How capacity fared in a run.
#[derive(Debug, Default, PartialEq)]
pub struct Fared {
    /// How long tasks that were said to wait had to, shortest first.
    waits: Vec<Duration>,
    /// The same as the run itself has counted it: half of all permits, nineteen of twenty.
    counted: Option<[Duration; 2]>,
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
    /// Reads the events of a run, and its numbers if it has left any.
    pub fn of(events: &[Stamped], metrics: Option<&Value>) -> Fared {
        let mut fared = Fared { counted: metrics.and_then(counted), ..Fared::default() };
        let mut waiting = HashMap::new();
        events.iter().for_each(|stamped| fared.take(stamped, &mut waiting));
        fared.waits.sort_unstable();
        fared
    }

    fn take<'a>(&mut self, stamped: &'a Stamped, waiting: &mut HashMap<&'a TaskId, Timestamp>) {
        match &stamped.event {
            Event::Blocked { task, on } => {
                waiting.entry(task).or_insert(stamped.at);
                *self.blocked.entry(on.clone()).or_default() += 1;
            }
            Event::AttemptStarted { task, .. } => {
                self.waits.extend(waiting.remove(task).map(|since| stamped.at.since(since)));
            }
            Event::LimitAdapted(adapted) if adapted.setting == LimitSetting::Limit => self.change(adapted),
            Event::TaskFailed { failure, .. } | Event::AttemptFailed { failure, .. } => self.refuse(failure),
            _ => {}
        }
    }

    fn change(&mut self, adapted: &LimitAdapted) {
        let first = Change { first: adapted.from, last: adapted.from, reason: String::new(), times: 0 };
        let change = self.changes.entry(adapted.resource.clone()).or_insert(first);
        (change.last, change.reason) = (adapted.to, adapted.why());
        change.times += 1;
    }

    fn refuse(&mut self, failure: &Failure) {
        self.refused += u32::from(failure.reason.as_deref() == Some("never_fits"));
    }

    /// The wait that this part of all did not exceed.
    fn percentile(&self, part: f64) -> Duration {
        let place = (self.waits.len() as f64 * part).ceil() as usize;
        self.waits.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Half of all waits, nineteen of twenty.
    fn halves(&self) -> [Duration; 2] {
        self.counted.unwrap_or_else(|| [0.5, 0.95].map(|part| self.percentile(part)))
    }

    /// Fields for people; none where nothing stood in the way.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if !self.blocked.is_empty() {
            let on: Vec<_> = self.blocked.keys().map(String::as_str).collect();
            let [half, most] = self.halves().map(format::duration);
            let waited = format!("for permits: p50 {half}, p95 {most}; blocked on {}", on.join(", "));
            fields.push(("waited", waited));
        }
        for (name, change) in &self.changes {
            let Change { first, last, reason, times } = change;
            let why = match times {
                1 => reason.clone(),
                _ => format!("{times} changes, the last one: {reason}"),
            };
            fields.push(("limit", format!("{name} {first} -> {last} ({why})")));
        }
        if self.refused > 0 {
            fields.push(("refused", format!("{} that could never be admitted", self.refused)));
        }
        fields
    }

    /// The same for programs.
    pub fn record(&self) -> Value {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let [half, most] = self.halves().map(millis);
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
            "waited_ms": {"p50": half, "p95": most},
            "blocked_on": self.blocked,
            "adapted": changes.collect::<Vec<_>>(),
            "refused": self.refused,
        })
    }
}

/// The waits in the numbers of a run.
fn counted(metrics: &Value) -> Option<[Duration; 2]> {
    let wait = |key: &str| Duration::try_from_secs_f64(metrics["wait_ms"][key].as_f64()? / 1e3).ok();
    Some([wait("p50")?, wait("p95")?])
}

/// What a run does at this moment: permits that are out, demands that wait and what for.
pub fn now(metrics: &Value) -> Option<String> {
    let (active, waiting) = (metrics["active"].as_u64()?, metrics["waiting"].as_u64()?);
    let causes =
        metrics["waiting_for"].as_object()?.iter().map(|(name, count)| format!("{count} for {name}"));
    let causes: Vec<_> = causes.collect();
    let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
    Some(format!("{active} active, {waiting} waiting{causes}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, LimitReason};

    fn at(millis: u64, event: Event) -> Stamped {
        Stamped { seq: 0, at: Timestamp(millis * 1000), event }
    }

    fn task(number: u64) -> TaskId {
        TaskId(format!("t{number}").into())
    }

    fn adapted(from: u64, to: u64, reason: LimitReason) -> Event {
        let (resource, setting) = ("model:m".into(), LimitSetting::Limit);
        Event::LimitAdapted(LimitAdapted { resource, setting, from, to, reason, origin: None })
    }

    #[test]
    fn waits_count_from_the_first_word_of_them_to_the_permit() {
        let mut events = Vec::new();
        for number in 1..=20 {
            events.push(at(0, Event::Blocked { task: task(number), on: "machine".into() }));
            events.push(at(1, Event::Blocked { task: task(number), on: "slots".into() }));
            let start = Event::AttemptStarted { task: task(number), attempt: 1, lease: None };
            events.push(at(number * 10, start));
        }
        events.push(at(9000, Event::AttemptStarted { task: task(1), attempt: 2, lease: None }));
        let fields = Fared::of(&events, None).fields();
        let expected = "for permits: p50 100 ms, p95 190 ms; blocked on machine, slots";
        assert_eq!(fields, [("waited", expected.to_owned())]);
        let metrics = json!({
            "wait_ms": {"p50": 20.0, "p95": 2000.0}, "active": 3, "waiting": 2,
            "waiting_for": {"machine": 2},
        });
        let fields = Fared::of(&events, Some(&metrics)).fields();
        let expected = "for permits: p50 20 ms, p95 2.0 s; blocked on machine, slots";
        assert_eq!(fields, [("waited", expected.to_owned())], "what the run has counted itself is exact");
        assert_eq!(now(&metrics).as_deref(), Some("3 active, 2 waiting (2 for machine)"));
    }

    #[test]
    fn changes_and_refusals_are_told_and_silence_is_kept_otherwise() {
        let failure = Failure::new(Class::Capacity, "no").reason("never_fits");
        let events = [
            at(1, adapted(40, 20, LimitReason::RateLimited)),
            at(2, adapted(20, 21, LimitReason::Recovered)),
            at(3, Event::TaskFailed { task: task(1), failure }),
        ];
        let expected = [
            ("limit", "model:m 40 -> 21 (2 changes, the last one: recovered)".to_owned()),
            ("refused", "1 that could never be admitted".to_owned()),
        ];
        assert_eq!(Fared::of(&events, None).fields(), expected);
        assert_eq!(Fared::of(&[], None).fields(), []);
    }
}
