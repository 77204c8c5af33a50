//! Workspaces: leased, sealed, back, and gone.

use super::Folded;
use crate::state::{FrameIx, SealedWork, State, TaskIx, TaskState, Todo};
use convoke_model::{TaskId, WorkspaceConflicted, WorkspaceLeased, WorkspaceSealed};

impl State {
    pub(super) fn workspace_leased(&mut self, told: &WorkspaceLeased) -> Folded {
        let task = self.known(&told.task, "workspace_leased")?;
        self.workspaces.entry(task).or_default().leased = true;
        // Told late: nobody will work in it any more.
        if self.tasks[task].is_ended() {
            self.todo(Todo::LetGo(task));
        }
        Ok(())
    }

    pub(super) fn workspace_sealed(&mut self, told: &WorkspaceSealed) -> Folded {
        let task = self.known(&told.task, "workspace_sealed")?;
        let by = self.known(&told.by, "workspace_sealed")?;
        let (output, usage) = (told.output.clone(), told.usage);
        let sealed = SealedWork { by, output, usage, rounds: 0, settled: false };
        self.workspaces.entry(task).or_default().sealed = Some(sealed);
        self.forget_conversation(by);
        Ok(())
    }

    pub(super) fn workspace_conflicted(&mut self, told: &WorkspaceConflicted) -> Folded {
        let task = self.known(&told.task, "workspace_conflicted")?;
        let by = self.known(&told.by, "workspace_conflicted")?;
        if let Some(sealed) = self.workspaces.entry(task).or_default().sealed.as_mut() {
            sealed.rounds = told.round;
        }
        self.forget_conversation(by);
        Ok(())
    }

    pub(super) fn workspace_merged(&mut self, id: &TaskId) -> Folded {
        let task = self.known(id, "workspace_merged")?;
        if let Some(sealed) = self.workspaces.entry(task).or_default().sealed.as_mut() {
            sealed.settled = true;
        }
        Ok(())
    }

    /// It is gone, or what stays of it is nobody's.
    pub(super) fn workspace_left(&mut self, id: &TaskId) -> Folded {
        let task = self.known(id, "the end of a workspace")?;
        self.leaving.remove(&task);
        self.workspaces.entry(task).or_default().leased = false;
        if self.tasks[task].state == TaskState::Open {
            self.todo(Todo::Group(task));
            self.tasks[task].frame.into_iter().for_each(|frame| self.check_when_idle(frame));
        }
        self.check_when_idle(FrameIx(0));
        Ok(())
    }

    /// What an attempt says from here on is another conversation: that of resolving.
    fn forget_conversation(&mut self, by: TaskIx) {
        self.tasks[by].turns = Vec::new();
        self.tasks[by].known_results = Vec::new();
    }

    /// The end of an attempt has counted what its work had used before.
    pub(super) fn counted_by_end(&mut self, by: TaskIx) {
        let sealed = self.workspaces.values_mut().filter_map(|workspace| workspace.sealed.as_mut());
        sealed.filter(|sealed| sealed.by == by).for_each(|sealed| sealed.usage = Default::default());
    }

    /// A task has ended: its workspace is let go of.
    pub(super) fn leave_workspace(&mut self, task: TaskIx) {
        self.leaving.remove(&task);
        if self.workspaces.get(&task).is_some_and(|workspace| workspace.leased) {
            self.todo(Todo::LetGo(task));
        }
    }

    /// Whether the work of an attempt is done and only its way back is left, so that nothing about it is unknown.
    pub(crate) fn is_sealed(&self, by: TaskIx) -> bool {
        let sealed = |task: TaskIx| self.workspaces.get(&task)?.sealed.as_ref();
        self.workspace_owner(by).and_then(sealed).is_some_and(|sealed| sealed.by == by)
    }
}
