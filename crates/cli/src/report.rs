//! A run as `convoke show` tells it: a fold over its events, whole after a crash as well.
//!
//! Unlike `view`, which forgets what no longer matters on a screen, this keeps every attempt and every payload.

use convoke_model::{
    Cause, Event, Failure, Payload, RunStarted, RunStatus, Stamped, TaskId, Timestamp, Usage,
};
use indexmap::IndexMap;

/// A run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How it began.
    pub started: Option<RunStarted>,
    /// When.
    pub started_at: Timestamp,
    /// How it stands, as far as the events tell.
    pub status: Option<RunStatus>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The workflow's output.
    pub output: Option<Payload>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What everything used.
    pub usage: Usage,
    /// Its tasks, in the order in which they began.
    pub tasks: IndexMap<TaskId, TaskReport>,
}

/// A task.
#[derive(Debug, Clone, Default)]
pub struct TaskReport {
    /// running, waiting, succeeded, failed, skipped, cancelled.
    pub status: &'static str,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Its attempts.
    pub attempts: Vec<AttemptReport>,
    /// Its output.
    pub output: Option<Payload>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Why it did not run, or not to its end.
    pub cause: Option<Cause>,
    /// What a person was asked.
    pub ask: Option<Payload>,
    /// What the person said, and who it was.
    pub answer: Option<(Payload, String)>,
}

/// An attempt.
#[derive(Debug, Clone)]
pub struct AttemptReport {
    /// Which one, from 1.
    pub attempt: u32,
    /// running, succeeded, failed, suspended, lost.
    pub status: &'static str,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What it used.
    pub usage: Usage,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What was there when it failed.
    pub partial: Option<Payload>,
}

impl Report {
    /// The report of a run with these events.
    pub fn of(events: &[Stamped]) -> Report {
        let mut report = Report::default();
        events.iter().for_each(|stamped| report.apply(stamped));
        report
    }

    fn apply(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        match &stamped.event {
            Event::RunStarted(started) => self.begin(at, started),
            Event::RunOwned { .. } => self.status = Some(RunStatus::Running),
            Event::RunReopened { tasks, restarted } => self.reopen(tasks.iter().chain(restarted)),
            Event::PlanChanged { dropped, .. } => self.reopen(dropped),
            Event::TaskStarted { task, .. } => self.task(task, at).status = "running",
            Event::AttemptStarted { task, attempt } => self.attempt(task, *attempt, at),
            Event::AttemptFinished { task, output, usage, .. } => {
                self.attempt_finished(task, output, usage, at)
            }
            Event::AttemptFailed { task, failure, usage, partial, .. } => {
                self.attempt_failed(task, failure, usage, partial.as_ref(), at);
            }
            Event::AttemptSuspended { task, usage, .. } => self.attempt_ended(task, "suspended", usage, at),
            Event::AttemptLost { task, .. } => self.attempt_ended(task, "lost", &Usage::default(), at),
            Event::TaskSucceeded { task, output } => self.succeed(task, output, at),
            Event::TaskFailed { task, failure } => self.fail(task, failure, at),
            Event::TaskSkipped { task, cause } => self.drop_out(task, "skipped", cause, at),
            Event::TaskCancelled { task, cause } => self.drop_out(task, "cancelled", cause, at),
            Event::GateOpened { task, ask } => self.ask(task, ask, at),
            Event::GateAnswered { task, answer, by } => {
                self.task(task, at).answer = Some((answer.clone(), by.clone()))
            }
            Event::RunParked { .. } => self.status = Some(RunStatus::Parked),
            Event::RunInterrupted { .. } => self.status = Some(RunStatus::Interrupted),
            Event::RunFinished { status, output, failure } => self.finish(*status, output, failure, at),
            _ => {}
        }
    }

    fn begin(&mut self, at: Timestamp, started: &RunStarted) {
        self.started = Some(started.clone());
        self.started_at = at;
    }

    fn reopen<'a>(&mut self, tasks: impl IntoIterator<Item = &'a TaskId>) {
        (self.finished_at, self.output, self.failure) = (None, None, None);
        for id in tasks {
            if let Some(task) = self.tasks.get_mut(id) {
                task.status = "waiting";
                (task.finished_at, task.output, task.failure, task.cause) = (None, None, None, None);
            }
        }
    }

    fn task(&mut self, id: &TaskId, at: Timestamp) -> &mut TaskReport {
        let new = || TaskReport { status: "waiting", started_at: at, ..TaskReport::default() };
        self.tasks.entry(id.clone()).or_insert_with(new)
    }

    fn attempt(&mut self, id: &TaskId, attempt: u32, at: Timestamp) {
        let task = self.task(id, at);
        task.status = "running";
        task.attempts.push(AttemptReport {
            attempt,
            status: "running",
            started_at: at,
            finished_at: None,
            usage: Usage::default(),
            failure: None,
            partial: None,
        });
    }

    fn attempt_ended(&mut self, id: &TaskId, status: &'static str, usage: &Usage, at: Timestamp) {
        self.usage += *usage;
        let task = self.task(id, at);
        task.status = "waiting";
        if let Some(attempt) = task.attempts.last_mut() {
            (attempt.status, attempt.finished_at, attempt.usage) = (status, Some(at), *usage);
        }
    }

    fn attempt_finished(&mut self, id: &TaskId, output: &Payload, usage: &Usage, at: Timestamp) {
        self.attempt_ended(id, "succeeded", usage, at);
        self.succeed(id, output, at);
    }

    fn attempt_failed(
        &mut self,
        id: &TaskId,
        failure: &Failure,
        usage: &Usage,
        partial: Option<&Payload>,
        at: Timestamp,
    ) {
        self.attempt_ended(id, "failed", usage, at);
        if let Some(attempt) = self.task(id, at).attempts.last_mut() {
            (attempt.failure, attempt.partial) = (Some(failure.clone()), partial.cloned());
        }
    }

    fn succeed(&mut self, id: &TaskId, output: &Payload, at: Timestamp) {
        let task = self.task(id, at);
        (task.status, task.finished_at, task.output) = ("succeeded", Some(at), Some(output.clone()));
    }

    fn fail(&mut self, id: &TaskId, failure: &Failure, at: Timestamp) {
        let task = self.task(id, at);
        (task.status, task.finished_at, task.failure) = ("failed", Some(at), Some(failure.clone()));
    }

    fn drop_out(&mut self, id: &TaskId, status: &'static str, cause: &Cause, at: Timestamp) {
        let task = self.task(id, at);
        (task.status, task.finished_at, task.cause) = (status, Some(at), Some(cause.clone()));
    }

    fn ask(&mut self, id: &TaskId, ask: &Payload, at: Timestamp) {
        let task = self.task(id, at);
        (task.status, task.ask, task.answer) = ("waiting", Some(ask.clone()), None);
    }

    fn finish(
        &mut self,
        status: RunStatus,
        output: &Option<Payload>,
        failure: &Option<Failure>,
        at: Timestamp,
    ) {
        (self.status, self.finished_at) = (Some(status), Some(at));
        self.output.clone_from(output);
        self.failure.clone_from(failure);
    }
}

impl TaskReport {
    /// What all attempts used.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        self.attempts.iter().for_each(|attempt| usage += attempt.usage);
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, JsonText};

    fn fold(events: Vec<Event>) -> Report {
        let stamp = |(i, event)| Stamped { seq: i as u64 + 1, at: Timestamp(i as u64), event };
        Report::of(&events.into_iter().enumerate().map(stamp).collect::<Vec<_>>())
    }

    fn id() -> TaskId {
        TaskId("a".into())
    }

    #[test]
    fn every_attempt_is_kept_with_what_it_used() {
        let usage = Usage { input_tokens: 3, ..Usage::default() };
        let failure = Failure::new(Class::Timeout, "slow");
        let output = Payload::Inline(JsonText::of(&1));
        let report = fold(vec![
            Event::AttemptStarted { task: id(), attempt: 1 },
            Event::AttemptFailed { task: id(), attempt: 1, failure: failure.clone(), usage, partial: None },
            Event::AttemptStarted { task: id(), attempt: 2 },
            Event::AttemptFinished { task: id(), attempt: 2, output: output.clone(), usage },
        ]);
        let task = &report.tasks[&id()];
        assert_eq!((task.status, task.attempts.len(), task.usage().input_tokens), ("succeeded", 2, 6));
        assert_eq!((task.attempts[0].failure.clone(), task.output.clone()), (Some(failure), Some(output)));
        assert_eq!(report.usage.input_tokens, 6);
    }

    #[test]
    fn a_reopened_task_has_not_ended() {
        let failure = Failure::new(Class::Fatal, "no");
        let report = fold(vec![
            Event::TaskFailed { task: id(), failure: failure.clone() },
            Event::RunFinished { status: RunStatus::Failed, output: None, failure: Some(failure) },
            Event::RunReopened { tasks: vec![id()], restarted: vec![] },
        ]);
        assert_eq!((report.tasks[&id()].status, report.failure, report.finished_at), ("waiting", None, None));
    }
}
