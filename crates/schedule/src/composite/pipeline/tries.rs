//! The tries of a phase: the first, another after a failed validation, and the end.
//!
//! What comes next is computed anew from the children each time (`try_progress`), so a phase that was cut off goes on where it stood. A
//! phase holds no permit itself: a try that hands work out has ended before the work begins, which is why one permit is enough at
//! any depth.

use super::record::Unit;
use super::state::reason::STOPPED;
use super::trigger::Status;
use super::try_progress::{Outcome, TryProgress};
use crate::composite::Step;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{Cause, CauseKind, ChildKind, ChildSpec, Class, Failure, TaskId};
use convoke_plan::Phase;

impl View<'_> {
    /// A phase goes on, or ends. Its children have changed, or what it recorded has been taken.
    pub(super) fn next_try(&self, task: TaskIx, phase: &Phase, changed: &[TaskIx]) -> Vec<Step> {
        let Some(last) = self.tries(task).last().copied() else { return vec![self.try_after(task, None)] };
        if self.is_judged(task) {
            return vec![self.try_after(task, Some(last))];
        }
        match self.progress_since(task, phase, last, changed) {
            TryProgress::Waits => Vec::new(),
            TryProgress::Stopped if self.tries_since(task) == 0 => vec![self.try_after(task, Some(last))],
            TryProgress::Stopped if self.group(task).open == 0 => {
                let message = format!("phase `{}`: its worker was stopped", self.node(task).name);
                let failure = Failure::new(Class::Cancelled, message).reason(STOPPED);
                vec![Step::Fail { on: task, failure }]
            }
            TryProgress::Stopped => Vec::new(),
            TryProgress::HandsOut(said, children) => {
                let hand_out = move |_: &View<'_>| vec![Step::Spawn { on: task, children }];
                self.record(task, &Unit::of_hand_out(&said), hand_out)
            }
            TryProgress::Asks(children) => vec![Step::Spawn { on: task, children }],
            TryProgress::Ended(outcome) if self.group(task).open > 0 => {
                self.stop_siblings(task, outcome.by.unwrap_or(last))
            }
            TryProgress::Ended(outcome) => {
                let unit = Unit::of_end(&outcome);
                self.record(task, &unit, move |view| vec![view.conclude_phase(task, last, *outcome)])
            }
        }
    }

    fn conclude_phase(&self, task: TaskIx, last: TaskIx, outcome: Outcome) -> Step {
        match outcome.status {
            Status::Success => Step::Succeed { on: task, output: self.phase_output(task) },
            Status::ValidationFail if self.may_try_again(task) => self.try_after(task, Some(last)),
            // It was opened again, for another try; what its last one says is only now recorded.
            _ if self.tries_since(task) == 0 => self.try_after(task, Some(last)),
            Status::ValidationFail | Status::Failure => {
                Step::Fail { on: task, failure: self.phase_failure(task, outcome) }
            }
        }
    }
}

impl State {
    /// Another try, or the first.
    pub(super) fn try_after(&self, task: TaskIx, before: Option<TaskIx>) -> Step {
        let key = (self.tries(task).len() + 1).to_string();
        let after = before.map(|before| self.tasks[before].id.clone());
        Step::Spawn { on: task, children: vec![ChildSpec::new(key, ChildKind::Try { after })] }
    }

    /// The failure of a child ends what else a try has handed out.
    fn stop_siblings(&self, task: TaskIx, failed: TaskIx) -> Vec<Step> {
        self.note_failing(task);
        let cause = Cause { kind: CauseKind::GroupFailed, task: Some(self.tasks[failed].id.clone()) };
        let cancel = |child: &TaskIx| Step::Cancel { child: *child, cause: cause.clone() };
        self.children(task).iter().map(cancel).collect()
    }

    /// The tries of a phase, first to last. They are found by their names: it may have many other children.
    pub(crate) fn tries(&self, task: TaskIx) -> Vec<TaskIx> {
        let id = |number: u32| TaskId::new(Some(&self.tasks[task].id), "try", Some(&number.to_string()), 1);
        (1..).map_while(|number| self.tasks.find(&id(number))).collect()
    }

    /// Whether a phase was opened again of whose last try it is recorded what it came to. That is not judged a second time:
    /// a resumed run may have other bounds. What is not recorded was lost on its way, and is made good.
    fn is_judged(&self, task: TaskIx) -> bool {
        let phase_state = self.tasks[task].phase_state.as_ref();
        self.tries_since(task) == 0
            && phase_state.is_some_and(|phase_state| phase_state.recorded.announced > 0)
    }

    fn may_try_again(&self, task: TaskIx) -> bool {
        self.phase(task).is_some_and(|phase| self.tries_since(task) < phase.max_tries)
    }

    /// Tries that count against the limit: those since the phase was last opened again.
    fn tries_since(&self, task: TaskIx) -> u32 {
        let earlier = self.tasks[task].phase_state.as_ref().map_or(0, |phase_state| phase_state.earlier);
        (self.tries(task).len() as u32).saturating_sub(earlier)
    }

    fn phase_failure(&self, task: TaskIx, outcome: Outcome) -> Failure {
        let name = &self.node(task).name;
        let tries = self.tries(task).len();
        let mut failure = outcome.failure.expect("what did not succeed has a failure");
        failure.message = match (outcome.status, tries) {
            (Status::ValidationFail, 2..) => {
                format!("phase `{name}`: not accepted in {tries} tries: {}", failure.message)
            }
            (Status::ValidationFail, _) => format!("phase `{name}`: not accepted: {}", failure.message),
            _ => format!("phase `{name}`: {}", failure.message),
        };
        failure
    }
}
