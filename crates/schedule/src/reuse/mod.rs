//! Tasks that take an output instead of making one: what a person has set in a fork, or the output of another run whose task
//! was asked the same.
//!
//! Asked when a task would start, so whatever it depends on is known by then: a step before it that ran again and came out as
//! before changes nothing for it. A task takes an output before it asks for a permit. Where outputs of another run come from is
//! left to [`Reusable`]'s maker. Invariant: nothing is taken from a task that did not succeed.

mod base;
mod fingerprint;
mod settable;

pub use base::Reusable;
pub use settable::{NotSettable, check_settable};

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::{State, TaskIx};
use convoke_model::{Affected, Event, Payload, TakenFrom, TaskId};
use convoke_plan::{Kind, OnUnknown};

impl Scheduler {
    /// Whether a task that could start takes an output instead.
    pub(crate) fn takes_output(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        let id = self.tasks[task].id.clone();
        if let Some(output) = self.given.get(&id).cloned() {
            self.emit(Event::OutputTaken { task: id, output, from: TakenFrom::Set });
            return true;
        }
        if self.affected.contains(&id) || !self.could_reuse(task) {
            return false;
        }
        match self.reused(task, outputs) {
            Ok((output, from)) => {
                self.emit(Event::OutputTaken { task: id, output, from });
                true
            }
            Err(because) => {
                self.emit(Event::TaskAffected { task: id, because });
                false
            }
        }
    }

    /// The output that another run has for a task, or why it is none.
    fn reused(&self, task: TaskIx, outputs: &dyn Outputs) -> Result<(Payload, TakenFrom), Vec<Affected>> {
        let reusable = self.reusable.clone().expect("asked only where there is one");
        let fingerprint = self.view(outputs).fingerprint(task).ok_or_else(|| vec![Affected::New])?;
        let entry = reusable.find(&self.tasks[task].id, &fingerprint)?;
        let text = reusable.text(entry).ok_or_else(|| vec![Affected::Unfinished])?;
        let (output, blob) = Payload::new(text);
        blob.into_iter().for_each(|blob| outputs.put(blob));
        let (run, task) = (reusable.run.clone(), entry.task.clone());
        Ok((output, TakenFrom::Run { run, task, saved: entry.usage }))
    }
}

impl State {
    /// Whether the step of a script or a tool says that repeating it does no harm.
    pub fn may_repeat(&self, task: &TaskId) -> bool {
        let node = self.find(task).map(|task| self.node(task));
        node.is_some_and(|node| {
            node.on_unknown == OnUnknown::Retry && matches!(node.kind, Kind::Script(_) | Kind::Tool(_))
        })
    }

    /// Whether a task is one attempt of work that another run may have done, and has not been tried here.
    fn could_reuse(&self, task: TaskIx) -> bool {
        let is_work = matches!(self.node(task).kind, Kind::Agent(_) | Kind::Script(_) | Kind::Tool(_));
        let untried = self.tasks[task].attempts == 0 && self.tasks[task].turns.is_empty();
        self.reusable.is_some() && is_work && untried
    }
}
