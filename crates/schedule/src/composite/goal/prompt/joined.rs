//! Results one after the other, where the model that was to put them together failed for good.
//!
//! A goal without an answer gives the results of its tasks; a task whose reconciler failed ends with those of its
//! children and lacks something. Invariant: what was done is in the result, and the result says that it was not put
//! together.

use crate::composite::Step;
use crate::composite::goal::outcome::in_tree_order;
use crate::composite::goal::state::{GoalState, ItemState};
use crate::state::{End, State, TaskIx};
use crate::view::View;
use convoke_model::synthesis::readable;
use convoke_model::{Role, TaskId};
use serde_json::{Value, json};

impl View<'_> {
    /// A task ends with the results of these children, because they could not be reconciled.
    pub(in crate::composite::goal) fn succeed_joined(
        &self,
        on: TaskIx,
        children: &[TaskId],
        why: &str,
    ) -> Option<Step> {
        let (goal, spec) = self.goal_of(on)?;
        let state = self.goal_state(goal, spec, crate::composite::goal::gather::Past::Of(&[on]), None);
        let items = children.iter().filter_map(|id| Some(&state.items[state.find(id)?]));
        let result = self.joined(&state, items);
        let reason = format!("the results of its parts stand one after the other: {why}");
        let summary = "The results of its parts, which were not put together.";
        let output = json!({ "goal_achieved": true, "result": result, "summary": summary, "reason": reason });
        Some(Step::Succeed { on, output })
    }

    /// The message of a goal without an answer.
    pub(in crate::composite::goal) fn unanswered_message(&self, state: &GoalState<'_>) -> String {
        let top = in_tree_order(state).into_iter().filter(|item| item.parent.is_none());
        match self.joined(state, top) {
            text if text.is_empty() => {
                "No answer could be put together; what became of each task is listed.".to_owned()
            }
            text => {
                format!("No answer could be put together. The results of the tasks, as they are:\n\n{text}")
            }
        }
    }

    fn joined<'s, 'a: 's>(
        &self,
        state: &GoalState<'_>,
        items: impl Iterator<Item = &'s ItemState<'a>>,
    ) -> String {
        let block = |item: &ItemState<'_>| {
            let task = self.tasks.find(&item.id).filter(|_| item.ended() == Some(End::Succeeded))?;
            let result = readable(self.json_of(task).get("result").unwrap_or(&Value::Null));
            Some(format!("## {} {}\n\n{result}", state.short(&item.id), item.item.description))
        };
        items.filter_map(block).collect::<Vec<_>>().join("\n\n---\n\n")
    }
}

impl State {
    /// Whether a task ended well with results that were to be reconciled and were not.
    pub(in crate::composite::goal) fn is_unreconciled(&self, task: TaskIx) -> bool {
        let last = self.tasks[task].group.as_ref().and_then(|group| group.members.last().copied());
        let reconciler = last.filter(|last| {
            matches!(self.goal_role(*last), Some((Role::Reconcile | Role::Collect | Role::Recover, _)))
        });
        let is_other = |last: TaskIx| self.tasks[last].output != self.tasks[task].output;
        self.tasks[task].succeeded() && self.item_of(task).is_some() && reconciler.is_some_and(is_other)
    }
}
