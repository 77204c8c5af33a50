//! Which tasks of a goal something may be decided about, and how many were made.
//!
//! Routing looks at what has changed alone, so that what a goal costs grows with what happens to it and not with how many
//! tasks it has. A task has changed when it is made, when a role that was asked for it or one of its children ends, when
//! it is woken, and when the last of its inputs ends or one ends without a result. Invariant: whatever has not changed
//! has nothing that could be decided.

use crate::state::{State, TaskIx, TaskState};

impl State {
    /// Whether something could be decided about a task of a goal: no role works for it at the moment.
    pub(super) fn is_undecided(&self, task: TaskIx) -> bool {
        let state = &self.tasks[task];
        let idle = state.group.as_ref().is_none_or(|group| group.open == 0);
        idle && !state.is_ended() && self.item_of(task).is_some()
    }

    /// A task of a goal was made.
    pub(super) fn note_item(&mut self, within: TaskIx) {
        let Some((goal, _)) = self.goal_of(within) else { return };
        let begins_round = goal == within && !self.follows_item(goal);
        let progress = self.tasks[goal].progress.get_or_insert_default();
        progress.made += 1;
        progress.rounds += u32::from(begins_round);
    }

    /// Whether the task that was made last follows another: both are of one round.
    fn follows_item(&self, goal: TaskIx) -> bool {
        let members = &self.group(goal).members;
        let before = members.len().checked_sub(2).map(|place| members[place]);
        before.is_some_and(|before| self.item_of(before).is_some())
    }

    /// Whether a goal goes on: it is not being ended or stopped, and it waits for no person.
    pub(super) fn may_route(&self, goal: TaskIx) -> bool {
        let state = &self.tasks[goal];
        let ending = self.frame(state.place.frame).ending.is_some();
        state.state == TaskState::Open && state.cancelling.is_none() && !ending && !self.is_stopping()
    }
}
