//! What a goal knows: its tasks, how they stand, and what was said on the way. Plain values, from which the router
//! decides; how they come about is `gather`'s work.

use super::accounts::BudgetAccount;
use super::planning::answer::GoalAnswer;
use crate::state::End;
use convoke_model::hash::HashMap;
use convoke_model::{CauseKind, Failure, Item, Role, TaskId};
use convoke_plan::goal_plan::Proposal;
use convoke_plan::{Action, Goal};
use std::cell::OnceCell;
use std::sync::Arc;

/// Everything that is decided from.
#[derive(Debug)]
pub(crate) struct GoalState<'a> {
    pub goal: &'a Goal,
    pub id: TaskId,
    /// The plan of the file, where it has one.
    pub given: Option<Result<Proposal, String>>,
    /// The plan as a person has approved it.
    pub approved: Option<Result<Proposal, String>>,
    /// The same as it was written, to show it again if it cannot be used.
    pub approved_text: Option<String>,
    /// No person is there to be asked.
    pub unattended: bool,
    /// What is left of the budgets that it stands under.
    pub accounts: Vec<BudgetAccount>,
    /// What happened to the goal itself, in order; nothing where only some tasks are looked at.
    pub steps: Vec<Entry<'a>>,
    /// How many tasks were made.
    pub made: u32,
    /// How often it was planned: the plan, and each later round that made tasks.
    pub rounds: u32,
    /// Some digest that the answer is made of could not be made.
    pub lacks_digests: bool,
    /// The tasks, however deep, in the order of their making: all of them, or those around the one that is looked at.
    pub items: Vec<ItemState<'a>>,
    /// The places of the tasks, once they are wanted.
    pub places: OnceCell<HashMap<TaskId, usize>>,
}

/// One task of a goal.
#[derive(Debug)]
pub(crate) struct ItemState<'a> {
    pub id: TaskId,
    pub item: &'a Item,
    /// The task above it; `None` right below the goal.
    pub parent: Option<usize>,
    pub standing: Standing,
    /// The tasks whose results it builds on: its inputs, and those of the tasks above it.
    pub builds_on: Vec<TaskId>,
    /// How each of its inputs ended, while it waits for them.
    pub inputs: Vec<Option<End>>,
    /// What happened to it, in order.
    pub steps: Vec<Entry<'a>>,
    /// Ways to recover that were chosen.
    pub tried: &'a [Action],
    /// The way that was chosen last, until something is asked because of it.
    pub due: Option<Action>,
    /// Whether it is tried though it was thought impossible.
    pub insisted: bool,
    /// Why it was skipped: the kind, and in words as far as it was decided.
    pub skipped: Option<(CauseKind, &'a str)>,
    /// Some digest of what it is made of could not be made.
    pub lacks_digests: bool,
    /// Why it failed for good.
    pub failure: Option<&'a Failure>,
    /// Its place in the order in which tasks ended.
    pub order: u32,
    /// Whether it was proven that it is done.
    pub proven: bool,
    /// Tools that its workers have called.
    pub called: Vec<&'a str>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// No role was asked yet.
    Waiting,
    /// It is worked on.
    Open,
    /// It waits for a moment or a person.
    Paused,
    /// It has ended.
    Ended(End),
}

/// One step of a task's or the goal's way.
#[derive(Debug, Clone)]
pub(crate) enum Entry<'a> {
    /// A role was asked.
    Role(Role, Response<'a>),
    /// A child was made: its place among the tasks.
    Child(usize),
}

/// What came of asking.
#[derive(Debug, Clone)]
pub(crate) enum Response<'a> {
    /// Nothing yet.
    Pending,
    /// A failure.
    Failed(Option<&'a Failure>),
    /// An answer.
    Answered(Arc<GoalAnswer>),
}

impl<'a> GoalState<'a> {
    /// How many tasks may still be handed to a sub-agent.
    pub fn sub_agents_left(&self) -> u32 {
        let is_split = |item: &&ItemState<'_>| {
            item.steps.iter().any(|step| matches!(step, Entry::Child(_) | Entry::Role(Role::Decompose, _)))
        };
        let split = self.items.iter().filter(is_split).count() as u32;
        self.goal.bounds.max_subagents.saturating_sub(split)
    }

    /// Tasks that may still be made.
    pub fn tasks_left(&self) -> u32 {
        self.goal.bounds.max_tasks.saturating_sub(self.made)
    }

    /// The tasks right below the goal.
    pub fn top(&self) -> impl Iterator<Item = &ItemState<'a>> {
        self.items.iter().filter(|item| item.parent.is_none())
    }

    /// A task's name within the goal: `2/1`.
    pub fn short<'i>(&self, id: &'i TaskId) -> &'i str {
        id.0.strip_prefix(&*self.id.0).map_or(&*id.0, |rest| rest.trim_start_matches('/'))
    }

    /// A task's place among the tasks.
    pub fn find(&self, id: &TaskId) -> Option<usize> {
        let place = |(place, item): (usize, &ItemState<'a>)| (item.id.clone(), place);
        self.places.get_or_init(|| self.items.iter().enumerate().map(place).collect()).get(id).copied()
    }
}

impl<'a> ItemState<'a> {
    pub fn ended(&self) -> Option<End> {
        if let Standing::Ended(end) = self.standing { Some(end) } else { None }
    }

    /// Whether it failed and was then left out.
    pub fn was_given_up(&self) -> bool {
        matches!(self.skipped, Some((CauseKind::GivenUp, _)))
    }

    /// Whether one of its children has not ended: nothing about it is decided meanwhile.
    pub fn has_open_child(&self, state: &GoalState<'_>) -> bool {
        let is_open =
            |step: &Entry<'_>| matches!(step, Entry::Child(child) if state.items[*child].ended().is_none());
        self.steps.iter().any(is_open)
    }

    /// How many children it has.
    pub fn children(&self) -> u32 {
        self.steps.iter().filter(|step| matches!(step, Entry::Child(_))).count() as u32
    }

    /// Whether it was made to recover its parent.
    pub fn recovers(&self, state: &GoalState<'_>) -> bool {
        self.parent.is_some_and(|parent| self.item.replaces.contains(&state.items[parent].id))
    }

    /// The children that its result is made of: those that were made together last, unless it was done directly since.
    pub fn batch(&self, state: &GoalState<'_>) -> Vec<usize> {
        let mut batch: Vec<usize> = Vec::new();
        let is_later = |step: &&Entry<'_>| matches!(step, Entry::Role(role, _) if !role.works());
        for step in self.steps.iter().rev().skip_while(is_later) {
            let Entry::Child(child) = step else { break };
            let same =
                |first: &usize| state.items[*first].recovers(state) == state.items[*child].recovers(state);
            if !batch.first().is_none_or(same) {
                break;
            }
            batch.push(*child);
        }
        batch.reverse();
        batch
    }
}

/// How often a role was asked.
pub(crate) fn asked(steps: &[Entry<'_>], role: Role) -> usize {
    steps.iter().filter(|step| matches!(step, Entry::Role(asked, _) if *asked == role)).count()
}

/// How often a role was asked last, without anything else between.
pub(crate) fn asked_in_a_row(steps: &[Entry<'_>], role: Role) -> usize {
    steps.iter().rev().take_while(|step| matches!(step, Entry::Role(asked, _) if *asked == role)).count()
}
