//! The tries of a phase: the first, another after a failed validation, and the end.
//!
//! What comes next is computed anew from the children each time (`came`), so a phase that was cut off goes on where it stood. A
//! phase holds no permit itself: who hands work out has ended before the work begins, which is why one permit is enough at
//! any depth.

use super::came::{Came, Outcome};
use super::record::Unit;
use super::state::reason::STOPPED;
use super::trigger::Status;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::task::TaskIx;
use convoke_model::{About, Cause, CauseKind, Class, Event, Failure, Inquiry, TaskId};
use convoke_plan::Phase;

impl Scheduler {
    /// Decide: a phase starts with its first try.
    pub(crate) fn begin_phase(&mut self, task: TaskIx) {
        self.ask_try(task, None);
    }

    fn ask_try(&mut self, task: TaskIx, after: Option<TaskId>) {
        let key = (self.tries(task).len() + 1).to_string();
        let questions = vec![Inquiry { key, about: About::Try { after } }];
        self.emit(Event::Asked { task: self.tasks[task].id.clone(), questions });
    }

    /// Decide: a phase goes on, or ends. Its children have changed, or what it recorded has been taken.
    pub(crate) fn go_on_phase(&mut self, task: TaskIx, phase: &Phase, outputs: &dyn Outputs) {
        let Some(last) = self.tries(task).last().copied() else { return self.ask_try(task, None) };
        if self.is_judged(task) {
            return self.ask_try(task, Some(self.tasks[last].id.clone()));
        }
        match self.came_since(task, phase, last, outputs) {
            Came::Waits => {}
            Came::Stopped if self.tries_since(task) == 0 => {
                self.ask_try(task, Some(self.tasks[last].id.clone()));
            }
            Came::Stopped if self.group(task).open == 0 => {
                let message = format!("phase `{}`: its worker was stopped", self.node(task).name);
                self.fail_task(task, Failure::new(Class::Cancelled, message).reason(STOPPED));
            }
            Came::Stopped => {}
            Came::HandsOut(said, questions) => {
                if self.record(task, &Unit::of_hand_out(&said), outputs) {
                    self.ask_children(task, questions);
                }
            }
            Came::Asks(questions) => self.ask_children(task, questions),
            Came::Ended(outcome) if self.group(task).open > 0 => {
                self.stop_siblings(task, outcome.by.unwrap_or(last), outputs);
            }
            Came::Ended(outcome) => {
                if self.record(task, &Unit::of_end(&outcome), outputs) {
                    self.conclude_phase(task, phase, last, *outcome, outputs);
                }
            }
        }
    }

    fn ask_children(&mut self, task: TaskIx, questions: Vec<Inquiry>) {
        let id = self.tasks[task].id.clone();
        let asked: Vec<TaskId> = questions.iter().map(|question| question.child_of(&id)).collect();
        self.emit(Event::Asked { task: id, questions });
        self.note_asked(task, &asked);
    }

    /// The failure of a child ends what else a try has handed out.
    fn stop_siblings(&mut self, task: TaskIx, failed: TaskIx, outputs: &dyn Outputs) {
        self.note_failing(task);
        let cause = Cause { kind: CauseKind::GroupFailed, task: Some(self.tasks[failed].id.clone()) };
        for child in self.group(task).members.clone() {
            self.cancel(child, &cause, outputs);
        }
    }

    fn conclude_phase(
        &mut self,
        task: TaskIx,
        phase: &Phase,
        last: TaskIx,
        outcome: Outcome,
        outputs: &dyn Outputs,
    ) {
        match outcome.status {
            Status::Success => {
                let output = self.view(outputs).phase_output(task);
                self.succeed(task, &output, outputs);
            }
            Status::ValidationFail if self.may_try_again(task, phase) => {
                self.ask_try(task, Some(self.tasks[last].id.clone()));
            }
            // It was opened again, for another try; what its last one says is only now recorded.
            _ if self.tries_since(task) == 0 => self.ask_try(task, Some(self.tasks[last].id.clone())),
            Status::ValidationFail | Status::Failure => {
                let failure = self.phase_failure(task, outcome);
                self.fail_task(task, failure);
            }
        }
    }
}

impl State {
    /// The tries of a phase, first to last. They are found by their names: it may have many other children.
    pub(crate) fn tries(&self, task: TaskIx) -> Vec<TaskIx> {
        let id = |number: u32| TaskId::new(Some(&self.tasks[task].id), "try", Some(&number.to_string()), 1);
        (1..).map_while(|number| self.tasks.find(&id(number))).collect()
    }

    pub(crate) fn asked_about(&self, child: TaskIx) -> Option<&About> {
        self.tasks[child].question.as_ref().map(|question| &question.about)
    }

    /// Whether a phase was opened again of whose last try it is recorded what it came to. That is not judged a second time:
    /// whoever goes on may do so under other bounds. What is not recorded was lost on its way, and is made good.
    fn is_judged(&self, task: TaskIx) -> bool {
        let course = self.tasks[task].course.as_ref();
        self.tries_since(task) == 0 && course.is_some_and(|course| course.recorded.announced > 0)
    }

    fn may_try_again(&self, task: TaskIx, phase: &Phase) -> bool {
        self.tries_since(task) < phase.max_tries
    }

    /// Tries that count against the limit: those since the phase was last opened again.
    fn tries_since(&self, task: TaskIx) -> u32 {
        let earlier = self.tasks[task].course.as_ref().map_or(0, |course| course.earlier);
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
