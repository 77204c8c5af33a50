//! What becomes of workspaces, as events.

use super::{Core, Turn};
use convoke_agent::LetGo;
use convoke_model::{
    EffectKind, Event, TaskId, Timestamp, WorkspaceConflicted, WorkspaceRemains, WorkspaceSealed,
    WorkspaceTold,
};
use convoke_schedule::{TaskIx, TaskState};

impl Core {
    /// An attempt, or the end of a task, says what became of a workspace. The way back of an attempt's work is an effect with a claim
    /// of its own.
    pub(super) fn take_workspace(
        &mut self,
        at: Timestamp,
        by: Option<(TaskIx, u32)>,
        owner: TaskId,
        told: WorkspaceTold,
        turn: &mut Turn,
    ) {
        let worker = by.map_or_else(|| owner.clone(), |(by, _)| self.scheduler.id(by).clone());
        match told {
            WorkspaceTold::Leased(leased) => self.happen(at, Event::WorkspaceLeased(leased), turn),
            WorkspaceTold::Sealed { commit, merge, what, output, usage } => {
                if let (Some((task, attempt)), Some(what)) = (by, what) {
                    let (key, kind) = (self.merge_key(task), EffectKind::Merge);
                    let claim = Event::EffectClaimed { task: worker.clone(), attempt, key, kind, what };
                    self.happen(at, claim, turn);
                }
                let output = self.store.payload(output);
                let sealed = WorkspaceSealed { task: owner, by: worker, commit, merge, output, usage };
                self.happen(at, Event::WorkspaceSealed(Box::new(sealed)), turn);
            }
            WorkspaceTold::Conflicted { round, paths, resolver, contract } => {
                let conflicted =
                    WorkspaceConflicted { task: owner, by: worker, round, paths, resolver, contract };
                self.happen(at, Event::WorkspaceConflicted(Box::new(conflicted)), turn);
            }
            WorkspaceTold::Merged { into, commit } => {
                self.happen(at, Event::WorkspaceMerged { task: owner, into, commit }, turn);
                if let Some((task, attempt)) = by {
                    let key = self.merge_key(task);
                    let done =
                        Event::EffectCommitted { task: worker, attempt, key, failed: false, result: None };
                    self.happen(at, done, turn);
                }
            }
            WorkspaceTold::Kept(remains) => self.kept(at, owner, remains, turn),
            WorkspaceTold::Released => self.happen(at, Event::WorkspaceReleased { task: owner }, turn),
        }
    }

    /// A workspace was let go of. A task that waited for its work to come back, which it did not, has failed.
    pub(super) fn take_left(&mut self, at: Timestamp, task: TaskIx, left: LetGo, turn: &mut Turn) {
        let owner = self.scheduler.id(task).clone();
        match left {
            Ok(told) => {
                told.into_iter().for_each(|told| self.take_workspace(at, None, owner.clone(), told, turn));
            }
            Err(failure) if matches!(self.scheduler.state(task), TaskState::Ended(_)) => {
                let remains = WorkspaceRemains { why: failure.message, ..WorkspaceRemains::default() };
                self.kept(at, owner, remains, turn);
            }
            Err(failure) => self.happen(at, Event::TaskFailed { task: owner, failure }, turn),
        }
    }

    /// What stays is named to people, wherever they look at the run.
    fn kept(&mut self, at: Timestamp, task: TaskId, remains: WorkspaceRemains, turn: &mut Turn) {
        let branch = &remains.branch;
        let place = match &remains.path {
            Some(path) => format!("in `{path}`, on branch `{branch}`"),
            None if branch.is_empty() => "where `convoke workspaces` shows it".to_owned(),
            None => format!("on branch `{branch}`"),
        };
        let message = format!("its work is kept {place}: {}", remains.why);
        self.happen(at, Event::WorkspaceKept { task: task.clone(), remains }, turn);
        self.happen(at, Event::Noted { task: Some(task), code: "workspace_kept".into(), message }, turn);
    }

    fn merge_key(&self, task: TaskIx) -> String {
        format!("{}-merge", self.scheduler.effect_key(task))
    }
}
