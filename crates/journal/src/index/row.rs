//! What a listing says about a run, as a fold of its events.

use crate::Blocked;
use convoke_model::excerpt::{clipped, one_line};
use convoke_model::{
    Absences, Event, Payload, PlanChanged, RunId, RunStarted, RunStatus, Stamped, TaskId, Timestamp, Usage,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    /// The run's name.
    pub id: RunId,
    /// The workflow's name; of a sentence, with its beginning.
    pub workflow: String,
    /// The workflow file, as it was given.
    pub file: String,
    /// The folder it was started in.
    pub folder: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long processes drove it until its last event, in milliseconds.
    pub worked_ms: u64,
    /// When its last event happened.
    pub last_at: Timestamp,
    /// What it has used.
    pub usage: Usage,
    /// Attempts that have no end yet. Nothing runs any more where no process drives the run.
    pub running: u64,
    /// Tasks known so far.
    pub total: u64,
    /// Tasks that succeeded.
    pub done: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// The process that drives it, or did last.
    pub pid: Option<u32>,
    /// What of the machine it waits for, where it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// The number of its last event.
    pub events: u64,
    /// The run that it was forked from, or takes outputs of. That one is kept for as long as this one is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<RunId>,
    /// Why its journal could not be read to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The line of a run with these events. Whether its owner is alive is not in them: such a run is `Running`.
pub fn summarize<'a>(run: &RunId, events: impl IntoIterator<Item = &'a Stamped>) -> RunRow {
    let mut summary = Summary::new(run);
    events.into_iter().for_each(|event| summary.add(event));
    summary.row()
}

/// Characters of a sentence that a line has room for.
const SENTENCE: usize = 48;

/// The beginning of a sentence, in one line.
fn head(sentence: &str) -> String {
    clipped(&one_line(sentence), SENTENCE)
}

/// Characters of a run's inputs that a search looks at.
const INPUTS: usize = 2_000;

/// What the user attached to the run, and the beginning of what it was given.
fn words(started: &RunStarted) -> String {
    let metadata = started.metadata.iter().map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key}={text}\n"),
        None => format!("{key}={value}\n"),
    });
    let inputs = match &started.inputs {
        Payload::Inline(inputs) => clipped(inputs.as_str(), INPUTS),
        _ => String::new(),
    };
    metadata.collect::<String>() + &inputs
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Task {
    Open,
    Running,
    Done,
    Failed,
}

/// A line in the making. It can be put aside and gone on with when there are more events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Summary {
    row: RunRow,
    /// What a search looks at besides the line.
    words: String,
    tasks: HashMap<TaskId, Task>,
    absences: Absences,
}

impl Summary {
    pub fn new(run: &RunId) -> Summary {
        let row = RunRow {
            id: run.clone(),
            workflow: String::new(),
            file: String::new(),
            folder: String::new(),
            status: RunStatus::Running,
            started_at: Timestamp(0),
            finished_at: None,
            worked_ms: 0,
            last_at: Timestamp(0),
            usage: Usage::default(),
            running: 0,
            total: 0,
            done: 0,
            failed: 0,
            pid: None,
            blocked: None,
            events: 0,
            base: None,
            problem: None,
        };
        Summary { row, words: String::new(), tasks: HashMap::new(), absences: Absences::default() }
    }

    pub fn add(&mut self, stamped: &Stamped) {
        self.absences.take(stamped);
        self.row.last_at = stamped.at;
        self.row.events = stamped.seq;
        self.add_run(stamped);
        self.add_task(&stamped.event);
        self.add_usage(&stamped.event);
    }

    /// The number of the last event that was added.
    pub fn events(&self) -> u64 {
        self.row.events
    }

    /// What a search looks at, in small letters.
    pub fn words(&self) -> String {
        let RunRow { id, workflow, file, folder, .. } = &self.row;
        [&id.0, workflow.as_str(), file, folder, &self.words].join("\n").to_lowercase()
    }

    pub fn row(mut self) -> RunRow {
        let count = |state| self.tasks.values().filter(|task| **task == state).count() as u64;
        (self.row.done, self.row.failed) = (count(Task::Done), count(Task::Failed));
        let is_live = self.row.status == RunStatus::Running;
        self.row.running = if is_live { count(Task::Running) } else { 0 };
        let end = self.row.finished_at.unwrap_or(self.row.last_at);
        self.row.worked_ms = self.absences.worked(self.row.started_at, end).as_millis() as u64;
        self.row.total = self.tasks.len() as u64;
        self.row
    }

    fn add_run(&mut self, stamped: &Stamped) {
        let row = &mut self.row;
        match &stamped.event {
            Event::RunStarted(started) => {
                row.workflow = match started.sentence() {
                    Some(sentence) => format!("{}: {}", started.workflow, head(sentence)),
                    None => started.workflow.clone(),
                };
                row.file.clone_from(&started.file);
                row.folder.clone_from(&started.folder);
                row.started_at = stamped.at;
                self.words = words(started);
                row.base = started.base.as_ref().map(|base| base.run.clone());
            }
            // Time and spending before this are the base's.
            Event::RunForked(_) => {
                (row.started_at, row.usage) = (stamped.at, Usage::default());
                (row.status, row.finished_at) = (RunStatus::Running, None);
            }
            Event::RunOwned { pid, .. } => row.pid = Some(*pid),
            Event::RunReopened { .. } => (row.status, row.finished_at) = (RunStatus::Running, None),
            Event::RunParked { .. } => row.status = RunStatus::Parked,
            Event::RunInterrupted { .. } => row.status = RunStatus::Interrupted,
            Event::RunFinished { status, .. } => (row.status, row.finished_at) = (*status, Some(stamped.at)),
            Event::Noted { .. } | Event::HookRendered { .. } | Event::MachineSlept { .. } => {}
            _ if row.status.is_end() => {}
            _ => row.status = RunStatus::Running,
        }
    }

    fn add_task(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted { task, .. } | Event::ProbeStarted { task, .. } => {
                self.set(task, Task::Running)
            }
            Event::TaskStarted { task, .. }
            | Event::AttemptFailed { task, .. }
            | Event::AttemptSuspended { task, .. }
            | Event::AttemptLost { task, .. }
            | Event::AttemptDetached { task, .. }
            | Event::EffectProbed { task, .. }
            | Event::GateOpened { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => self.set(task, Task::Open),
            Event::AttemptFinished { task, .. }
            | Event::TaskSucceeded { task, .. }
            | Event::OutputTaken { task, .. } => self.set(task, Task::Done),
            Event::TaskFailed { task, .. } => self.set(task, Task::Failed),
            Event::RunReopened(reopened) => {
                reopened.tasks.iter().for_each(|task| self.set(task, Task::Open));
            }
            Event::RunForked(forked) => self.fork(&forked.change),
            _ => {}
        }
    }

    fn add_usage(&mut self, event: &Event) {
        match event {
            Event::AttemptFinished { usage, .. }
            | Event::AttemptFailed { usage, .. }
            | Event::AttemptSuspended { usage, .. }
            | Event::AttemptLost { usage, .. }
            | Event::TurnRecorded { usage, .. } => self.row.usage += *usage,
            _ => {}
        }
    }

    /// What ran in the base does not run here, and what is done again is not done.
    fn fork(&mut self, change: &PlanChanged) {
        let runs = self.tasks.values_mut().filter(|task| **task == Task::Running);
        runs.for_each(|task| *task = Task::Open);
        change.dropped.iter().chain(&change.opened).for_each(|task| self.set(task, Task::Open));
    }

    fn set(&mut self, task: &TaskId, state: Task) {
        self.tasks.insert(task.clone(), state);
    }
}
