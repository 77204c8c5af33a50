//! What happened. A run is the fold of these.
//!
//! Facts (an attempt finished, a person answered) come from outside; decisions (a route was taken, a task is skipped)
//! are made by the scheduler and are events as well, so that a journal can be read back by a program that would decide
//! otherwise. Every event is on disk before anything follows from it. Before adding a field: a new reader meets old
//! data (give it `serde(default)`), and an old reader meets new data (unknown fields are ignored, unknown events are an
//! error that names the version to use).

mod cause;
mod goal;
mod limit;
mod phase;
mod run;
mod stamped;
mod step;

pub use cause::{Cause, CauseKind, Ending};
pub use goal::{GoalChoice, GoalDecided};
pub use limit::{BudgetAction, BudgetSpent, LimitAdapted, LimitReason, LimitSetting, LimitsSeen};
pub use phase::{PhaseChoice, PhaseDecided, PhaseStatus, Superseded};
pub use run::{
    Affected, Base, BaseKind, GOAL, PlanChanged, RunForked, RunReopened, RunStarted, RunStatus, SetOutput,
    TakenFrom,
};
pub use stamped::Stamped;
pub use step::{HookPoint, MergeStrategy};

use crate::{
    AnswerSource, ChildSpec, Digest, EffectKind, Failure, Missing, ModelCall, Payload, ProbeVerdict, TaskId,
    Timestamp, Uptime, Usage, WaitsFor, WorkspaceConflicted, WorkspaceLeased, WorkspaceRemains,
    WorkspaceSealed,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// What a question is that does not say: journals from before questions had numbers.
fn first_question() -> u32 {
    1
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
        /// What the machine's clock said at the time of this event. The next owner on the same boot goes on by it, whatever the date.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uptime: Option<Uptime>,
    },
    /// The machine was suspended while the run was driven: limits of time stood still, waits went on.
    MachineSlept {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// A run that had ended is open again: what failed or was cancelled gets another chance.
    RunReopened(RunReopened),
    /// A changed workflow file was accepted.
    PlanChanged(PlanChanged),
    /// The events before this one are a copy of another run's, and the run goes on from there.
    RunForked(Box<RunForked>),
    /// A task takes an output instead of making one: it held no permit and cost nothing.
    OutputTaken {
        /// The task.
        task: TaskId,
        /// The output.
        output: Payload,
        /// Where it comes from.
        from: TakenFrom,
    },
    /// A task of a run that reuses another one's outputs has to run.
    TaskAffected {
        /// The task.
        task: TaskId,
        /// Why.
        because: Vec<Affected>,
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
        /// How.
        strategy: MergeStrategy,
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
    /// What comes next on the way to a goal: a decision, with its reason.
    GoalDecided(GoalDecided),
    /// Whether a phase starts: a decision, with its reason.
    PhaseDecided(PhaseDecided),
    /// A person says something to a live run; every later prompt of its goals has it.
    Guided {
        /// The words.
        text: String,
        /// The person.
        by: String,
    },
    /// A person says something to the agent of one task; its next turn has it, beside the task that it has.
    TaskGuided {
        /// The task.
        task: TaskId,
        /// The words.
        text: String,
        /// The person.
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
        /// Process id of the performer.
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
        /// It goes on when the engine dies.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        survives: bool,
    },
    /// An effect is about to be made: on disk before it is. The end of its attempt commits what a step does itself; the calls
    /// of an agent are committed one by one.
    EffectClaimed {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The idempotency key of the effect.
        key: String,
        /// What makes it.
        kind: EffectKind,
        /// The command or the tool, short.
        what: String,
    },
    /// The outcome of an agent's call is known.
    EffectCommitted {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The idempotency key of the call.
        key: String,
        /// Whether it went wrong.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// What came of it, until the turn that it belongs to is recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Payload>,
    },
    /// The engine let go of a command that goes on without it; the next attempt attaches to it or takes its recorded result.
    AttemptDetached {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
    },
    /// A probe is about to find out whether the effect of a cut-off attempt happened.
    ProbeStarted {
        /// The task.
        task: TaskId,
        /// The number of the probe among the task's attempts.
        attempt: u32,
        /// The idempotency key of the effect.
        key: String,
        /// The fencing token of the lease that covers it, where processes share capacity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<u64>,
    },
    /// A probe has answered.
    EffectProbed {
        /// The task.
        task: TaskId,
        /// The number of the probe among the task's attempts.
        attempt: u32,
        /// The idempotency key of the effect.
        key: String,
        /// What it says.
        verdict: ProbeVerdict,
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
    /// A model was called. Told where runs are traced, and of nothing else: what was spent is counted by the attempt's own events.
    ModelCalled {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The call, which has ended.
        call: Box<ModelCall>,
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
    /// The engine died while the attempt ran, or lost its lease; how far it came is unknown.
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
        /// The task that asks.
        task: TaskId,
        /// Which of its questions this is, from 1; with the task it is the gate's id ([`GateId`](crate::GateId)).
        #[serde(default = "first_question")]
        question: u32,
        /// The question: see [`Ask`](crate::Ask).
        ask: Payload,
        /// The hash of what is shown: [`Ask::shown`](crate::Ask::shown).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Digest>,
        /// When the time to answer is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// A person answered, or a rule did in their place.
    GateAnswered {
        /// The task that asked.
        task: TaskId,
        /// Which of its questions.
        #[serde(default = "first_question")]
        question: u32,
        /// The answer: see [`Answer`](crate::Answer).
        answer: Payload,
        /// The person or rule that answered.
        by: String,
        /// Where the answer came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Box<AnswerSource>>,
    },
    /// What a task's work will be compared with; before the work begins, and once for all attempts of the task.
    ProofBegun {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What stands in the files that its conditions are about.
        baseline: Payload,
    },
    /// The parts of a task have ended well and came to this output. It counts once its conditions hold.
    ProofDue {
        /// The task.
        task: TaskId,
        /// What it is to succeed with.
        output: Payload,
    },
    /// The conditions of a task were checked: its agent, its command or its tool says that the work is done, or its parts have ended.
    ProofChecked {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// Which check: an attempt that goes on does not make it again.
        check: String,
        /// Whether everything holds.
        held: bool,
        /// What was found about each condition: a list of [`ProofFinding`](crate::ProofFinding).
        findings: Payload,
    },
    /// A task has a workspace of its own; before the attempt that works in it does anything.
    WorkspaceLeased(Box<WorkspaceLeased>),
    /// The work in a workspace is done, and is about to come back.
    WorkspaceSealed(Box<WorkspaceSealed>),
    /// Work meets a conflict on its way back.
    WorkspaceConflicted(Box<WorkspaceConflicted>),
    /// Work is back.
    WorkspaceMerged {
        /// Whose workspace it is.
        task: TaskId,
        /// The branch that has it, or the file that describes it.
        into: String,
        /// The commit that is there now.
        commit: String,
    },
    /// A workspace was let go of, and this stays of it.
    WorkspaceKept {
        /// Whose it was.
        task: TaskId,
        /// What stays.
        remains: WorkspaceRemains,
    },
    /// A workspace was let go of, and nothing stays of it.
    WorkspaceReleased {
        /// Whose it was.
        task: TaskId,
    },
    /// A ready task waits for capacity (recorded on change only).
    Blocked {
        /// The task.
        task: TaskId,
        /// The resource it waits for.
        on: String,
    },
    /// A provider said how much it allows; for the governor.
    LimitsSeen(LimitsSeen),
    /// A limit was adapted to how calls fared.
    LimitAdapted(LimitAdapted),
    /// More was spent than the budget says.
    BudgetExceeded {
        /// Millionths of a US dollar spent.
        spent_micros: u64,
        /// Millionths of a US dollar allowed.
        budget_micros: u64,
    },
    /// What a call can cost at worst was set aside in every budget that its task is under; the call is made after this is
    /// on disk. It counts until the usage is known that comes with the attempt's next turn record or end.
    CallReserved {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The worst case.
        worst: Usage,
    },
    /// The outcome of calls is unknown, and they may have to be paid: their worst case counts as spent.
    CallLost {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The worst case of all of them.
        worst: Usage,
    },
    /// A budget could not pay a call, or one that only reports was passed. Told once, until the budget is raised.
    BudgetSpent(BudgetSpent),
    /// A model writes a summary of older outputs; the step waits for it.
    SummaryStarted {
        /// The step that would see too much.
        task: TaskId,
        /// The steps whose outputs are summarised, oldest first.
        covers: Vec<TaskId>,
        /// The task that writes it, where the workflow has a node for summaries.
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
        /// Which: `on_complete` or `on_error`.
        hook: HookPoint,
    },
    /// A hook's text was rendered.
    HookRendered {
        /// The sub-workflow's task; absent for the run itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<TaskId>,
        /// Which.
        hook: HookPoint,
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
    /// The run was asked to stop.
    StopRequested {
        /// At once, without letting attempts finish.
        now: bool,
        /// The person or signal that asked.
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
