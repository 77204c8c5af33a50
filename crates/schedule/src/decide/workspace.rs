//! Workspaces: what an attempt is given, and when a task lets go of its own.
//!
//! The end of an attempt brings the work of a single task back before it ends. A task that has parts (a group, a sub-workflow) has
//! it brought back when all of them have ended: its own end waits for that. The run ends when nothing is leased any more.

use crate::scheduler::{Command, Scheduler};
use crate::state::{FrameIx, State, TaskIx};
use crate::view::View;
use convoke_model::{ChildKind, Failure, Resolver, Sealed, TaskId, Work, WorkspaceCall, WorktreeCall};
use convoke_plan::{Kind, Script, Text, Workspace};

impl Scheduler {
    /// A task has ended that has a workspace.
    pub(super) fn let_go(&mut self, task: TaskIx) {
        if self.tasks[task].is_ended() && self.holds_workspace(task) && self.begins_to_leave(task) {
            self.command(Command::LetGo { task, back: None });
        }
    }

    /// Whether the end of a task that has parts waits until their work is back.
    pub(crate) fn brings_back_first(&mut self, id: &TaskId) -> bool {
        if self.workspaces.is_empty() {
            return false;
        }
        let Some(task) = self.find(id).filter(|task| self.has_parts(*task) && self.holds_workspace(*task))
        else {
            return false;
        };
        let back = self.node(task).workspace.as_ref().and_then(|own| own.worktree.as_ref());
        let back = back.map(|worktree| worktree.merge);
        if self.begins_to_leave(task) {
            self.command(Command::LetGo { task, back });
        }
        true
    }

    /// Whether the end of the run waits until nothing is leased any more.
    pub(super) fn waits_for_workspaces(&mut self, frame: FrameIx) -> bool {
        if self.frame(frame).parent.is_some() {
            return false;
        }
        let leased = self.workspaces.iter().filter(|(_, workspace)| workspace.leased);
        let leased: Vec<TaskIx> = leased.map(|(task, _)| *task).collect();
        for task in &leased {
            if self.begins_to_leave(*task) {
                self.command(Command::LetGo { task: *task, back: None });
            }
        }
        !leased.is_empty()
    }
}

impl State {
    fn holds_workspace(&self, task: TaskIx) -> bool {
        self.workspaces.get(&task).is_some_and(|workspace| workspace.leased)
    }

    /// Whether a task does its work through others that stand inside it.
    pub(super) fn has_parts(&self, task: TaskIx) -> bool {
        matches!(self.node(task).kind, Kind::Parallel(_) | Kind::ForEach(_) | Kind::SubPlan(_))
    }

    /// The task whose workspace the attempts of a task work in: that of a phase belongs to the phase, so that each of its tries goes on
    /// where the one before it stood.
    pub(crate) fn workspace_owner(&self, task: TaskIx) -> Option<TaskIx> {
        self.node(task).workspace.as_ref()?;
        let is_try = matches!(self.child_kind(task), Some(ChildKind::Try { .. }));
        Some(if is_try { self.parent_of(task).unwrap_or(task) } else { task })
    }

    /// The nearest task around this one that has a workspace for its parts.
    fn workspace_around(&self, task: TaskIx) -> Option<TaskIx> {
        let mut next = self.around(task);
        while let Some(around) = next {
            if self.node(around).workspace.is_some() && self.has_parts(around) {
                return Some(around);
            }
            next = self.around(around);
        }
        None
    }

    fn around(&self, task: TaskIx) -> Option<TaskIx> {
        let place = self.tasks[task].place;
        place.within.or_else(|| self.frame(place.frame).parent)
    }
}

impl View<'_> {
    /// Where the parts of a task work, if they have a workspace in common.
    pub(super) fn workspace_of_parts(&self, task: TaskIx) -> Option<WorkspaceCall> {
        let own = self.node(task).workspace.is_some() && self.has_parts(task);
        let owner = if own { Some(task) } else { self.workspace_around(task) }?;
        Some(WorkspaceCall { shared: true, ..self.workspace_of(owner, owner) })
    }

    /// The workspace that an attempt of a task works in, if it has one.
    pub(super) fn workspace_call(&self, task: TaskIx, work: &Work) -> Result<Option<WorkspaceCall>, Failure> {
        let around = self.workspace_around(task);
        let Some(owner) = self.workspace_owner(task) else {
            let shared =
                around.map(|around| WorkspaceCall { shared: true, ..self.workspace_of(around, around) });
            return Ok(shared);
        };
        let survives = matches!(work, Work::Script(call) if call.survival.is_some());
        Ok(Some(WorkspaceCall {
            parent: around.map(|around| Box::new(self.workspace_of(around, around))),
            judged: matches!(self.composite_parent(task), Some(Kind::Phase(_) | Kind::Item(_))),
            survives,
            sealed: self.sealed_work(owner, task),
            resolver: self.resolver(task)?.map(Box::new),
            ..self.workspace_of(owner, task)
        }))
    }

    fn composite_parent(&self, task: TaskIx) -> Option<&Kind> {
        self.parent_of(task).map(|parent| &self.node(parent).kind)
    }

    /// What the node of `says` states about the workspace of `owner`.
    fn workspace_of(&self, owner: TaskIx, says: TaskIx) -> WorkspaceCall {
        let own = self.node(says).workspace.as_deref();
        let around = self.workspace_around(owner).filter(|_| owner == says);
        WorkspaceCall {
            owner: self.tasks[owner].id.clone(),
            folder: self.folder.clone(),
            worktree: own.and_then(|own| own.worktree.as_ref()).map(|worktree| self.worktree(worktree)),
            ports: own.map_or(0, |own| own.ports),
            parent: around.map(|around| Box::new(self.workspace_of(around, around))),
            shared: false,
            judged: false,
            known: self.holds_workspace(owner),
            survives: false,
            sealed: None,
            resolver: None,
            resolve_attempts: own.map_or(0, |own: &Workspace| own.resolve_attempts),
        }
    }

    /// The worktree of a plan, from the root.
    fn worktree(&self, planned: &WorktreeCall) -> WorktreeCall {
        let repository = std::path::Path::new(&self.folder).join(&planned.repository);
        WorktreeCall { repository: repository.display().to_string(), ..planned.clone() }
    }

    /// The work that an earlier attempt of the same task has done.
    fn sealed_work(&self, owner: TaskIx, by: TaskIx) -> Option<Box<Sealed>> {
        let sealed = self.workspaces.get(&owner)?.sealed.as_ref().filter(|sealed| sealed.by == by)?;
        let output = self.read(&sealed.output)?;
        let (usage, rounds, settled) = (sealed.usage, sealed.rounds, sealed.settled);
        Some(Box::new(Sealed { output, usage, rounds, settled }))
    }

    /// The one that resolves conflicts of a task's work, where one is named.
    fn resolver(&self, task: TaskIx) -> Result<Option<Resolver>, Failure> {
        let moves = |worktree: &WorktreeCall| worktree.merge.moves_target();
        let own = self.node(task).workspace.as_deref();
        if !own.and_then(|own| own.worktree.as_ref()).is_some_and(moves) {
            return Ok(None);
        }
        let of_phase = self.phase_of(task).and_then(|(_, phase)| phase.resolver.as_deref());
        let named = of_phase.map(|role| role.worker).or(own.and_then(|own| own.resolver));
        let Some(named) = named else { return Ok(None) };
        let node = self.workflow_of(task).node(named);
        // It is told of the conflict, and of nothing else.
        let work = match &node.kind {
            Kind::Agent(agent) => {
                let asked = convoke_plan::Agent { prompt: Text::Literal("".into()), ..(**agent).clone() };
                Work::Agent(Box::new(self.agent_call(task, &asked)?))
            }
            Kind::Script(script) => {
                let asked = Script { stdin: None, survives: None, ..(**script).clone() };
                Work::Script(Box::new(self.script_call(task, &asked)?))
            }
            _ => return Ok(None),
        };
        let contract = of_phase.and_then(|role| self.resolver_contract(task, role, &work)).map(Box::new);
        let name = of_phase.map_or(&*node.name, |role| &*role.persona).to_owned();
        Ok(Some(Resolver { name, work, contract }))
    }
}
