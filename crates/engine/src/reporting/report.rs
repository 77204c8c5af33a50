//! What a run came to, for people and programs: a fold over its events, also after a crash.

use convoke_model::hash::HashSet;
use convoke_model::{
    Absences, Affected, Cause, Event, Failure, Payload, RunForked, RunStarted, RunStatus, Stamped, TakenFrom,
    TaskId, Timestamp, Usage,
};
use indexmap::IndexMap;
use serde::Serialize;

/// Everything that the events of a run say, task by task.
#[derive(Debug, Default, Serialize)]
pub struct RunReport {
    /// The first event.
    pub started: Option<RunStarted>,
    /// How it stands.
    pub status: Option<RunStatus>,
    /// When its first event happened.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The workflow's output.
    pub output: Option<Payload>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What it used.
    pub usage: Usage,
    /// Where the events before its own come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<RunForked>,
    /// What the run that it was forked from had used by then.
    #[serde(skip_serializing_if = "Usage::is_zero")]
    pub inherited: Usage,
    /// Its tasks, in order of appearance.
    pub tasks: IndexMap<TaskId, TaskReport>,
    /// When no process drove it.
    #[serde(skip)]
    pub absences: Absences,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What happened to one task.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TaskReport {
    /// How it stands.
    pub state: TaskWord,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Its attempts.
    pub attempts: Vec<AttemptReport>,
    /// Its output.
    pub output: Option<Payload>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Why it did not run, or not to its end.
    pub cause: Option<Cause>,
    /// What it asks a person.
    pub ask: Option<Payload>,
    /// What it used.
    pub usage: Usage,
    /// Whether what is told here is of before it began anew, with a run that was opened again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
    /// The tools that it called, in order of the first call.
    pub tools: IndexMap<String, ToolReport>,
    /// Where its output comes from, if it did not make it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<TakenFrom>,
    /// Why it ran, in a run that takes outputs of another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Affected>,
}

/// The calls of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// How many.
    pub calls: u32,
    /// How many went wrong.
    pub failed: u32,
    /// How long they took, in milliseconds.
    pub ms: u64,
}

/// One attempt.
#[derive(Debug, Clone, Serialize)]
pub struct AttemptReport {
    /// Which.
    pub attempt: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// Process id of the process that performed it, where that was not the run's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<u32>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Whether it stopped to wait for answers, and the next one goes on with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What was there when it failed.
    pub partial: Option<Payload>,
    /// What it used.
    pub usage: Usage,
}

/// How a task stands, in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskWord {
    /// It was named, nothing more.
    #[default]
    Waiting,
    /// It runs.
    Running,
    /// It waits for another attempt.
    Backoff,
    /// It waits for a person.
    Asking,
    /// It ended well.
    Succeeded,
    /// It failed.
    Failed,
    /// It did not run.
    Skipped,
    /// It was stopped.
    Cancelled,
}

/// Folds the events of a run.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Stamped>) -> RunReport {
    let mut report = RunReport::default();
    events.into_iter().for_each(|stamped| report.take(stamped));
    report
}

impl RunReport {
    /// Takes one event.
    pub fn take(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        self.absences.take(stamped);
        match &stamped.event {
            Event::RunStarted(started) => self.begin(started, at),
            Event::RunOwned { .. } => self.status = Some(RunStatus::Running),
            Event::RunReopened(reopened) => {
                self.reopen(&reopened.tasks);
                self.supersede(&reopened.restarted);
            }
            Event::PlanChanged(changed) => self.supersede(&changed.dropped),
            Event::RunForked(forked) => self.fork(forked, at),
            Event::OutputTaken { task, output, from } => {
                let task = self.ended(task, at, TaskWord::Succeeded);
                (task.output, task.taken, task.superseded) =
                    (Some(output.clone()), Some(from.clone()), false);
            }
            Event::TaskAffected { task, because } => self.task(task).because.clone_from(because),
            Event::TaskStarted { task, .. }
            | Event::FannedOut { task, .. }
            | Event::MergeStarted { task, .. }
            | Event::ChildrenSpawned { task, .. } => self.started(task, at),
            Event::AttemptStarted { task, attempt, .. } => self.attempt(task, *attempt, at),
            Event::AttemptTaken { task, pid, .. } => self.attempt_taken(task, *pid),
            Event::AttemptFinished { task, output, usage, .. } => {
                self.attempt_ended(task, at, *usage, None, None);
                self.ended(task, at, TaskWord::Succeeded).output = Some(output.clone());
            }
            Event::AttemptFailed { task, failure, usage, partial, .. } => {
                self.attempt_ended(task, at, *usage, Some(failure), partial.as_ref());
            }
            Event::AttemptLost { task, usage, .. } => self.attempt_ended(task, at, *usage, None, None),
            Event::ProbeStarted { task, attempt, .. } => self.attempt(task, *attempt, at),
            Event::AttemptDetached { task, .. } | Event::EffectProbed { task, .. } => {
                self.attempt_ended(task, at, Usage::default(), None, None)
            }
            Event::AttemptSuspended { task, usage, .. } => {
                self.attempt_ended(task, at, *usage, None, None);
                self.task(task).attempts.iter_mut().last().into_iter().for_each(|last| last.suspended = true);
            }
            Event::TurnRecorded { task, usage, .. } => self.turned(task, *usage),
            Event::ToolCalled { task, tool, ms, failed, .. } => self.tool_called(task, tool, *ms, *failed),
            Event::RetryScheduled { task, .. } => self.task(task).state = TaskWord::Backoff,
            Event::GateOpened { task, ask, .. } => self.asks(task, ask, at),
            Event::TaskSucceeded { task, output } => {
                self.ended(task, at, TaskWord::Succeeded).output = Some(output.clone());
            }
            Event::TaskFailed { task, failure } => {
                self.ended(task, at, TaskWord::Failed).failure = Some(failure.clone());
            }
            Event::TaskSkipped { task, cause } => {
                self.ended(task, at, TaskWord::Skipped).cause = Some(cause.clone());
            }
            Event::TaskCancelled { task, cause } => {
                self.ended(task, at, TaskWord::Cancelled).cause = Some(cause.clone());
            }
            Event::RunParked { .. } => self.status = Some(RunStatus::Parked),
            Event::RunInterrupted { .. } => self.status = Some(RunStatus::Interrupted),
            Event::RunFinished { status, output, failure } => self.finish(*status, output, failure, at),
            Event::Noted { message, .. } => self.notes.push(message.clone()),
            _ => {}
        }
    }

    fn begin(&mut self, started: &RunStarted, at: Timestamp) {
        self.started = Some(started.clone());
        self.started_at = Some(at);
    }

    fn reopen(&mut self, tasks: &[TaskId]) {
        self.finished_at = None;
        self.failure = None;
        for task in tasks {
            let task = self.task(task);
            (task.state, task.ended_at, task.failure, task.cause) = (TaskWord::Waiting, None, None, None);
        }
    }

    /// What was spent and how long it took before is the other run's, and so are the attempts that ran there.
    fn fork(&mut self, forked: &RunForked, at: Timestamp) {
        self.started_at = Some(at);
        (self.finished_at, self.failure, self.output) = (None, None, None);
        self.inherited = std::mem::take(&mut self.usage);
        self.supersede(&forked.change.dropped);
        self.forked = Some(forked.clone());
        for task in self.tasks.values_mut().filter(|task| task.state == TaskWord::Running) {
            let open = task.attempts.iter_mut().filter(|attempt| attempt.ended_at.is_none());
            open.for_each(|attempt| attempt.ended_at = Some(at));
            if !task.attempts.is_empty() {
                task.state = TaskWord::Waiting;
            }
        }
    }

    /// What begins anew has run all the same; what is below it may not come again.
    fn supersede(&mut self, restarted: &[TaskId]) {
        let restarted: HashSet<&TaskId> = restarted.iter().collect();
        for (id, task) in &mut self.tasks {
            let mut around = std::iter::successors(Some(id.clone()), TaskId::parent);
            task.superseded |= around.any(|task| restarted.contains(&task));
        }
    }

    fn task(&mut self, id: &TaskId) -> &mut TaskReport {
        if !self.tasks.contains_key(id) {
            self.tasks.insert(id.clone(), TaskReport::default());
        }
        &mut self.tasks[id]
    }

    fn started(&mut self, id: &TaskId, at: Timestamp) {
        let task = self.task(id);
        (task.state, task.superseded) = (TaskWord::Running, false);
        task.started_at.get_or_insert(at);
    }

    fn attempt(&mut self, id: &TaskId, attempt: u32, at: Timestamp) {
        self.started(id, at);
        let usage = Usage::default();
        let report = AttemptReport {
            attempt,
            started_at: at,
            taken_by: None,
            ended_at: None,
            suspended: false,
            failure: None,
            partial: None,
            usage,
        };
        self.task(id).attempts.push(report);
    }

    fn attempt_taken(&mut self, id: &TaskId, pid: u32) {
        if let Some(attempt) = self.task(id).attempts.last_mut() {
            attempt.taken_by = Some(pid);
        }
    }

    fn attempt_ended(
        &mut self,
        id: &TaskId,
        at: Timestamp,
        usage: Usage,
        failure: Option<&Failure>,
        partial: Option<&Payload>,
    ) {
        self.usage += usage;
        let task = self.task(id);
        task.usage += usage;
        if let Some(attempt) = task.attempts.last_mut() {
            attempt.ended_at = Some(at);
            attempt.usage += usage;
            attempt.failure = failure.cloned();
            attempt.partial = partial.cloned();
        }
    }

    /// A turn is paid for whether or not its attempt comes to an end.
    fn turned(&mut self, id: &TaskId, usage: Usage) {
        self.usage += usage;
        let task = self.task(id);
        task.usage += usage;
        if let Some(attempt) = task.attempts.last_mut() {
            attempt.usage += usage;
        }
    }

    fn tool_called(&mut self, id: &TaskId, tool: &str, ms: u64, failed: bool) {
        let calls = self.task(id).tools.entry(tool.to_owned()).or_default();
        calls.calls += 1;
        calls.failed += u32::from(failed);
        calls.ms += ms;
    }

    fn asks(&mut self, id: &TaskId, ask: &Payload, at: Timestamp) {
        self.started(id, at);
        let task = self.task(id);
        task.state = TaskWord::Asking;
        task.ask = Some(ask.clone());
    }

    fn ended(&mut self, id: &TaskId, at: Timestamp, state: TaskWord) -> &mut TaskReport {
        let task = self.task(id);
        task.state = state;
        // What was skipped or stopped this time has nothing newer to tell.
        task.superseded &= matches!(state, TaskWord::Skipped | TaskWord::Cancelled);
        task.started_at.get_or_insert(at);
        task.ended_at = Some(at);
        task
    }

    fn finish(
        &mut self,
        status: RunStatus,
        output: &Option<Payload>,
        failure: &Option<Failure>,
        at: Timestamp,
    ) {
        self.status = Some(status);
        self.output = output.clone();
        self.failure = failure.clone();
        self.finished_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_was_lost_has_an_end_and_counts_what_it_used() {
        let (task, usage) = (TaskId("a".into()), Usage { calls: 2, input_tokens: 10, ..Usage::default() });
        let events = [
            Event::AttemptStarted { task: task.clone(), attempt: 1, lease: None },
            Event::AttemptLost { task: task.clone(), attempt: 1, usage },
            Event::AttemptStarted { task: task.clone(), attempt: 2, lease: None },
        ];
        let stamped = (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(seq), event });
        let report = fold(&stamped.collect::<Vec<_>>());
        let attempts = &report.tasks[&task].attempts;
        assert_eq!((attempts[0].ended_at, attempts[1].ended_at), (Some(Timestamp(2)), None));
        assert_eq!((report.usage, report.tasks[&task].usage, attempts[0].usage), (usage, usage, usage));
    }
}
