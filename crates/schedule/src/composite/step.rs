//! Steps: what a composite task decides, as data.

use crate::scheduler::Command;
use crate::state::TaskIx;
use crate::view::View;
use convoke_model::{Ask, Cause, CauseKind, ChildSpec, Event, Failure, Payload, Timestamp};
use serde_json::Value;

/// What follows from how a run stands then.
type Next = Box<dyn FnOnce(&View<'_>) -> Vec<Step>>;

/// One step of a composite task, carried out by the driver in the order of the list.
pub enum Step {
    /// Children come into being. Which of them may start is the frontier's decision: their needs have ended.
    Spawn {
        /// The task that spawns them.
        on: TaskIx,
        /// In this order.
        children: Vec<ChildSpec>,
    },
    /// A decision with its reason, or something else that must be on disk.
    Record(Box<Event>),
    /// A person is asked, and the task is parked.
    Gate {
        /// The task.
        on: TaskIx,
        /// What is asked.
        ask: Ask,
    },
    /// The task goes on at this moment.
    RetryAt {
        /// The task.
        on: TaskIx,
        /// The moment.
        at: Timestamp,
    },
    /// The task ends with a value.
    Succeed {
        /// The task.
        on: TaskIx,
        /// Its output.
        output: Value,
    },
    /// The task ends with an output that is stored already.
    SucceedWith {
        /// The task.
        on: TaskIx,
        /// Its output.
        output: Payload,
    },
    /// The task fails for good.
    Fail {
        /// The task.
        on: TaskIx,
        /// Why.
        failure: Failure,
    },
    /// The task is left out.
    Skip {
        /// The task.
        on: TaskIx,
        /// Why.
        cause: Cause,
    },
    /// The task asks for a permit: it makes an attempt of its own.
    Attempt(TaskIx),
    /// The task goes on with what waited for its children: its attempt, or the step whose inputs were repaired.
    Wake(TaskIx),
    /// A child is no longer wanted.
    Cancel {
        /// The child.
        child: TaskIx,
        /// Why.
        cause: Cause,
    },
    /// What the task no longer waits for may stop.
    Release {
        /// The task.
        on: TaskIx,
        /// Why.
        why: CauseKind,
    },
    /// The workflow that a task stands in, or the run, ends by a failure.
    EndWorkflow {
        /// The task whose failure it is.
        by: TaskIx,
        /// Whether the whole run ends.
        whole_run: bool,
        /// The failure.
        failure: Failure,
    },
    /// The task is advanced later, after what is on the agenda already.
    Revisit(TaskIx),
    /// The workflow of a task is looked at once nothing else is left.
    WhenIdle(TaskIx),
    /// Something outside is looked up or changed for a task, unless that is under way.
    Outside(TaskIx, Command),
    /// What follows once the steps before it are taken.
    Then(Next),
}

impl Step {
    /// A decision with its reason, or something else that must be on disk.
    pub fn record(event: Event) -> Step {
        Step::Record(Box::new(event))
    }

    /// What follows once the steps before it are taken.
    pub fn then(next: impl FnOnce(&View<'_>) -> Vec<Step> + 'static) -> Step {
        Step::Then(Box::new(next))
    }
}
