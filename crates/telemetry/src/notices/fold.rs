//! Finds in the events of a run what a person should hear of.

use convoke_follow::{Fold, Standing};
use convoke_model::excerpt::{clipped, leading_line};
use convoke_model::{Ask, BudgetSpent, Event, Payload, RunId, RunStatus, Stamped, TaskId, Timestamp};
use serde::Serialize;
use std::collections::HashSet;
use std::time::Duration;

/// What something is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The run has ended, is parked, or was interrupted.
    End,
    /// A person is asked.
    Gate,
    /// A budget is spent.
    Budget,
    /// Nothing has happened for long, though something runs; or the process that drove the run is gone.
    Stall,
    /// A task has failed for good.
    Failure,
    /// The run waits for the machine.
    Paused,
}

impl Topic {
    /// All of them.
    pub const ALL: [Topic; 6] =
        [Topic::End, Topic::Gate, Topic::Budget, Topic::Stall, Topic::Failure, Topic::Paused];

    /// The word for files and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Topic::End => "end",
            Topic::Gate => "gate",
            Topic::Budget => "budget",
            Topic::Stall => "stall",
            Topic::Failure => "failure",
            Topic::Paused => "paused",
        }
    }

    /// The topic that a word names.
    pub fn from_word(word: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|topic| topic.word() == word)
    }
}

/// One thing to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// By this a receiver knows a repetition.
    pub id: String,
    /// What it is about.
    #[serde(rename = "event")]
    pub topic: Topic,
    /// The run.
    pub run: RunId,
    /// Its workflow.
    pub workflow: String,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How the run stands, where it has come to an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// For people.
    pub message: String,
    /// When it happened, as RFC 3339.
    pub at: String,
    /// The number of the event; of silence and pauses that of the last one before.
    pub seq: u64,
}

/// Failures that are told one by one; of a run in which thousands fail a person hears no more than this.
const FAILURES: u32 = 20;

/// Characters of a message.
const MOST: usize = 500;

/// What there is to hear of one run.
pub struct RunNotices {
    run: RunId,
    workflow: String,
    skips_gates: bool,
    failures: u32,
    running: HashSet<TaskId>,
    last: (u64, Timestamp),
    ended: bool,
    /// Whether its owner has let go of it: it is parked, or was interrupted.
    let_go: bool,
    /// Silence of so long is told.
    stall: Duration,
    /// The events after which silence and pauses were told.
    stalled: u64,
    paused: u64,
}

impl RunNotices {
    /// A run that nothing was read of. Silence of so long is told.
    pub fn new(run: &RunId, stall: Duration) -> RunNotices {
        RunNotices {
            run: run.clone(),
            workflow: String::new(),
            skips_gates: false,
            failures: 0,
            running: HashSet::new(),
            last: (0, Timestamp::default()),
            ended: false,
            let_go: false,
            stall,
            stalled: 0,
            paused: 0,
        }
    }

    /// The same of a run whose workflow is known before its first event is read.
    pub fn of_workflow(self, workflow: &str) -> RunNotices {
        RunNotices { workflow: workflow.to_owned(), ..self }
    }

    /// The workflow, once the first event was read.
    pub fn workflow(&self) -> &str {
        &self.workflow
    }

    /// What there is to hear of an event.
    pub fn notice(&mut self, stamped: &Stamped) -> Option<Notice> {
        self.learn(stamped);
        let tell = |topic, message: String| Some(self.about(stamped.seq, stamped.at, topic, message));
        match &stamped.event {
            Event::GateOpened { task, ask, .. } if !self.skips_gates => {
                let notice = tell(Topic::Gate, format!("`{task}` waits for you{}", question(ask)))?;
                Some(Notice { task: Some(task.clone()), ..notice })
            }
            Event::BudgetSpent(BudgetSpent { budget, .. }) => tell(Topic::Budget, format!("spent: {budget}")),
            Event::BudgetExceeded { .. } => {
                tell(Topic::Budget, "more was spent than the budget says".to_owned())
            }
            Event::TaskFailed { task, failure } if self.failures <= FAILURES => {
                let more =
                    if self.failures == FAILURES { "; further failures are not told one by one" } else { "" };
                let message =
                    format!("`{task}` failed ({}): {}{more}", failure.class, leading_line(&failure.message));
                Some(Notice { task: Some(task.clone()), ..tell(Topic::Failure, message)? })
            }
            Event::RunFinished { status, failure, .. } => {
                let why = failure.as_ref().map(|failure| format!(": {}", leading_line(&failure.message)));
                let message = format!("it {}{}", ended_as(*status), why.unwrap_or_default());
                Some(Notice { status: Some(*status), ..tell(Topic::End, message)? })
            }
            Event::RunParked { .. } => Some(Notice {
                status: Some(RunStatus::Parked),
                ..tell(Topic::End, "it is parked".to_owned())?
            }),
            Event::RunInterrupted { by } => {
                let notice = tell(Topic::End, format!("it was interrupted by {by}"))?;
                Some(Notice { status: Some(RunStatus::Interrupted), ..notice })
            }
            _ => None,
        }
    }

    fn learn(&mut self, stamped: &Stamped) {
        self.last = (stamped.seq, stamped.at);
        match &stamped.event {
            Event::RunStarted(started) => {
                self.workflow.clone_from(&started.workflow);
                self.skips_gates = started.skip_gates;
            }
            Event::RunOwned { .. } | Event::RunForked(_) => {
                self.running.clear();
                self.let_go = false;
            }
            Event::RunParked { .. } | Event::RunInterrupted { .. } => self.let_go = true,
            Event::RunReopened(_) => self.ended = false,
            Event::RunFinished { .. } => self.ended = true,
            Event::AttemptStarted { task, .. } => {
                self.running.insert(task.clone());
            }
            Event::AttemptFinished { task, .. }
            | Event::AttemptFailed { task, .. }
            | Event::AttemptLost { task, .. }
            | Event::AttemptDetached { task, .. }
            | Event::AttemptSuspended { task, .. } => {
                self.running.remove(task);
            }
            Event::TaskFailed { .. } => self.failures += 1,
            _ => {}
        }
    }

    fn about(&self, seq: u64, at: Timestamp, topic: Topic, message: String) -> Notice {
        Notice {
            // The time tells this journal from another one under the same name.
            id: format!("{}-{seq}-{:x}-{}", self.run, at.0, topic.word()),
            topic,
            run: self.run.clone(),
            workflow: self.workflow.clone(),
            task: None,
            status: None,
            message: clipped(&message, MOST),
            at: at.rfc3339(),
            seq,
        }
    }
}

impl Fold<Notice> for RunNotices {
    fn take(&mut self, event: &Stamped, items: &mut Vec<Notice>) {
        items.extend(self.notice(event));
    }

    fn stand(&mut self, standing: &Standing, items: &mut Vec<Notice>) {
        let (seq, at) = self.last;
        if self.ended || seq == 0 {
            return;
        }
        if let Some(why) = standing.blocked.filter(|_| self.paused != seq) {
            self.paused = seq;
            let message = format!("the run pauses: it waits for the machine ({})", why.word());
            items.push(self.about(seq, at, Topic::Paused, message));
        }
        let silence = standing.now.since(at);
        if silence < self.stall || self.stalled == seq {
            return;
        }
        if let Some(message) = self.stalls(standing, silence) {
            self.stalled = seq;
            items.push(self.about(seq, at, Topic::Stall, message));
        }
    }
}

impl RunNotices {
    /// What there is to say of a run that has been silent for so long.
    fn stalls(&self, standing: &Standing, silence: Duration) -> Option<String> {
        if !standing.live {
            let words =
                "no process drives the run any more, and it has not ended; `convoke resume` continues it";
            return (!self.let_go).then(|| words.to_owned());
        }
        let is_stalled = standing.blocked.is_none() && !self.running.is_empty();
        is_stalled.then(|| {
            format!(
                "nothing has happened for {} minutes; under way: {}",
                silence.as_secs() / 60,
                convoke_model::counted(self.running.len(), "attempt", "attempts")
            )
        })
    }
}

/// A fold that gives nothing.
pub struct Nothing;

impl<T> Fold<T> for Nothing {
    fn take(&mut self, _event: &Stamped, _items: &mut Vec<T>) {}
}

/// How a run ended, behind its name.
pub fn ended_as(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Succeeded => "succeeded",
        RunStatus::Partial => "ended in part",
        RunStatus::SkippedAll => "skipped everything",
        RunStatus::Cancelled => "was stopped",
        _ => "failed",
    }
}

/// The question's first line, where the event itself holds it.
fn question(ask: &Payload) -> String {
    let Payload::Inline(text) = ask else { return String::new() };
    let prompt = match serde_json::from_str(text.as_str()) {
        Ok(
            Ask::Choice { prompt, .. }
            | Ask::Plan { prompt, .. }
            | Ask::Unknown { prompt }
            | Ask::Approval { prompt, .. },
        ) => Some(prompt),
        Ok(Ask::Questions { prompt, .. }) => prompt,
        Err(_) => None,
    };
    prompt.map(|prompt| format!(": {}", leading_line(&prompt))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, Failure};

    fn stamped(seq: u64, event: Event) -> Stamped {
        Stamped { seq, at: Timestamp(seq * 1_000_000), event }
    }

    fn failed(n: u64) -> Event {
        let failure = Failure::new(Class::Fatal, "it melted\nmore");
        Event::TaskFailed { task: TaskId(format!("t{n}").into()), failure }
    }

    #[test]
    fn of_a_flood_of_failures_some_are_told() {
        let mut notices = RunNotices::new(&RunId("r".into()), Duration::from_secs(60));
        let told: Vec<_> = (1..100).filter_map(|n| notices.notice(&stamped(n, failed(n)))).collect();
        assert_eq!(told.len(), FAILURES as usize);
        assert_eq!(told[0].message, "`t1` failed (fatal): it melted …");
        assert!(told.last().unwrap().message.ends_with("further failures are not told one by one"));
        assert_ne!(told[0].id, told[1].id);
    }

    #[test]
    fn silence_is_told_once_and_only_while_something_runs() {
        let mut notices = RunNotices::new(&RunId("r".into()), Duration::from_secs(60));
        let began =
            |seq| stamped(seq, Event::AttemptStarted { task: TaskId("a".into()), attempt: 1, lease: None });
        let at = |seconds: u64, live| Standing { now: Timestamp(seconds * 1_000_000), live, blocked: None };
        let told = |notices: &mut RunNotices, standing: Standing| {
            let mut items = Vec::new();
            notices.stand(&standing, &mut items);
            items.into_iter().map(|notice| notice.topic).collect::<Vec<_>>()
        };
        assert_eq!(told(&mut notices, at(900, true)), [], "it has not begun");
        notices.notice(&began(1));
        assert_eq!(told(&mut notices, at(50, true)), []);
        assert_eq!(told(&mut notices, at(900, true)), [Topic::Stall]);
        assert_eq!(told(&mut notices, at(1_900, true)), [], "it was told");
        notices.notice(&began(2));
        assert_eq!(told(&mut notices, at(1_900, true)), [Topic::Stall], "another silence");
    }

    #[test]
    fn a_run_whose_process_is_gone_is_told_once_unless_its_owner_let_go_of_it() {
        let gone = |events: Vec<Event>| {
            let mut notices = RunNotices::new(&RunId("r".into()), Duration::from_secs(60));
            for (at, event) in events.into_iter().enumerate() {
                notices.notice(&stamped(at as u64 + 1, event));
            }
            let mut items = Vec::new();
            for seconds in [30, 900, 1_900] {
                let standing = Standing { now: Timestamp(seconds * 1_000_000), live: false, blocked: None };
                notices.stand(&standing, &mut items);
            }
            items.into_iter().map(|notice| notice.topic).collect::<Vec<_>>()
        };
        let began = || Event::AttemptStarted { task: TaskId("a".into()), attempt: 1, lease: None };
        assert_eq!(gone(vec![began()]), [Topic::Stall]);
        assert_eq!(gone(vec![began(), Event::RunParked { waiting: Vec::new() }]), []);
        assert_eq!(gone(vec![began(), Event::RunInterrupted { by: "SIGTERM".into() }]), []);
        let (status, output, failure) = (RunStatus::Succeeded, None, None);
        assert_eq!(gone(vec![began(), Event::RunFinished { status, output, failure }]), []);
    }
}
