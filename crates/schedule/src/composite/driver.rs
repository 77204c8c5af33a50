//! The driver of composite tasks: asks them what comes next, and turns their steps into events.

use super::Step;
use crate::outputs::Outputs;
use crate::scheduler::{Command, Scheduler};
use crate::state::{FrameIx, TaskIx, Todo};
use convoke_model::Event;

impl Scheduler {
    /// Decide: something about a composite task has changed. What follows from it?
    pub(crate) fn advance(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let Some(composite) = self.composite(task) else { return };
        let root = composite.root(self, task);
        while composite.may_advance(self, root) {
            let changed = self.take_changed(root);
            let once = !composite.settles_at_once();
            if changed.is_empty() && !once {
                return;
            }
            let steps = composite.advance(&self.view(outputs), root, &changed);
            self.take_steps(steps, outputs);
            if once {
                return;
            }
        }
    }

    pub(crate) fn take_steps(&mut self, steps: Vec<Step>, outputs: &dyn Outputs) {
        for step in steps {
            self.take_step(step, outputs);
        }
    }

    fn take_step(&mut self, step: Step, outputs: &dyn Outputs) {
        let id = |on: TaskIx| self.id(on).clone();
        match step {
            Step::Spawn { on, children } => self.emit(Event::ChildrenSpawned { task: id(on), children }),
            Step::Record(event) => self.emit(*event),
            Step::Gate { on, ask } => self.open_gate(on, &ask, outputs),
            Step::RetryAt { on, at } => self.emit(Event::RetryScheduled { task: id(on), at }),
            Step::Succeed { on, output } => self.succeed(on, &output, outputs),
            Step::SucceedWith { on, output } => self.emit(Event::TaskSucceeded { task: id(on), output }),
            Step::Fail { on, failure } => self.fail_task(on, failure),
            Step::Skip { on, cause } => self.emit(Event::TaskSkipped { task: id(on), cause }),
            Step::Attempt(on) => self.ask_permit(on),
            Step::Wake(on) => self.again(on),
            Step::Cancel { child, cause } => self.cancel(child, &cause, outputs),
            Step::Release { on, why } => self.todo(Todo::Losers(on, why)),
            Step::EndWorkflow { by, whole_run, failure } => {
                let own = self.tasks[by].place.frame;
                self.end_frame_by(if whole_run { FrameIx(0) } else { own }, Some(by), failure);
            }
            Step::Revisit(on) => self.todo(Todo::Group(on)),
            Step::WhenIdle(on) => self.check_when_idle(self.tasks[on].place.frame),
            Step::Outside(on, command) => self.ask_outside(on, command),
            Step::Then(next) => {
                let steps = next(&self.view(outputs));
                self.take_steps(steps, outputs);
            }
        }
    }

    fn ask_outside(&mut self, on: TaskIx, command: Command) {
        if self.begin_lookup(on) {
            self.command(command);
        }
    }
}
