//! Fold: a goal has begun, a decision was made, a person said something.

use crate::agenda::Todo;
use crate::fold::Folded;
use crate::state::State;
use crate::task::{TaskIx, TaskState};
use convoke_model::{About, Duty, Inquiry, TaskId, Usage};
use convoke_plan::{Action, Kind, NodeIx};
use std::collections::HashMap;

/// How the work on a task of a goal went so far, as decisions say.
#[derive(Debug, Default)]
pub(crate) struct Pursuit {
    /// Ways to recover that were chosen.
    pub tried: Vec<Action>,
    /// The last of them, until something is asked because of it.
    pub due: Option<Action>,
    /// Why it was decided to leave it out.
    pub left_out: Option<String>,
    /// The way that this duty was asked for.
    pub strategy: Option<Action>,
    /// Of a duty: the tools that it has called, each once.
    pub called: Vec<String>,
    /// Somebody resumed the run to have it done: it is tried, however unlikely it was thought to be possible.
    pub insisted: bool,
    /// Of a goal: how many tasks were made of it.
    pub made: u32,
    /// Of a goal: what was spent on all of it.
    pub spent: Usage,
    /// Of a goal: in how many rounds that was.
    pub rounds: u32,
    /// Of a goal: what has changed since it was last looked at.
    pub touched: Vec<TaskIx>,
    /// Of a goal: who waits for a task of it.
    pub needed_by: HashMap<TaskId, Vec<TaskIx>>,
    /// Of a task: how many of its inputs have not ended.
    pub awaits: u32,
}

impl State {
    /// A goal holds nothing but its children. One that waited for its place goes on with those that it has.
    pub(crate) fn open_goal(&mut self, task: TaskIx) {
        self.tasks[task].group.get_or_insert_default();
        self.tasks[task].state = TaskState::Open;
        self.todo(Todo::Group(task));
        self.begin_below(task);
    }

    /// Whoever could begin but for the goal, which waited for its place, begins now.
    fn begin_below(&mut self, task: TaskIx) {
        let members: Vec<TaskIx> =
            self.tasks[task].group.iter().flat_map(|group| group.members.clone()).collect();
        for member in members {
            match self.tasks[member].state {
                TaskState::Ready => self.todo(Todo::Begin(member)),
                TaskState::Open => self.begin_below(member),
                _ => {}
            }
        }
    }

    /// Whether somebody works for a goal that waits for its place.
    pub(crate) fn goal_waits(&self, task: TaskIx) -> bool {
        let around = self.tasks[task].place.within.and_then(|within| self.goal_of(within));
        around.is_some_and(|(goal, _)| matches!(self.tasks[goal].state, TaskState::Held | TaskState::Ready))
    }

    /// A goal or a task of one goes on where it stood; a goal among others when there is a place for it.
    pub(crate) fn wake_led(&mut self, task: TaskIx) {
        if self.tasks[task].place.within.is_some_and(|group| !self.is_led(group)) {
            self.offer(task);
        }
        if self.tasks[task].state != TaskState::Held {
            self.open_goal(task);
        }
    }

    /// Whether a goal goes on, as the journal says, before a place was found for it.
    pub(crate) fn went_on(&self, task: TaskIx) -> bool {
        let state = &self.tasks[task];
        state.state == TaskState::Ready
            && state.group.is_some()
            && matches!(self.node(task).kind, Kind::Goal(_))
    }

    /// Whether a task is a goal or a task of one: it asks on its way, and goes on when it is woken.
    pub(crate) fn is_led(&self, task: TaskIx) -> bool {
        matches!(self.node(task).kind, Kind::Goal(_) | Kind::Item(_))
    }

    /// A decision of a router. Ways to recover are remembered: none is taken twice.
    pub(crate) fn routed(&mut self, about: Option<&TaskId>, chosen: &str, reason: &str) -> Folded {
        let item = about.and_then(|id| self.tasks.find(id)).filter(|task| self.item_of(*task).is_some());
        let action = Action::ALL.into_iter().find(|action| action.word() == chosen);
        if let (Some(item), Some(action)) = (item, action) {
            let pursuit = self.tasks[item].pursuit.get_or_insert_default();
            match action {
                // These end the task, also where it did not fail: they recover nothing.
                Action::Skip => pursuit.left_out = Some(reason.to_owned()),
                Action::Fail => {}
                _ => {
                    pursuit.tried.push(action);
                    pursuit.due = Some(action);
                }
            }
        }
        Ok(())
    }

    /// Goals and tasks of goals are open again; these were not done, and whoever resumes them wants them tried.
    pub(crate) fn goals_reopened(&mut self, tasks: &[TaskId], rewound: &[TaskId]) {
        for task in tasks.iter().filter_map(|id| self.tasks.find(id)).collect::<Vec<_>>() {
            if self.is_led(task) {
                self.todo(Todo::Group(task));
            }
        }
        for item in rewound.iter().filter_map(|id| self.tasks.find(id)).collect::<Vec<_>>() {
            self.tasks[item].pursuit.get_or_insert_default().insisted = true;
        }
    }

    /// Somebody called a tool. What is remembered of it is whether a task of a goal was done with it.
    pub(crate) fn tool_called(&mut self, id: &TaskId, tool: &str) -> Folded {
        if let Some(task) = self.tasks.find(id).filter(|task| self.duty_of(*task).is_some()) {
            let called = &mut self.tasks[task].pursuit.get_or_insert_default().called;
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

    /// What was due is asked now: whoever is asked knows for which way.
    pub(crate) fn note_strategy(&mut self, task: TaskIx, child: TaskIx) {
        let due = self.tasks[task].pursuit.as_mut().and_then(|pursuit| pursuit.due.take());
        if let Some(action) = due {
            self.tasks[child].pursuit.get_or_insert_default().strategy = Some(action);
        }
    }

    /// A task of a goal waits until its turn comes; everybody else is asked at once.
    pub(crate) fn place_question(&mut self, task: TaskIx, member: TaskIx, question: &Inquiry) {
        match question.about {
            About::Item(ref item) => {
                self.note_item(task, member, item);
                self.todo(Todo::Group(task));
            }
            _ => self.offer(member),
        }
    }

    /// The node that answers for a goal or for a task of it.
    pub(crate) fn goal_helper(&self, task: TaskIx, about: &About) -> Option<NodeIx> {
        let (_, goal) = self.goal_of(task)?;
        match about {
            About::Item(_) => Some(goal.item),
            About::Duty { duty, .. } => goal.duties.get(duty).copied(),
            About::Collect { .. } => goal.duties.get(&Duty::Collect).copied(),
            _ => None,
        }
    }
}
