//! A run in numbers, from its events: over all processes that drove it, and also when none does any more.

use crate::report::{AttemptReport, RunReport, TaskReport, TaskWord};
use convoke_model::hash::HashSet;
use convoke_model::{Event, Stamped, TaskId};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a run came to so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Tasks, by how they stand.
    pub tasks: BTreeMap<&'static str, u64>,
    /// Tasks that were tried again after a failure or a crash.
    pub retried: u64,
    /// Tasks that a step asked on its way: roles of a goal, questions of a merge, work that was handed down.
    pub sub_agents: u64,
    /// Attempts that began.
    pub attempts: u64,
    /// Attempts that have ended, well or badly.
    pub ended: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
    /// Calls to models that are accounted for.
    pub calls: u64,
    /// How long attempts took that have ended, in milliseconds.
    pub latency_ms: Option<Latency>,
}

/// How long something took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Half of them took no longer.
    pub p50: f64,
    /// Nineteen of twenty took no longer.
    pub p95: f64,
}

impl Latency {
    /// These times, in milliseconds to the microsecond.
    pub fn new(p50: Duration, p95: Duration) -> Latency {
        let millis = |time: Duration| time.as_micros() as f64 / 1e3;
        Latency { p50: millis(p50), p95: millis(p95) }
    }
}

impl Summary {
    /// The numbers of a run.
    pub fn of(report: &RunReport, events: &[Stamped]) -> Summary {
        let mut summary = Summary { calls: report.usage.calls, ..Summary::default() };
        let mut times = Vec::new();
        for task in report.tasks.values() {
            *summary.tasks.entry(word(task.state)).or_default() += 1;
            summary.retried += u64::from(was_retried(task));
            summary.attempts += task.attempts.len() as u64;
            summary.failed_attempts +=
                task.attempts.iter().filter(|one| one.failure.is_some()).count() as u64;
            times.extend(task.attempts.iter().filter_map(duration));
        }
        summary.ended = times.len() as u64;
        summary.sub_agents = sub_agents(report, events);
        summary.latency_ms = latency(times);
        summary
    }
}

fn word(state: TaskWord) -> &'static str {
    match state {
        TaskWord::Waiting => "waiting",
        TaskWord::Running => "running",
        TaskWord::Backoff => "backoff",
        TaskWord::Asking => "asking",
        TaskWord::Succeeded => "succeeded",
        TaskWord::Failed => "failed",
        TaskWord::Skipped => "skipped",
        TaskWord::Cancelled => "cancelled",
    }
}

/// An attempt that only goes on with answers it waited for is no second try.
fn was_retried(task: &TaskReport) -> bool {
    let before = task.attempts.split_last().map_or(&[][..], |(_, before)| before);
    before.iter().any(|attempt| !attempt.suspended)
}

fn duration(attempt: &AttemptReport) -> Option<Duration> {
    attempt.ended_at.map(|end| end.since(attempt.started_at))
}

/// Tasks below one that has asked.
fn sub_agents(report: &RunReport, events: &[Stamped]) -> u64 {
    let asked = events.iter().filter_map(|stamped| match &stamped.event {
        Event::ChildrenSpawned { task, .. } => Some(task),
        _ => None,
    });
    let askers: HashSet<&TaskId> = asked.collect();
    let is_below = |task: &TaskId| {
        std::iter::successors(task.parent(), TaskId::parent).any(|around| askers.contains(&around))
    };
    let ran = report.tasks.iter().filter(|(_, task)| !task.attempts.is_empty());
    ran.filter(|(id, _)| is_below(id)).count() as u64
}

fn latency(mut times: Vec<Duration>) -> Option<Latency> {
    times.sort_unstable();
    let at = |part: f64| {
        let place = (times.len() as f64 * part).ceil() as usize;
        times.get(place.saturating_sub(1)).copied()
    };
    Some(Latency::new(at(0.5)?, at(0.95)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fold;
    use convoke_model::{Class, Failure, JsonText, Payload, Timestamp, Usage};

    fn at(millis: u64, event: Event) -> Stamped {
        Stamped { seq: 0, at: Timestamp(millis * 1000), event }
    }

    fn id(name: &str) -> TaskId {
        TaskId(name.into())
    }

    fn begins(task: &str, attempt: u32) -> Event {
        Event::AttemptStarted { task: id(task), attempt, lease: None }
    }

    fn ends(task: &str, attempt: u32) -> Event {
        let usage = Usage { calls: 1, ..Usage::default() };
        Event::AttemptFinished { task: id(task), attempt, output: Payload::Inline(JsonText::of(&1)), usage }
    }

    fn fails(task: &str) -> Event {
        let (failure, usage) = (Failure::new(Class::Transient, "no"), Usage { calls: 1, ..Usage::default() });
        Event::AttemptFailed { task: id(task), attempt: 1, failure, usage, partial: None }
    }

    #[test]
    fn times_are_told_to_the_microsecond() {
        let told = Latency::new(Duration::from_nanos(813_000), Duration::from_nanos(1_234_567_891));
        assert_eq!(serde_json::to_string(&told).unwrap(), r#"{"p50":0.813,"p95":1234.567}"#);
    }

    #[test]
    fn attempts_retries_sub_agents_and_latencies_are_counted() {
        let events = [
            at(0, begins("a", 1)),
            at(10, fails("a")),
            at(20, begins("a", 2)),
            at(50, ends("a", 2)),
            at(60, Event::ChildrenSpawned { task: id("goal"), children: Vec::new() }),
            at(60, begins("goal/plan", 1)),
            at(160, ends("goal/plan", 1)),
            at(170, begins("b", 1)),
        ];
        let summary = Summary::of(&fold(&events), &events);
        assert_eq!((summary.attempts, summary.ended, summary.failed_attempts), (4, 3, 1));
        assert_eq!((summary.retried, summary.sub_agents, summary.calls), (1, 1, 3));
        assert_eq!(summary.latency_ms, Some(Latency { p50: 30.0, p95: 100.0 }));
        assert_eq!(summary.tasks.get("succeeded"), Some(&2));
    }
}
