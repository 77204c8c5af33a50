//! What happened. A run is the fold of these.
//!
//! Facts (an attempt finished, a person answered) come from outside; decisions (a route was taken, a task is skipped)
//! are made by the scheduler and are events as well, so that a journal can be read back by a program that would decide
//! otherwise. Every event is on disk before anything follows from it. Before adding a field: a new reader meets old
//! data (give it `serde(default)`), and an old reader meets new data (unknown fields are ignored, unknown events are an
//! error that names the version to use).

mod cause;
mod run;

pub use cause::{Cause, CauseKind, Ending};
pub use run::{GOAL, RunStarted, RunStatus};

use crate::{ChildSpec, Digest, Failure, Missing, Payload, TaskId, Timestamp, Usage, WaitsFor};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// An event with its place in the journal and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// Its number in the journal, from 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// A phase that ran before its run was opened again, and then began anew: what it came to is told all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// The phase.
    pub task: TaskId,
    /// Which of its runs, from 1.
    pub run: u32,
    /// What it came to.
    pub status: String,
    /// The tries that it had.
    pub tries: u32,
    /// What was done in them against contracts, as the result tells it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<serde_json::Value>,
}

/// Everything that can happen to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run exists. Always the first event.
    RunStarted(Box<RunStarted>),
    /// A process drives the run from here on.
    RunOwned {
        /// How many owners there have been, this one included.
        epoch: u64,
        /// Its process id.
        pid: u32,
        /// The machine.
        host: String,
    },
    /// A run that had ended is open again: what failed or was cancelled gets another chance.
    RunReopened {
        /// The tasks that are open again; what they finished below them stays.
        tasks: Vec<TaskId>,
        /// The tasks that begin anew, with everything below them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        restarted: Vec<TaskId>,
        /// Phases that had failed: they get new tries, behind those they had. One that was stopped goes on with its own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retried: Vec<TaskId>,
        /// Phases that ran and begin anew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        superseded: Vec<Superseded>,
        /// Goals and tasks of goals that are done again: what was decided about them after they last asked somebody
        /// who stays asked is forgotten.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rewound: Vec<TaskId>,
        /// The tasks that wait for a person again, with the question that they asked last. Of all others no question is open.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asking: Vec<TaskId>,
    },
    /// A changed workflow file was accepted.
    PlanChanged {
        /// The plan from here on.
        plan: Digest,
        /// Tasks that run again, with everything below them.
        dropped: Vec<TaskId>,
        /// Groups that are open again because of some of their members; what is unchanged below them stays.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<TaskId>,
        /// Phases that ran and begin anew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        superseded: Vec<Superseded>,
        /// The tasks that wait for a person from here on, with the question that they asked last.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asking: Vec<TaskId>,
    },
    /// A task that is not an attempt began: a group, a sub-workflow, a wait.
    TaskStarted {
        /// Which.
        task: TaskId,
        /// When a wait is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// What a sub-workflow is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inputs: Option<Payload>,
    },
    /// A for_each knows its items.
    FannedOut {
        /// The for_each.
        task: TaskId,
        /// How many items there are.
        count: u32,
        /// The list itself.
        items: Payload,
        /// The keys, where `key_by` names them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keys: Option<Vec<String>>,
    },
    /// A reduce task begins: what it merges, and how.
    MergeStarted {
        /// The task.
        task: TaskId,
        /// The strategy, as files name it.
        strategy: String,
        /// Whose outputs, in order; a progressive merge takes more as they arrive.
        sources: Vec<TaskId>,
        /// Whose outputs it does without.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<Missing>,
        /// Nothing more is waited for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        closed: bool,
    },
    /// A merge comes to its end without some outputs that it had begun with.
    OutputsMissed {
        /// The task.
        task: TaskId,
        /// Which, and why.
        missing: Vec<Missing>,
    },
    /// A composite task has spawned children.
    ChildrenSpawned {
        /// The task.
        task: TaskId,
        /// In this order.
        children: Vec<ChildSpec>,
    },
    /// Who does what next on the way to a goal, or whether a phase starts: a decision, with its reason.
    Routed {
        /// The goal or phase that it is decided for.
        task: TaskId,
        /// What comes next: a role, `start`, `skip`, `spawn`, `end`, …
        chosen: String,
        /// Why.
        reason: String,
        /// The task that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<TaskId>,
        /// Who is to do it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// Of a phase that starts: where the edges come from that were taken.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<TaskId>,
    },
    /// A person says something to a live run; whoever is asked from here on hears it.
    Guided {
        /// The words.
        text: String,
        /// Who.
        by: String,
    },
    /// A phase changed what the run keeps for its later phases.
    StateChanged {
        /// The phase.
        task: TaskId,
        /// Flags that were set or cleared.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        flags: IndexMap<String, bool>,
        /// Values that were set; null takes one away.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        metadata: IndexMap<String, serde_json::Value>,
    },
    /// Something happened in the world that the pipeline is about (a domain event); it may start phases.
    Announced {
        /// The phase that says so.
        task: TaskId,
        /// In which try.
        attempt: u32,
        /// What: `validation_passed`, `tasks_planned`, …
        kind: String,
        /// Whether it follows from the phase's status; else its worker said so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        implied: bool,
        /// What is said about it.
        payload: Payload,
    },
    /// Files that a decision depends on were looked for.
    FilesSeen {
        /// The phase that the decision is about.
        task: TaskId,
        /// Those that exist.
        present: Vec<String>,
        /// Those that do not.
        absent: Vec<String>,
    },
    /// What the runs of a project share, as it was when the run began or after a phase had changed it.
    ProjectSeen {
        /// The phase whose changes are in it; absent at the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Which state of it.
        revision: u64,
        /// The whole of it.
        context: Payload,
        /// Where it is kept, where that is not the project's usual place.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
    },
    /// What an attempt may do and use; before its start.
    ContractResolved {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The contract.
        contract: crate::Contract,
    },
    /// An attempt holds its permit and is about to be launched.
    AttemptStarted {
        /// The task that is tried.
        task: TaskId,
        /// Which try.
        attempt: u32,
        /// The fencing token of the lease that covers it, where processes share capacity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<u64>,
    },
    /// The servers have said which tools there are: of these an attempt may use so many, whatever they offer later. Before
    /// its first call.
    ToolsSettled {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Their full names, sorted: the contract's from here on.
        allowed_tools: Vec<String>,
    },
    /// Another process performs the attempt; everything else about it stays here.
    AttemptTaken {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Process id of who performs it.
        pid: u32,
    },
    /// An attempt's child process runs; resume looks for leftovers by this.
    ProcessStarted {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Process id, which is also its group's.
        pid: u32,
        /// Start time as the kernel counts it, so that a reused id is not mistaken.
        start: u64,
    },
    /// An attempt wrote down how far its conversation has come; another attempt would go on from here.
    TurnRecorded {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What is new since the last piece.
        piece: Payload,
        /// Large values that the conversation can come back to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<Digest>,
        /// What was used since the last piece.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
    },
    /// A tool was called.
    ToolCalled {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The tool, as the model knows it.
        tool: String,
        /// How long it took.
        ms: u64,
        /// Whether it went wrong.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// An attempt succeeded, and with it its task.
    AttemptFinished {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The output.
        output: Payload,
        /// What it used.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
    },
    /// An attempt failed.
    AttemptFailed {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Why.
        failure: Failure,
        /// What it used.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
        /// What was there when it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Payload>,
    },
    /// An attempt waits for something and gave its permit back.
    AttemptSuspended {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What it needs to go on.
        state: Payload,
        /// What it waits for.
        waits_for: WaitsFor,
        /// What it used so far.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
    },
    /// The engine died while the attempt ran, or lost its lease; nobody knows how far it came.
    AttemptLost {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What it had used, as far as that is known.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
    },
    /// The process was away for so long (stopped, asleep) that a lease ran out; its connections were dropped.
    Fenced {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The fencing token of the lease.
        lease: u64,
    },
    /// The task is tried again, not before this time.
    RetryScheduled {
        /// The task.
        task: TaskId,
        /// When.
        at: Timestamp,
    },
    /// A task's back-off is over, or a person told it to go on.
    TaskWoken {
        /// The task.
        task: TaskId,
    },
    /// A task without an attempt of its own succeeded.
    TaskSucceeded {
        /// The task.
        task: TaskId,
        /// The output.
        output: Payload,
    },
    /// A task failed for good.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Why.
        failure: Failure,
    },
    /// A task will not run.
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// Because of what.
        cause: Cause,
    },
    /// A running task was told to stop.
    CancelRequested {
        /// The task.
        task: TaskId,
        /// Because of what.
        cause: Cause,
    },
    /// A task was stopped.
    TaskCancelled {
        /// The task.
        task: TaskId,
        /// Because of what.
        cause: Cause,
    },
    /// A task's branch goes on, or ends.
    RouteTaken {
        /// The task that ended.
        from: TaskId,
        /// The next task; absent at `$end`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<TaskId>,
        /// Values that a `$end` route adds to the workflow's output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// Whether an `on_error` route was taken.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        on_error: bool,
    },
    /// A workflow of the run comes to its end before its branches do: what is left of it is cancelled.
    WorkflowEnding {
        /// The sub-workflow's task; absent for the run itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<TaskId>,
        /// Why.
        ending: Ending,
    },
    /// A person is asked something.
    GateOpened {
        /// The gate.
        task: TaskId,
        /// The question: see [`Ask`](crate::Ask).
        ask: Payload,
    },
    /// A person answered.
    GateAnswered {
        /// The gate.
        task: TaskId,
        /// The answer: see [`Answer`](crate::Answer).
        answer: Payload,
        /// Who or what answered.
        by: String,
    },
    /// A ready task waits for capacity (recorded on change only).
    Blocked {
        /// The task.
        task: TaskId,
        /// The resource it waits for.
        on: String,
    },
    /// A provider said how much it allows; for the governor.
    LimitsSeen {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// Requests per window, and how many are left.
        requests: [Option<u64>; 2],
        /// Tokens per window, and how many are left.
        tokens: [Option<u64>; 2],
    },
    /// A limit was adapted to how calls fared.
    LimitAdapted {
        /// Of what: `model:openai/gpt-5`.
        resource: String,
        /// `limit`: how many at once; `paused_until`: the moment before which nobody starts, in microseconds.
        setting: String,
        /// From this.
        from: u64,
        /// To this.
        to: u64,
        /// Why: `rate_limited`, `overloaded`, `timed_out`, `recovered`, `breaker_opened`, …
        reason: String,
    },
    /// More was spent than the budget says.
    BudgetExceeded {
        /// Millionths of a US dollar spent.
        spent_micros: u64,
        /// Millionths of a US dollar allowed.
        budget_micros: u64,
    },
    /// What a call can cost at worst was set aside in every budget that its task is under; the call is made after this is
    /// on disk. It counts until the usage is known that comes with the attempt's next page or end.
    CallReserved {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The worst case.
        worst: Usage,
    },
    /// Nobody knows what became of calls that were made, and they may have to be paid: their worst case counts as spent.
    CallLost {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The worst case of all of them.
        worst: Usage,
    },
    /// A budget could not pay a call, or one that only reports was passed. Told once, until the budget is raised.
    BudgetSpent {
        /// The budget, such as `budget of the day (money)`.
        budget: String,
        /// What is spent of it and reserved, in millionths of a US dollar or in tokens.
        used: u64,
        /// How much it allows.
        limit: u64,
        /// What follows: `stop`, `degrade`, `ask`, or `report` if it only reports.
        then: String,
    },
    /// A model writes a summary of older outputs; the step waits for it.
    SummaryStarted {
        /// The step that would see too much.
        task: TaskId,
        /// The steps whose outputs are summarised, oldest first.
        covers: Vec<TaskId>,
        /// The task that writes it; older journals do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<TaskId>,
    },
    /// A node's context was made smaller.
    ContextTrimmed {
        /// The task whose context it is.
        task: TaskId,
        /// How: drop_oldest, truncate, summarize.
        strategy: String,
        /// Which outputs are no longer whole.
        steps: Vec<String>,
    },
    /// A hook's step begins at the end of its workflow.
    HookStarted {
        /// The sub-workflow's task; absent for the run itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<TaskId>,
        /// on_complete or on_error.
        hook: String,
    },
    /// A hook's text was rendered.
    HookRendered {
        /// The sub-workflow's task; absent for the run itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<TaskId>,
        /// on_start, on_complete, on_error.
        hook: String,
        /// The text, or why it could not be rendered.
        text: String,
        /// Whether rendering failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// Something a person should know, that changes nothing.
    Noted {
        /// The task it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// A stable word, such as `validator_failed`.
        code: String,
        /// The words.
        message: String,
    },
    /// Somebody asked the run to stop.
    StopRequested {
        /// At once, without letting attempts finish.
        now: bool,
        /// Who asked.
        by: String,
    },
    /// Nothing is left to do until a person answers.
    RunParked {
        /// The gates that wait.
        waiting: Vec<TaskId>,
    },
    /// The owner let go of the run before its end.
    RunInterrupted {
        /// What interrupted it.
        by: String,
    },
    /// The run has ended.
    RunFinished {
        /// How.
        status: RunStatus,
        /// The workflow's output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}
