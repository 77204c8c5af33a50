//! Places in groups, where the history is not all that happened.
//!
//! A reopened task is left without its end, so it holds its place while the events that followed are folded. What began
//! then must find one all the same: the journal is right, and a limit is about what may start, not about what did.
//! A new owner of the run gives the places out anew, so that no limit is passed from there on.

use super::{Folded, IllegalEvent};
use crate::state::{Group, State, TaskIx, TaskState};
use convoke_model::TaskId;
use convoke_plan::Kind;

impl State {
    /// The task that an event says has begun; its group makes room for it.
    pub(crate) fn begun(&mut self, id: &TaskId, what: &str) -> Result<TaskIx, IllegalEvent> {
        let task = match self.tasks.find(id) {
            Some(task) => task,
            None => {
                self.reach(id);
                self.known(id, what)?
            }
        };
        if self.waits_for_a_place(task) {
            self.squeeze_in(task);
        }
        Ok(task)
    }

    /// Brings the items of a fan-out into being, up to the one with this id.
    fn reach(&mut self, id: &TaskId) {
        let Some(last) = id.segments().last() else { return };
        let fans_out = |state: &State, task: &TaskIx| {
            let open = state.tasks[*task].state == TaskState::Open;
            let node = state.node(*task);
            open && *node.name == *last.node && matches!(node.kind, Kind::ForEach(_))
        };
        let groups: Vec<_> = self.tasks.indices().filter(|task| fans_out(self, task)).collect();
        for group in groups {
            // Only what is an item comes into being: a journal may name anything, and an item that no list has.
            if last.key.as_deref().is_some_and(|key| self.is_item(group, key, id)) {
                while self.tasks.find(id).is_none() && self.add_held(group) {}
            }
        }
    }

    /// Whether a for_each has an item of this key, and that item this id.
    fn is_item(&self, group: TaskIx, key: &str, id: &TaskId) -> bool {
        let Group { keys, total, .. } = self.group(group);
        let index = match keys {
            Some(keys) => keys.iter().position(|own| **own == *key).and_then(|at| u32::try_from(at).ok()),
            None => key.parse().ok(),
        };
        index.is_some_and(|index| index < *total && self.item_id(group, index) == *id)
    }

    /// Some tasks are held back for something else, with their place.
    fn waits_for_a_place(&self, task: TaskIx) -> bool {
        self.tasks[task].state == TaskState::Held && !self.tasks[task].placed
    }

    /// Gives a held member a place beyond its group's limit.
    fn squeeze_in(&mut self, task: TaskIx) {
        if let Some(group) = self.tasks[task].place.within {
            self.group_mut(group).active += 1;
            self.tasks[task].placed = true;
            self.make_ready(task);
        }
    }

    /// Takes back the places of members that have not begun, and gives them out anew.
    pub(super) fn settle_places(&mut self) -> Folded {
        for group in self.tasks.indices() {
            if self.tasks[group].state == TaskState::Open && self.tasks[group].group.is_some() {
                self.hold_ready(group);
                self.fill(group);
            }
        }
        Ok(())
    }

    fn hold_ready(&mut self, group: TaskIx) {
        let members = self.group(group).members.clone();
        for member in &members {
            if self.tasks[*member].state == TaskState::Ready
                && std::mem::take(&mut self.tasks[*member].placed)
            {
                self.tasks[*member].state = TaskState::Held;
                self.group_mut(group).active -= 1;
            }
        }
        self.hold_parked(group, &members);
        let held = members.into_iter().filter(|member| self.waits_for_a_place(*member)).collect();
        self.group_mut(group).held = held;
    }

    /// Composites that are open again were not all at work at once: those beyond the limit wait for their turn, last ones
    /// first.
    fn hold_parked(&mut self, group: TaskIx, members: &[TaskIx]) {
        let Some(limit) = self.group(group).limit else { return };
        for member in members.iter().rev() {
            let parks = self.parks(*member);
            let open = self.tasks[*member].state == TaskState::Open && self.tasks[*member].placed;
            if self.group(group).active > limit && parks && open && !self.is_at_work(*member) {
                self.tasks[*member].placed = false;
                self.tasks[*member].state = TaskState::Held;
                self.group_mut(group).active -= 1;
            }
        }
    }

    /// Whether an attempt is made somewhere below a task.
    fn is_at_work(&self, task: TaskIx) -> bool {
        let below = self.tasks[task].group.iter().flat_map(|group| &group.members);
        self.tasks[task].state == TaskState::Running || below.copied().any(|member| self.is_at_work(member))
    }
}
