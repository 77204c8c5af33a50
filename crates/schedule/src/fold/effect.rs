//! Effects: results that are known early, commands that go on without an engine, probes.

use super::Folded;
use crate::state::{ProbeState, State, TaskIx, TaskState, Todo};
use convoke_model::{Payload, ProbeVerdict, TaskId, Usage};

impl State {
    /// A call of an agent has its result; where the turn is not recorded yet, the result is kept for an attempt that goes on.
    pub(super) fn effect_committed(
        &mut self,
        id: &TaskId,
        attempt: u32,
        key: &str,
        result: Option<&Payload>,
    ) -> Folded {
        let task = self.known(id, "effect_committed")?;
        if let Some(result) = result {
            self.tasks[task].known_results.push((attempt, key.into(), result.clone()));
        }
        Ok(())
    }

    /// Whether the outcome of what a step does itself is known, so that only what is checked about it was cut off.
    pub(crate) fn is_committed(&self, task: TaskIx) -> bool {
        let known = &self.tasks[task].known_results;
        !known.is_empty() && {
            let own = self.effect_key(task);
            known.iter().any(|(_, key, _)| **key == *own)
        }
    }

    /// A recorded turn has the results of its calls. Those of earlier attempts stay: the turn that they belong to may be
    /// recorded a second time before it goes on.
    pub(super) fn forget_results(&mut self, task: crate::state::TaskIx, attempt: u32) {
        self.tasks[task].known_results.retain(|(of, ..)| *of != attempt);
    }

    pub(super) fn attempt_detached(&mut self, id: &TaskId) -> Folded {
        let task = self.stop_running(id, "attempt_detached", &Usage::default())?;
        self.tasks[task].detached = true;
        self.make_ready(task);
        Ok(())
    }

    pub(super) fn probe_started(&mut self, id: &TaskId, attempt: u32) -> Folded {
        let task = self.begun(id, "probe_started")?;
        self.expect(task, "probe_started", |state| matches!(state, TaskState::Ready | TaskState::Failing))?;
        self.note_start(task);
        self.unqueue(task);
        self.tasks[task].outcome_unknown = false;
        self.tasks[task].attempts = attempt;
        self.tasks[task].probe = ProbeState::Asked;
        self.tasks[task].state = TaskState::Running;
        self.running += 1;
        Ok(())
    }

    pub(super) fn effect_probed(&mut self, id: &TaskId, verdict: &ProbeVerdict) -> Folded {
        let task = self.known(id, "effect_probed")?;
        // A probe that could not even be asked has no start.
        if self.tasks[task].state == TaskState::Running {
            self.stop_running(id, "effect_probed", &Usage::default())?;
        } else {
            self.expect(task, "effect_probed", |state| state == TaskState::Ready)?;
            self.unqueue(task);
        }
        self.tasks[task].probe = match verdict {
            ProbeVerdict::Absent => ProbeState::None,
            ProbeVerdict::Happened { output } => ProbeState::Happened(output.clone()),
            ProbeVerdict::Unclear { why } => ProbeState::Unclear(why.as_str().into()),
        };
        match verdict {
            ProbeVerdict::Absent => self.make_ready(task),
            _ => {
                self.tasks[task].state = TaskState::Failing;
                self.todo(Todo::Probed(task));
            }
        }
        Ok(())
    }
}
