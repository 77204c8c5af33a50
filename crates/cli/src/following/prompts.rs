//! Prompts of a stored run, rendered again as its events are read. Only for traces with contents: it takes the room of a run.
//!
//! The scheduler folds the same events that it folded when the run went on. What a run that was opened again leaves out of its history is
//! known only then, so the history is read again from the journal at such an event.

use crate::changes;
use convoke_journal::{Reader, StateDir};
use convoke_model::{Digest, Event, RunId, Stamped, TaskId, Work};
use convoke_schedule::{Scheduler, StoredOutputs, replayable};
use convoke_telemetry::spans::{Prompt, Prompts};
use std::sync::Arc;

/// Renders the prompts of one run.
pub struct StoredPrompts {
    state: StateDir,
    run: RunId,
    reader: Option<Reader>,
    scheduler: Option<Scheduler>,
}

impl StoredPrompts {
    /// A run whose events are about to come.
    pub fn new(state: &StateDir, run: &RunId) -> StoredPrompts {
        let reader = Reader::open(state, run).ok();
        let mut prompts = StoredPrompts { state: state.clone(), run: run.clone(), reader, scheduler: None };
        prompts.scheduler = prompts.begun_at(0);
        prompts
    }

    /// The run as it was after an event, read from the journal. `None` where its plan cannot be read any more: then there are no
    /// prompts.
    fn begun_at(&self, last: u64) -> Option<Scheduler> {
        let reader = self.reader.as_ref()?;
        let mut events = Vec::new();
        reader
            .read_while(1, &mut |stamped| {
                let wanted = stamped.seq <= last;
                events.extend(wanted.then_some(stamped));
                wanted
            })
            .ok()?;
        let meta = reader.meta().ok()?;
        let plan = changes::stored_plan(&self.state, &self.run, &meta, || Ok(events.clone())).ok()?;
        let mut scheduler = Scheduler::new(Arc::new(plan));
        replayable(events).iter().try_for_each(|stamped| scheduler.apply(stamped)).ok()?;
        Some(scheduler)
    }
}

impl Prompts for StoredPrompts {
    fn take(&mut self, stamped: &Stamped) {
        let is_anew =
            matches!(stamped.event, Event::RunReopened(_) | Event::PlanChanged(_) | Event::RunForked(_));
        if is_anew {
            self.scheduler = self.begun_at(stamped.seq);
        } else if self.scheduler.as_mut().is_some_and(|scheduler| scheduler.apply(stamped).is_err()) {
            self.scheduler = None;
        }
    }

    fn prompt(&mut self, task: &TaskId) -> Option<Prompt> {
        let (scheduler, reader) = (self.scheduler.as_ref()?, self.reader.as_ref()?);
        let blob = |digest: &Digest| reader.blob(digest).ok().flatten();
        let outputs = StoredOutputs(&blob);
        let assignment = scheduler.view(&outputs).assignment(scheduler.find(task)?).ok()?;
        match assignment.work {
            Work::Agent(call) => Some(Prompt { system: call.system, prompt: call.prompt }),
            Work::Program(call) => Some(Prompt { system: call.agent.system, prompt: call.agent.prompt }),
            Work::Script(_) | Work::Tool(_) | Work::Probe(_) => None,
        }
    }
}
