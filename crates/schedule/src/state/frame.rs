//! One instance of a workflow: the run itself, or a sub-workflow's task.
//!
//! A frame is the scope of names. What stands in it sees nothing of its parent but the inputs it was given.

use crate::composite::pipeline::PipelineState;
use crate::state::TaskIx;
use convoke_model::hash::HashMap;
use convoke_model::{Cause, Ending, HookPoint, Payload, Usage};
use convoke_plan::{NodeIx, WorkflowIx};

/// Index of a frame in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FrameIx(pub u32);

/// One instance of a workflow.
#[derive(Debug)]
pub(crate) struct Frame {
    pub workflow: WorkflowIx,
    /// The sub-workflow's task; none for the run itself.
    pub parent: Option<TaskIx>,
    /// How deep it stands; the run itself is 0.
    pub depth: u32,
    pub inputs: Payload,
    /// Steps (not members) that have not ended, those that wait for their needs included.
    pub live: u32,
    /// Steps that wait for their needs.
    pub waiting: u32,
    /// The step's task for each node that others need, and for each node with needs.
    pub needed: HashMap<NodeIx, TaskIx>,
    /// The newest finished task of each node.
    pub latest: HashMap<NodeIx, TaskIx>,
    /// Finished steps, in order of ending.
    pub history: Vec<TaskIx>,
    /// All steps.
    pub steps: Vec<TaskIx>,
    /// Visits per node; a new attempt of a sub-workflow goes on counting.
    pub visits: HashMap<NodeIx, u32>,
    /// What counts against `max_iterations`.
    pub iterations: u32,
    /// Why it ends early.
    pub ending: Option<FrameEnding>,
    /// Whether what is left was told to stop.
    pub swept: bool,
    /// What `$end` routes add to the output, in order.
    pub end_outputs: Vec<Payload>,
    pub usage: Usage,
    /// How many multiples of the budget were reported.
    pub budget_reports: u64,
    pub stage: Stage,
    /// Whether it stands on the agenda.
    pub listed: bool,
    /// Hooks whose text was rendered, or whose step ran.
    pub hooks_begun: Vec<HookPoint>,
    /// Notes that are made once.
    pub noted: Vec<&'static str>,
    /// Newest summary of older outputs: covers this many entries of the history.
    pub summary: Option<Summary>,
    /// What it keeps for its phases, where it is a pipeline.
    pub pipeline: PipelineState,
}

/// Where a frame stands between its first and last moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The `on_start` hook runs.
    Opening,
    /// Steps run.
    Working,
    /// The closing hook runs.
    Closing,
    /// It has ended.
    Closed,
}

/// A summary of older outputs that a model wrote.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub task: TaskIx,
    pub covers: usize,
}

/// Why a frame ends early.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FrameEnding {
    Stated(Ending),
    /// The sub-workflow's own task is cancelled.
    Cancelled(Cause),
    /// The run was stopped by a person or a signal.
    Stopped {
        now: bool,
    },
}

impl Frame {
    pub fn new(workflow: WorkflowIx, parent: Option<TaskIx>, depth: u32, inputs: Payload) -> Frame {
        Frame {
            workflow,
            parent,
            depth,
            inputs,
            live: 0,
            waiting: 0,
            needed: HashMap::default(),
            latest: HashMap::default(),
            history: Vec::new(),
            steps: Vec::new(),
            visits: HashMap::default(),
            iterations: 0,
            ending: None,
            swept: false,
            end_outputs: Vec::new(),
            usage: Usage::default(),
            budget_reports: 0,
            stage: Stage::Opening,
            listed: false,
            hooks_begun: Vec::new(),
            noted: Vec::new(),
            summary: None,
            pipeline: PipelineState::default(),
        }
    }

    /// How often a node was visited.
    pub fn visits(&self, node: NodeIx) -> u32 {
        self.visits.get(&node).copied().unwrap_or_default()
    }

    /// Counts against `max_iterations`; a journal may name more than can be counted.
    pub fn count_iterations(&mut self, more: u32) {
        self.iterations = self.iterations.saturating_add(more);
    }

    /// The number of the next visit of a node.
    pub fn visit(&mut self, node: NodeIx) -> u32 {
        let visits = self.visits.entry(node).or_insert(0);
        *visits += 1;
        *visits
    }
}
