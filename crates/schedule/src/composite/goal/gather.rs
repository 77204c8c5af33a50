//! Where what a goal knows comes from: its tasks, their ends and what they said.

use super::planning::answer::{self, GoalAnswer};
use super::state::{Entry, GoalState, ItemState, Response, Standing};
use crate::outputs::Outputs;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Answer, CauseKind, ChildKind, Failure, Item, Role, TaskId};
use convoke_plan::goal_plan::Proposal;
use convoke_plan::{Goal, Kind};
use std::cell::OnceCell;
use std::sync::Arc;

/// How much of the way of its tasks is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past<'t> {
    /// That of tasks about which something may be decided.
    Open,
    /// That of these tasks; of the others only those around them are there.
    Of(&'t [TaskIx]),
    /// That of those of these tasks that have ended; no others are there.
    Listed(&'t [TaskIx]),
    /// All of it.
    Whole,
}

impl View<'_> {
    /// Why the last work on a task of a goal failed.
    pub(crate) fn item_failure(&self, task: TaskIx) -> Option<Failure> {
        let (goal, spec) = self.goal_of(task)?;
        let state = self.goal_state(goal, spec, Past::Of(&[task]), Some(self.outputs));
        let item = state.find(&self.tasks[task].id)?;
        super::routing::recovery::last_failure(&state, &state.items[item])
    }

    /// What a role answered, read once.
    pub(crate) fn said(&self, task: TaskIx, role: Role) -> Arc<GoalAnswer> {
        let mut kept = self.values.said.borrow_mut();
        let read = || Arc::new(answer::read(role, &self.json_of(task)));
        kept.entry(task).or_insert_with(read).clone()
    }

    fn given_plan(&self, task: TaskIx, goal: &Goal) -> Option<Result<Proposal, String>> {
        let text = self.render(task, goal.plan.as_ref()?, "plan");
        match text {
            Err(failure) => Some(Err(failure.message)),
            // A template that gives nothing leaves the planning to the planner.
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) => Some(Proposal::read_text(&text)),
        }
    }

    fn approved_plan(&self, task: TaskIx) -> Option<String> {
        let answer = self.read(self.tasks[task].answer.as_ref()?)?;
        match serde_json::from_str(answer.as_str()).ok()? {
            Answer::Plan { plan } => Some(plan),
            _ => None,
        }
    }
}

impl State {
    /// The goal that a task belongs to: itself, or one around it.
    pub(crate) fn goal_of(&self, task: TaskIx) -> Option<(TaskIx, &Goal)> {
        let mut next = Some(task);
        while let Some(task) = next {
            if let Kind::Goal(goal) = &self.node(task).kind {
                return Some((task, goal));
            }
            next = self.tasks[task].place.within;
        }
        None
    }

    /// What a goal knows. Without outputs no answer can be read.
    pub(crate) fn goal_state<'a>(
        &'a self,
        task: TaskIx,
        goal: &'a Goal,
        past: Past<'_>,
        outputs: Option<&dyn Outputs>,
    ) -> GoalState<'a> {
        let mut found = Vec::new();
        match past {
            Past::Of(some) => some.iter().for_each(|own| self.add_around(*own, &mut found)),
            Past::Listed(some) => found.extend(some),
            Past::Open | Past::Whole => self.add_items(task, &mut found),
        }
        found.sort_unstable();
        found.dedup();
        self.values.looked.set(self.values.looked.get() + found.len() as u64);
        let items: Vec<_> = found.iter().map(|item| self.item_state(*item, &found, past, outputs)).collect();
        let progress = self.tasks[task].progress.as_deref();
        let all = matches!(past, Past::Open | Past::Whole);
        let working = !all || items.iter().any(|item| item.parent.is_none() && item.ended().is_none());
        // The plan of a person is not needed while its tasks are worked on.
        let outputs_of_plan = outputs.filter(|_| !working);
        let approved_text = outputs_of_plan.and_then(|outputs| self.view(outputs).approved_plan(task));
        GoalState {
            goal,
            id: self.tasks[task].id.clone(),
            given: outputs_of_plan.and_then(|outputs| self.view(outputs).given_plan(task, goal)),
            approved: approved_text.as_deref().map(Proposal::read_text),
            approved_text,
            unattended: self.skip_gates,
            accounts: self.accounts(task),
            steps: if all { self.steps_of(task, &found, outputs) } else { Vec::new() },
            made: progress.map_or(0, |progress| progress.made),
            rounds: progress.map_or(0, |progress| progress.rounds),
            lacks_digests: self.lacks_digests(task),
            items,
            places: OnceCell::new(),
        }
    }

    pub(super) fn add_items(&self, task: TaskIx, found: &mut Vec<TaskIx>) {
        let members = self.tasks[task].group.iter().flat_map(|group| &group.members);
        for member in members.copied().filter(|member| self.item_of(*member).is_some()) {
            found.push(member);
            self.add_items(member, found);
        }
    }

    /// A task of a goal, its children and the task above it.
    fn add_around(&self, task: TaskIx, found: &mut Vec<TaskIx>) {
        let above = self.tasks[task].place.within;
        let children = self.tasks[task].group.iter().flat_map(|group| &group.members).copied();
        let all = above.into_iter().chain([task]).chain(children);
        found.extend(all.filter(|task| self.item_of(*task).is_some()));
    }

    /// What a task of a goal is about.
    pub(crate) fn item_of(&self, task: TaskIx) -> Option<&Item> {
        match &self.tasks[task].spec.as_ref()?.kind {
            ChildKind::Item(item) => Some(item),
            _ => None,
        }
    }

    /// What a child contributes to a goal, and why it was asked.
    pub(crate) fn goal_role(&self, task: TaskIx) -> Option<(Role, Option<&str>)> {
        match &self.tasks[task].spec.as_ref()?.kind {
            ChildKind::Role { role, note } => Some((*role, note.as_deref())),
            ChildKind::Collect { .. } => Some((Role::Collect, None)),
            _ => None,
        }
    }

    fn item_state<'a>(
        &'a self,
        task: TaskIx,
        places: &[TaskIx],
        past: Past<'_>,
        outputs: Option<&dyn Outputs>,
    ) -> ItemState<'a> {
        let state = &self.tasks[task];
        let progress = state.progress.as_deref();
        let item = self.item_of(task).expect("only items are gathered");
        let looked_at = match past {
            Past::Open => !state.is_ended() && !self.awaits_answer(task),
            Past::Of(some) => some.binary_search(&task).is_ok(),
            Past::Listed(_) => state.is_ended(),
            Past::Whole => true,
        };
        ItemState {
            id: state.id.clone(),
            item,
            parent: state.place.within.and_then(|above| places.binary_search(&above).ok()),
            standing: standing(state.state),
            builds_on: if looked_at { self.builds_on(task) } else { Vec::new() },
            inputs: if state.state == TaskState::Waiting { self.ends_of(&item.inputs) } else { Vec::new() },
            steps: if looked_at { self.steps_of(task, places, outputs) } else { Vec::new() },
            tried: progress.map_or(&[], |progress| &progress.tried),
            due: progress.and_then(|progress| progress.due),
            insisted: progress.is_some_and(|progress| progress.insisted),
            skipped: self.skipped(task),
            lacks_digests: self.lacks_digests(task) || self.is_unreconciled(task),
            failure: state.failure.as_deref(),
            order: state.ended,
            proven: self.is_proven(task),
            called: if looked_at { self.called_for(task) } else { Vec::new() },
        }
    }

    /// The tools that the roles asked for a task have called.
    fn called_for(&self, task: TaskIx) -> Vec<&str> {
        let members = self.tasks[task].group.iter().flat_map(|group| &group.members);
        let pursuits = members.filter_map(|member| self.tasks[*member].progress.as_deref());
        pursuits.flat_map(|progress| &progress.called).map(String::as_str).collect()
    }

    /// Its inputs, then those of the tasks that it is a part of: what a task builds on, its parts build on too.
    pub(super) fn builds_on(&self, task: TaskIx) -> Vec<TaskId> {
        let above = |task: &TaskIx| self.tasks[*task].place.within;
        let items = std::iter::successors(Some(task), above).map_while(|task| self.item_of(task));
        let mut all: Vec<TaskId> = Vec::new();
        for input in items.flat_map(|item| &item.inputs) {
            if !all.contains(input) {
                all.push(input.clone());
            }
        }
        all
    }

    fn skipped(&self, task: TaskIx) -> Option<(CauseKind, &str)> {
        let state = &self.tasks[task];
        let cause = state.cancelling.as_ref().filter(|_| state.state == TaskState::Ended(End::Skipped))?;
        let why = state.progress.as_ref().and_then(|progress| progress.left_out.as_deref());
        Some((cause.kind, why.unwrap_or(cause.kind.words())))
    }

    /// Whether a role was asked for a task and has not answered: nothing is decided about it meanwhile.
    fn awaits_answer(&self, task: TaskIx) -> bool {
        let last = self.tasks[task].group.as_ref().and_then(|group| group.members.last().copied());
        last.is_some_and(|last| self.item_of(last).is_none() && !self.tasks[last].is_ended())
            || self.makes_digests(task)
    }

    fn ends_of(&self, ids: &[TaskId]) -> Vec<Option<End>> {
        let end = |id: &TaskId| match self.tasks[self.tasks.find(id)?].state {
            TaskState::Ended(end) => Some(end),
            _ => None,
        };
        ids.iter().map(end).collect()
    }

    fn steps_of<'a>(
        &'a self,
        task: TaskIx,
        places: &[TaskIx],
        outputs: Option<&dyn Outputs>,
    ) -> Vec<Entry<'a>> {
        let members = self.tasks[task].group.iter().flat_map(|group| &group.members);
        let step = |member: &TaskIx| match places.binary_search(member) {
            Ok(place) => Some(Entry::Child(place)),
            Err(_) => {
                let (role, _) = self.goal_role(*member)?;
                // Digests are made on the way to another question: their tasks change nothing about what comes next,
                // unless that way is closed.
                let counts =
                    role != Role::Collect || !self.tasks[*member].is_ended() || self.ends_collecting(*member);
                counts.then(|| Entry::Role(role, self.response_of(*member, role, outputs)))
            }
        };
        members.filter_map(step).collect()
    }

    fn response_of(&self, task: TaskIx, role: Role, outputs: Option<&dyn Outputs>) -> Response<'_> {
        match (self.tasks[task].succeeded(), self.tasks[task].is_ended(), outputs) {
            (true, _, Some(outputs)) => Response::Answered(self.view(outputs).said(task, role)),
            (false, true, _) => Response::Failed(self.tasks[task].failure.as_deref()),
            _ => Response::Pending,
        }
    }
}

fn standing(state: TaskState) -> Standing {
    match state {
        TaskState::Ended(end) => Standing::Ended(end),
        TaskState::Open => Standing::Open,
        TaskState::Asking | TaskState::Backoff(_) | TaskState::Timed(_) | TaskState::Failing => {
            Standing::Paused
        }
        TaskState::Waiting | TaskState::Held | TaskState::Ready | TaskState::Running => Standing::Waiting,
    }
}
