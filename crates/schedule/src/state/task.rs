//! A node at run time.
//!
//! Tasks live in one table and are addressed by index; the id is for people and events. A task knows where it came
//! from (`from`), which is all that its context is made of.

use crate::composite::goal::ItemProgress;
use crate::composite::merge::Merging;
use crate::composite::pipeline::PhaseState;
use crate::state::{FrameIx, Group};
use convoke_model::hash::HashMap;
use convoke_model::{Cause, ChildSpec, Failure, Payload, TaskId, Timestamp, Usage};
use convoke_plan::NodeIx;
use std::sync::Arc;

/// Index of a task in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskIx(pub u32);

/// Index of the frames' and tasks' owner: where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The workflow instance.
    pub frame: FrameIx,
    /// The group that it is a member of.
    pub within: Option<TaskIx>,
    /// Its index in a for_each.
    pub item: Option<u32>,
}

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    pub id: TaskId,
    pub node: NodeIx,
    pub place: Place,
    /// The tasks that it follows: its needs, or the one whose route led here.
    pub from: Box<[TaskIx]>,
    /// Whether it was reached by an `on_error` route.
    pub after_error: bool,
    pub state: TaskState,
    /// Attempts started.
    pub attempts: u32,
    /// Attempts that came to nothing because they were cut off.
    pub cut_off: u32,
    /// Whether its last attempt was stopped in the middle and may not be repeated unasked: the next owner decides.
    pub outcome_unknown: bool,
    /// Whether a person decides about that, though the step says `fail`: it has failed for it already.
    pub asks_before_repeating: bool,
    /// Whether its command goes on without an engine, so that the next attempt attaches to it.
    pub detached: bool,
    /// Whether a probe is to find out what became of its last attempt.
    pub probe: ProbeState,
    /// Results of calls that are known before the turn is recorded that they belong to: attempt, key, result.
    pub known_results: Vec<(u32, Box<str>, Payload)>,
    /// Attempts that count against the retry policy.
    pub failures: u32,
    /// Whether the governor was asked for a permit.
    pub queued: bool,
    /// Whether it holds one of its group's places.
    pub placed: bool,
    /// Needs that ended as required, and needs that no longer can.
    pub met: u32,
    pub unmet: u32,
    pub output: Option<Payload>,
    pub failure: Option<Box<Failure>>,
    /// Why it was told to stop, or did not run, once that is so.
    pub cancelling: Option<Box<Cause>>,
    /// The conversation so far, piece by piece, for the attempt that goes on with it.
    pub turns: Vec<Payload>,
    /// Conversations that came to nothing, piece by piece: what they did has happened.
    pub past: Vec<Payload>,
    /// A person's answer that was not acted on yet, or that settled the task.
    pub answer: Option<Payload>,
    /// What people said to it on its way.
    pub guidance: Vec<String>,
    /// What a person is asked.
    pub ask: Option<Payload>,
    /// Whether the sub-queries of its attempt are still to be asked.
    pub has_open_queries: bool,
    pub group: Option<Box<Group>>,
    /// What it merges, for reduce and verify.
    pub merging: Option<Arc<Merging>>,
    /// What it was spawned for, for a child of a composite task.
    pub spec: Option<Arc<ChildSpec>>,
    /// How the work on it went, for tasks of a goal and their roles.
    pub progress: Option<Box<ItemProgress>>,
    /// What its own attempts used.
    pub usage: Usage,
    /// The workflow instance that it runs, for sub-plans.
    pub frame: Option<FrameIx>,
    pub started: Option<Timestamp>,
    /// Order of ending, for histories.
    pub ended: u32,
    /// A failure that an `on_error` route or a tolerant edge took care of.
    pub handled: bool,
    /// Whether its branch has gone on from here.
    pub followed: bool,
    /// The step that waits for this summary.
    pub summary_for: Option<TaskIx>,
    /// Whether it is a hook: its failure is told and changes nothing.
    pub hook: bool,
    /// How far it has come, where edges lead to it or it is a phase.
    pub phase_state: Option<Box<PhaseState>>,
}

/// How far the question has come whether a task's effect happened.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum ProbeState {
    /// There is no such question.
    #[default]
    None,
    /// It is asked next.
    Due,
    /// It is being asked.
    Asked,
    /// It happened; this is the output.
    Happened(Payload),
    /// The probe could not say, for this reason.
    Unclear(Box<str>),
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Its needs have not ended yet.
    Waiting,
    /// It could start, but its group has no place free.
    Held,
    /// It can start.
    Ready,
    /// An attempt runs.
    Running,
    /// An attempt ended badly and what follows is not decided yet.
    Failing,
    /// Its members or its workflow run.
    Open,
    /// It waits for a moment.
    Timed(Timestamp),
    /// It waits for another attempt.
    Backoff(Timestamp),
    /// It waits for a person.
    Asking,
    /// It has ended.
    Ended(End),
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// With an output.
    Succeeded,
    /// With a failure.
    Failed,
    /// Without having run.
    Skipped,
    /// It was stopped.
    Cancelled,
}

impl Task {
    pub fn is_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended(_))
    }

    pub fn succeeded(&self) -> bool {
        self.state == TaskState::Ended(End::Succeeded)
    }
}

/// All tasks of a run.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    all: Vec<Task>,
    by_id: HashMap<TaskId, TaskIx>,
}

impl Tasks {
    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) {
        self.all.reserve(more);
        self.by_id.reserve(more);
    }

    pub fn add(&mut self, id: TaskId, node: NodeIx, place: Place, from: Box<[TaskIx]>) -> TaskIx {
        let ix = TaskIx(self.all.len() as u32);
        self.by_id.insert(id.clone(), ix);
        self.all.push(Task {
            id,
            node,
            place,
            from,
            after_error: false,
            state: TaskState::Waiting,
            attempts: 0,
            failures: 0,
            cut_off: 0,
            outcome_unknown: false,
            asks_before_repeating: false,
            detached: false,
            probe: ProbeState::None,
            known_results: Vec::new(),
            queued: false,
            placed: false,
            met: 0,
            unmet: 0,
            output: None,
            failure: None,
            cancelling: None,
            turns: Vec::new(),
            past: Vec::new(),
            answer: None,
            guidance: Vec::new(),
            ask: None,
            has_open_queries: false,
            group: None,
            merging: None,
            spec: None,
            progress: None,
            usage: Usage::default(),
            frame: None,
            started: None,
            ended: 0,
            handled: false,
            followed: false,
            summary_for: None,
            hook: false,
            phase_state: None,
        });
        ix
    }

    pub fn find(&self, id: &TaskId) -> Option<TaskIx> {
        self.by_id.get(id).copied()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn indices(&self) -> impl Iterator<Item = TaskIx> + use<> {
        (0..self.all.len() as u32).map(TaskIx)
    }
}

impl std::ops::Index<TaskIx> for Tasks {
    type Output = Task;
    fn index(&self, ix: TaskIx) -> &Task {
        &self.all[ix.0 as usize]
    }
}

impl std::ops::IndexMut<TaskIx> for Tasks {
    fn index_mut(&mut self, ix: TaskIx) -> &mut Task {
        &mut self.all[ix.0 as usize]
    }
}
