//! Fold: which tasks of a goal something may be decided about, because something about them has changed.
//!
//! Routing looks at these alone, so that what a goal costs grows with what happens to it and not with how many tasks it
//! has. A task is looked at when it is made, when somebody who was asked for it or one of its children ends, when it is
//! woken, and when the last of its inputs ends or one ends without a result. Invariant: whatever is not touched has
//! nothing that could be decided; touching too much is harmless (as in a replay, which touches everything).

use crate::state::State;
use crate::task::{End, TaskIx, TaskState};
use convoke_model::Item;

impl State {
    /// Something about a goal, or about a task of one, has changed.
    pub(crate) fn touch(&mut self, task: TaskIx) {
        if !self.is_led(task) {
            return;
        }
        if let Some((goal, _)) = self.goal_of(task) {
            let touched = &mut self.tasks[goal].pursuit.get_or_insert_default().touched;
            if touched.last() != Some(&task) {
                touched.push(task);
            }
        }
    }

    /// What has changed since this was asked last, in the order of its making.
    pub(crate) fn take_touched(&mut self, goal: TaskIx) -> Vec<TaskIx> {
        let pursuit = self.tasks[goal].pursuit.as_mut();
        let mut touched = pursuit.map(|pursuit| std::mem::take(&mut pursuit.touched)).unwrap_or_default();
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Whether something could be decided about a task of a goal: nobody works for it at the moment.
    pub(super) fn is_undecided(&self, task: TaskIx) -> bool {
        let state = &self.tasks[task];
        let idle = state.group.as_ref().is_none_or(|group| group.open == 0);
        idle && !state.is_ended() && self.item_of(task).is_some()
    }

    /// A task of a goal was made: it is looked at now, and again when it has its inputs.
    pub(super) fn note_item(&mut self, within: TaskIx, task: TaskIx, item: &Item) {
        let Some((goal, _)) = self.goal_of(within) else { return };
        let begins_round = goal == within && !self.follows_item(goal);
        let has_ended = |task: TaskIx| self.tasks[task].is_ended();
        let missing = item
            .inputs
            .iter()
            .filter(|id| !self.tasks.find(id).is_some_and(has_ended))
            .cloned()
            .collect::<Vec<_>>();
        if !missing.is_empty() {
            self.tasks[task].pursuit.get_or_insert_default().awaits = missing.len() as u32;
        }
        let pursuit = self.tasks[goal].pursuit.get_or_insert_default();
        pursuit.made += 1;
        pursuit.rounds += u32::from(begins_round);
        missing.into_iter().for_each(|input| pursuit.needed_by.entry(input).or_default().push(task));
        self.touch(task);
    }

    /// Whether the task that was made last follows another: both are of one round.
    fn follows_item(&self, goal: TaskIx) -> bool {
        let members = &self.group(goal).members;
        let before = members.len().checked_sub(2).map(|place| members[place]);
        before.is_some_and(|before| self.item_of(before).is_some())
    }

    /// A task of a goal has ended: whoever waits for it hears of that.
    pub(crate) fn item_ended(&mut self, task: TaskIx, end: End) {
        if self.item_of(task).is_none() {
            return;
        }
        let Some((goal, _)) = self.goal_of(task) else { return };
        let id = self.tasks[task].id.clone();
        let pursuit = self.tasks[goal].pursuit.get_or_insert_default();
        for waiter in pursuit.needed_by.remove(&id).unwrap_or_default() {
            let waits = self.tasks[waiter].pursuit.get_or_insert_default();
            waits.awaits = waits.awaits.saturating_sub(1);
            if waits.awaits == 0 || end != End::Succeeded {
                self.touch(waiter);
            }
        }
    }

    /// Whether a goal goes on: nobody ends or stops it, and it waits for no person.
    pub(super) fn may_route(&self, goal: TaskIx) -> bool {
        let state = &self.tasks[goal];
        let ending = self.frame(state.place.frame).ending.is_some();
        state.state == TaskState::Open && state.cancelling.is_none() && !ending && !self.is_stopping()
    }
}
