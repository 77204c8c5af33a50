//! Fold: what pipelines record. Structural alone; nothing is decided here.

use super::state::{Announcement, PhaseState, Recorded};
use crate::fold::Folded;
use crate::state::{End, State, TaskIx, TaskState, Todo};
use convoke_model::{Payload, PhaseChoice, PhaseDecided, TaskId};
use indexmap::IndexMap;
use serde_json::Value;

impl State {
    /// A step is to start by its edges, or not.
    pub(crate) fn phase_decided(&mut self, decided: &PhaseDecided) -> Folded {
        let task = self.known(&decided.task, "phase_decided")?;
        if self.node(task).triggers.is_empty() {
            return Ok(());
        }
        let known = |id: &TaskId| self.known(id, "phase_decided");
        let from = decided.from.iter().map(known).collect::<Result<Vec<_>, _>>()?;
        let phase_state = self.phase_state_mut(task);
        phase_state.because.clone_from(&decided.reason);
        match decided.chosen {
            PhaseChoice::Start => phase_state.started = Some(from),
            PhaseChoice::Skip => phase_state.skipped = true,
        }
        Ok(())
    }

    pub(crate) fn state_changed(
        &mut self,
        id: &TaskId,
        flags: &IndexMap<String, bool>,
        metadata: &IndexMap<String, Value>,
    ) -> Folded {
        let task = self.known(id, "state_changed")?;
        let frame = self.tasks[task].place.frame;
        self.frame_mut(frame).pipeline.change(flags, metadata);
        self.phase_state_mut(task).recorded.changed = true;
        Ok(())
    }

    pub(crate) fn announced(&mut self, id: &TaskId, attempt: u32, kind: &str, payload: &Payload) -> Folded {
        let task = self.known(id, "announced")?;
        let frame = self.tasks[task].place.frame;
        let (kind, payload) = (kind.to_owned(), payload.clone());
        let said = Announcement { task, attempt, kind, payload, made_good: false };
        self.frame_mut(frame).pipeline.announce(said);
        self.phase_state_mut(task).recorded.announced += 1;
        Ok(())
    }

    /// What was looked for is there or not; the step that depends on it is decided now.
    pub(crate) fn files_seen(&mut self, id: &TaskId, present: &[String], absent: &[String]) -> Folded {
        let task = self.known(id, "files_seen")?;
        self.lookups.remove(&task);
        let files = &mut self.phase_state_mut(task).files;
        files.extend(present.iter().map(|path| (path.clone(), true)));
        files.extend(absent.iter().map(|path| (path.clone(), false)));
        self.todo(Todo::Begin(task));
        Ok(())
    }

    /// An owner that begins or resumes a run sees what is there, whatever it was before. Of changes of its own the newest state counts:
    /// two phases may be answered in another order than their changes were made in.
    pub(crate) fn project_seen(
        &mut self,
        id: Option<&TaskId>,
        revision: u64,
        context: &Payload,
        place: &str,
    ) -> Folded {
        let known = self.projects.get(place).map_or(0, |(known, _)| *known);
        if id.is_none() || revision >= known {
            self.projects.insert(place.to_owned(), (revision, context.clone()));
        }
        if let Some(id) = id {
            let task = self.known(id, "project_seen")?;
            self.lookups.remove(&task);
            self.phase_state_mut(task).recorded.patched = true;
            let (child, frame) = (self.patched_by(task), self.tasks[task].place.frame);
            self.frame_mut(frame).pipeline.patched.push(child);
            let key = self.change_key(child);
            self.settled.entry(place.to_owned()).or_default().push(key);
            self.todo(Todo::Group(task));
        }
        Ok(())
    }

    /// A phase spawns children: what its newest ones come to is not recorded yet. One that waits for nothing but its turn
    /// goes on: it was begun when its turn had come, and that those before it are open again does not undo what it did.
    pub(super) fn before_phase_spawns(&mut self, task: TaskIx) {
        if self.waits_for_turn_only(task) {
            self.stop_waiting(task);
            self.tasks[task].state = TaskState::Ready;
        }
        if let Some(phase_state) = self.tasks[task].phase_state.as_mut() {
            phase_state.recorded = Recorded::default();
        }
    }

    fn waits_for_turn_only(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        let open = |need: &convoke_plan::Need| {
            !need.order && self.beside(place, need.node).is_some_and(|need| !self.tasks[need].is_ended())
        };
        self.tasks[task].state == TaskState::Waiting && !self.node(task).needs.iter().any(open)
    }

    /// A phase has ended; that counts for what follows.
    pub(super) fn count_phase(&mut self, task: TaskIx, end: End) {
        if !matches!(end, End::Succeeded | End::Failed) {
            return;
        }
        let failure = self.tasks[task].failure.clone().filter(|_| end == End::Failed);
        let frame = self.tasks[task].place.frame;
        let limit = self.workflow_in(frame).pipeline.as_ref().map_or(0, |pipeline| pipeline.hard_failures);
        self.frame_mut(frame).pipeline.count_end(task, failure.as_deref(), limit);
    }

    /// What is open again is decided anew, by the files that are there now.
    pub(crate) fn edges_reopened(&mut self, task: TaskIx) {
        let Some(phase_state) = self.tasks[task].phase_state.as_mut() else { return };
        phase_state.skipped = false;
        phase_state.files.clear();
    }

    pub(crate) fn phase_state_mut(&mut self, task: TaskIx) -> &mut PhaseState {
        self.tasks[task].phase_state.get_or_insert_default()
    }
}
