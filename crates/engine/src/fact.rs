//! What reaches the engine from outside, each with its time.

use crate::capacity::terms::{Fence, RequestNo};
use convoke_agent::{Admitted, CallDemand, LetGo, Looked, Report, TurnRecord};
use convoke_govern::{Knowledge, Outcome};
use convoke_journal::{MessageId, Reply};
use convoke_model::{AttemptEnd, Failure, LimitReason, ProofTold, TaskId, Timestamp, Usage, WorkspaceTold};
use convoke_schedule::TaskIx;
use std::time::Duration;
use tokio::sync::oneshot;

/// Something that happened.
#[derive(Debug)]
pub struct Fact {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug)]
pub enum What {
    /// An attempt ended.
    Ended {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// How.
        end: AttemptEnd,
    },
    /// An attempt has something to say.
    Reported {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What it says.
        report: Report,
    },
    /// An attempt asks for a call to a model.
    CallAsked {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What the call needs.
        demand: CallDemand,
        /// Told whether it may be made.
        reply: CallReply,
    },
    /// An attempt's call has ended, or was given up.
    CallEnded {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What it used; `None` where that is unknown.
        usage: Option<Usage>,
        /// How it fared, as far as capacity is concerned.
        outcome: Outcome,
    },
    /// A fact about the capacity that all processes share.
    Capacity(CapacityFact),
    /// An attempt wants to have a part of its conversation on disk before it goes on.
    Turned {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What to write down.
        record: TurnRecord,
        /// Told once it is.
        written: oneshot::Sender<()>,
    },
    /// An attempt knows its tools, and wants that to be on disk before it asks anybody.
    ToolsSettled {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// Their full names.
        allowed: Vec<String>,
        /// Told once it is.
        written: oneshot::Sender<()>,
    },
    /// An attempt says what became of a workspace, and wants that to be on disk before it goes on.
    Workspace {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// Whose workspace it is.
        owner: TaskId,
        /// What became of it.
        told: Box<WorkspaceTold>,
        /// Told once it is.
        written: oneshot::Sender<()>,
    },
    /// An attempt tells what its work is compared with, or what a check found, and wants that to be on disk before it goes on.
    Proof {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What it tells.
        told: Box<ProofTold>,
        /// Told once it is.
        written: oneshot::Sender<()>,
    },
    /// The work of a task that has parts was looked at.
    ProofLooked {
        /// The task.
        task: TaskIx,
        /// What was seen, or why nothing could be looked at.
        seen: Box<Looked>,
    },
    /// A task's workspace was let go of; or its work could not be brought back before.
    WorkspaceLeft {
        /// The task.
        task: TaskIx,
        /// What became of it.
        left: LetGo,
    },
    /// A person answered a gate.
    Answered {
        /// The answer, with what it is bound to and where it comes from.
        reply: Box<Reply>,
        /// When it was left for the run.
        sent: Timestamp,
        /// The inbox message that brought it.
        message: Option<MessageId>,
    },
    /// A person says something to the run.
    Guided {
        /// The task that it is meant for; `None`: all of the run's goals.
        task: Option<TaskId>,
        /// The words.
        text: String,
        /// The author.
        by: String,
        /// The inbox message that brought it.
        message: Option<MessageId>,
    },
    /// Files were looked for.
    FilesSeen {
        /// The task that is decided about.
        task: TaskIx,
        /// Those that exist.
        present: Vec<String>,
        /// Those that do not.
        absent: Vec<String>,
    },
    /// What the runs of the project share was read, or changed for a task.
    ProjectSeen {
        /// The task whose change is in it.
        task: Option<TaskIx>,
        /// As it is now; or why it could not be had.
        state: Result<crate::project::ProjectState, Failure>,
    },
    /// A person or a process asked the run to end.
    Stop {
        /// At once.
        now: bool,
        /// The author of the request.
        by: String,
        /// The inbox message that brought it.
        message: Option<MessageId>,
    },
    /// Another process sent something that this version does not know.
    Unreadable {
        /// The inbox message.
        message: Option<MessageId>,
    },
    /// The machine was suspended.
    Slept {
        /// For how long.
        time: Duration,
    },
    /// A message was left in the inbox, and its author waits.
    Mailed,
    /// No person answers gates any more: the run parks when nothing else is left.
    Unattended,
    /// The process is to let go of the run.
    Interrupt {
        /// Without letting attempts finish.
        now: bool,
        /// The author of the request: a signal or a person.
        by: String,
    },
}

/// Where the answer to a call's demand goes.
pub type CallReply = oneshot::Sender<Result<Admitted, Failure>>;

/// What all processes together know of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// The service's resource.
    pub service: String,
    /// What is known, on the run's clock.
    pub knowledge: Knowledge,
    /// A limit is in force: calls need a lease.
    pub limited: bool,
    /// The limit before and after, if that is worth telling.
    pub change: Option<(u64, u64)>,
    /// Why it has changed.
    pub reason: LimitReason,
}

/// News of what all processes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacityFact {
    /// A lease request was granted.
    Granted {
        /// The request.
        request: RequestNo,
        /// The lease.
        fence: Fence,
    },
    /// A lease request has to wait for others.
    Queued {
        /// The request.
        request: RequestNo,
        /// What there is not enough of.
        on: String,
    },
    /// A lease request was granted and ran out before anybody could use it; it has to be made again.
    Lapsed {
        /// The request.
        request: RequestNo,
    },
    /// A budget that all processes share cannot pay for a lease request any more.
    Unpaid {
        /// The request.
        request: RequestNo,
        /// The budget.
        budget: String,
        /// What all processes have spent of it and set aside, in the units of the budget.
        used: u64,
    },
    /// A lease request can never be granted.
    Refused {
        /// The request.
        request: RequestNo,
        /// Why, in words.
        why: String,
    },
    /// Leases ran out: this process was away for too long.
    Lost {
        /// Their fencing tokens.
        fences: Vec<u64>,
    },
    /// A service told another process to come back after so long.
    Paused {
        /// The service's resource.
        service: String,
        /// How long from now on.
        pause: Duration,
    },
    /// All processes together have learned something of a service.
    Learned(Box<Learned>),
    /// Other processes wait for what this one holds, or do not any more.
    Crowded {
        /// Whether they do.
        waits: bool,
    },
    /// A limit was changed.
    Changed {
        /// Of what.
        name: String,
        /// From this.
        from: u64,
        /// To this.
        to: u64,
        /// Where the new limit comes from.
        origin: String,
    },
    /// Something a person should know.
    Noted {
        /// A stable word.
        code: &'static str,
        /// The words.
        message: String,
    },
}
