//! Fold: a goal has begun, a decision was made, a person said something.

use crate::fold::Folded;
use crate::state::{State, TaskIx, TaskState};
use convoke_model::{ChildKind, GoalDecided, Role, TaskId, Usage};
use convoke_plan::{Action, Kind, NodeIx};

/// How the work on a task of a goal went so far, as decisions say.
#[derive(Debug, Default)]
pub(crate) struct ItemProgress {
    /// Ways to recover that were chosen.
    pub tried: Vec<Action>,
    /// The last of them, until something is asked because of it.
    pub due: Option<Action>,
    /// Why it was decided to leave it out.
    pub left_out: Option<String>,
    /// The way that this role was asked for.
    pub strategy: Option<Action>,
    /// Of a role: the tools that it has called, each once.
    pub called: Vec<String>,
    /// The run was resumed to have it done: it is tried, however unlikely it was thought to be possible.
    pub insisted: bool,
    /// Of a goal: how many tasks were made of it.
    pub made: u32,
    /// Of a goal: what was spent on all of it.
    pub spent: Usage,
    /// Of a goal: in how many rounds that was.
    pub rounds: u32,
}

impl State {
    /// Whether a goal goes on, as the journal says, before a place was found for it.
    pub(super) fn is_resumed(&self, task: TaskIx) -> bool {
        let state = &self.tasks[task];
        state.state == TaskState::Ready
            && state.group.is_some()
            && matches!(self.node(task).kind, Kind::Goal(_))
    }

    /// Whether a task is a goal or a task of one: it asks on its way, and goes on when it is woken.
    pub(crate) fn is_goal_task(&self, task: TaskIx) -> bool {
        matches!(self.node(task).kind, Kind::Goal(_) | Kind::Item(_))
    }

    /// A decision of a router. Ways to recover are remembered: none is taken twice.
    pub(crate) fn goal_decided(&mut self, decided: &GoalDecided) -> Folded {
        let about = decided.about.as_ref().and_then(|id| self.tasks.find(id));
        let item = about.filter(|task| self.item_of(*task).is_some());
        if let (Some(item), Some(action)) = (item, Action::taken_by(decided.chosen)) {
            let progress = self.tasks[item].progress.get_or_insert_default();
            match action {
                // These end the task, also where it did not fail: they recover nothing.
                Action::Skip => progress.left_out = Some(decided.reason.clone()),
                Action::Fail => {}
                _ => {
                    progress.tried.push(action);
                    progress.due = Some(action);
                }
            }
        }
        Ok(())
    }

    /// These were not done, and a resumed run tries them.
    pub(crate) fn insist_on(&mut self, rewound: &[TaskId]) {
        for item in rewound.iter().filter_map(|id| self.tasks.find(id)).collect::<Vec<_>>() {
            self.tasks[item].progress.get_or_insert_default().insisted = true;
        }
    }

    /// A tool was called. What is remembered of it is whether a task of a goal was done with it.
    pub(crate) fn tool_called(&mut self, id: &TaskId, tool: &str) -> Folded {
        if let Some(task) = self.tasks.find(id).filter(|task| self.goal_role(*task).is_some()) {
            let called = &mut self.tasks[task].progress.get_or_insert_default().called;
            if !called.iter().any(|known| known == tool) {
                called.push(tool.to_owned());
            }
        }
        Ok(())
    }

    pub(crate) fn guided(&mut self, text: &str) -> Folded {
        self.guidance.push(text.to_owned());
        Ok(())
    }

    /// What was due is asked now: the child knows for which way.
    pub(super) fn note_strategy(&mut self, task: TaskIx, child: TaskIx) {
        let due = self.tasks[task].progress.as_mut().and_then(|progress| progress.due.take());
        if let Some(action) = due {
            self.tasks[child].progress.get_or_insert_default().strategy = Some(action);
        }
    }

    /// The node that answers for a goal or for a task of it.
    pub(super) fn goal_helper(&self, task: TaskIx, about: &ChildKind) -> Option<NodeIx> {
        let (_, goal) = self.goal_of(task)?;
        match about {
            ChildKind::Item(_) => Some(goal.item),
            ChildKind::Role { role, .. } => goal.roles.get(role).copied(),
            ChildKind::Collect { .. } => goal.roles.get(&Role::Collect).copied(),
            _ => None,
        }
    }
}
