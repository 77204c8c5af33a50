//! What a goal comes to: its status, and the answer with all its tasks.
//!
//! The status is counted from the tasks, never taken from words: a goal of which a task failed for good has failed,
//! whatever the answer says. So is the reason of a goal that did not succeed (`cause`); `message` is the answer's own.

use super::gather::Past;
use super::planning::answer::words;
use super::routing::cause::{self, NOT_ANSWERED};
use super::routing::items::{because, unknown};
use super::routing::verdict::verdict;
use super::state::{Entry, GoalState, ItemState, Response};
use crate::composite::Step;
use crate::state::{End, FrameEnding, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::excerpt::within;
use convoke_model::synthesis::usage_value;
use convoke_model::{CauseKind, Ending, Failure, Role};
use convoke_plan::Kind;
use serde_json::{Value, json};

/// How the work on a goal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Succeeded,
    /// Something was left out.
    Partial,
    /// Everything was.
    SkippedAll,
    Failed,
}

/// Characters of the message and of the next steps.
const MESSAGE: usize = 100_000;
const NEXT_STEPS: usize = 1000;
/// Lines of what is wrong.
const ISSUES: usize = 24;

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Succeeded => "succeeded",
            Status::Partial => "partial",
            Status::SkippedAll => "skipped_all",
            Status::Failed => "failed",
        }
    }
}

/// Counts the tasks: what failed and was not made up for, what was left out.
pub(crate) fn status(state: &GoalState<'_>) -> Status {
    let ended = |end: End| move |item: &&ItemState<'_>| item.ended() == Some(end);
    if lost(state).is_some() {
        Status::Failed
    } else if state.top().next().is_some()
        && state.top().filter(ended(End::Skipped)).count() == state.top().count()
    {
        Status::SkippedAll
    } else if state.lacks_digests
        || state.top().any(|item| lacks(state, item) && !is_made_up_for(state, item))
    {
        Status::Partial
    } else {
        Status::Succeeded
    }
}

/// The task for which the goal was not reached: of those that were not made up for the one that failed first, or, where nothing
/// was done, one that failed and was left out.
pub(super) fn lost<'s, 'a>(state: &'s GoalState<'a>) -> Option<&'s ItemState<'a>> {
    let nothing_done = || state.top().all(|item| item.ended() == Some(End::Skipped));
    let given_up = || state.top().find(|item| item.was_given_up()).filter(|_| nothing_done());
    let all = || state.top().filter(|item| is_lost(state, item));
    let failed = all().filter(|item| item.ended() == Some(End::Failed)).min_by_key(|item| item.order);
    failed.or_else(|| all().next()).or_else(given_up)
}

fn is_lost(state: &GoalState<'_>, item: &ItemState<'_>) -> bool {
    !matches!(item.ended(), Some(End::Succeeded | End::Skipped)) && !is_made_up_for(state, item)
}

/// Whether another task was done instead of it.
pub(super) fn is_made_up_for(state: &GoalState<'_>, item: &ItemState<'_>) -> bool {
    instead_of(state, item).next().is_some()
}

/// The tasks that were done instead of it.
fn instead_of<'s, 'a>(
    state: &'s GoalState<'a>,
    item: &'s ItemState<'_>,
) -> impl Iterator<Item = &'s ItemState<'a>> {
    let stands_for = |other: &&ItemState<'_>| other.item.replaces.contains(&item.id);
    state.items.iter().filter(move |other| other.ended() == Some(End::Succeeded) && stands_for(other))
}

/// Whether something of a task is missing: all of it, or one of the children that its result is made of, which was
/// skipped, or accepted as failed when they were put together, or of which only the head was seen.
pub(super) fn lacks(state: &GoalState<'_>, item: &ItemState<'_>) -> bool {
    match item.ended() {
        Some(End::Succeeded) => {
            item.lacks_digests || item.batch(state).iter().any(|child| lacks(state, &state.items[*child]))
        }
        _ => true,
    }
}

impl View<'_> {
    /// The goal ends with its answer, well or not.
    pub(super) fn conclude(&self, task: TaskIx) -> Step {
        match self.goal_failure(task) {
            Some(failure) => Step::Fail { on: task, failure: self.named(task, failure) },
            None => Step::Succeed { on: task, output: self.goal_answer(task).unwrap_or_default() },
        }
    }

    /// Why a goal has failed, if it has.
    fn goal_failure(&self, task: TaskIx) -> Option<Failure> {
        let Kind::Goal(goal) = &self.node(task).kind else { return None };
        cause::failure(&self.goal_state(task, goal, Past::Whole, Some(self.outputs)))
    }

    /// A goal's answer: what was said last, the status, every task. Also of a goal that has failed; `None` where it
    /// never came to its tasks.
    pub(crate) fn goal_answer(&self, task: TaskIx) -> Option<Value> {
        let Kind::Goal(goal) = &self.node(task).kind else { return None };
        let state = self.goal_state(task, goal, Past::Whole, Some(self.outputs));
        if state.items.is_empty() {
            return None;
        }
        let said = self.final_words(task);
        let field = |key: &str| said.as_ref().map(|said| words(said, key)).unwrap_or_default();
        let message = match field("message") {
            text if text.is_empty() => self.unanswered_message(&state),
            text => text,
        };
        let failure = cause::failure(&state);
        // The tasks were done and only the answer is missing: their results stand in for it.
        let only_unanswered =
            failure.as_ref().is_some_and(|failure| failure.reason.as_deref() == Some(NOT_ANSWERED));
        let lost = self.cut_short_by(task).or_else(|| failure.map(|failure| failure.message));
        let status = match lost.is_some() {
            true if only_unanswered => Status::Partial,
            true => Status::Failed,
            false => verdict(&state),
        };
        let reason = lost.or_else(|| cause::shortcoming(&state)).unwrap_or_else(|| field("reason"));
        let value = |item| {
            let mut value = task_value(&state, item);
            if goal.results {
                value["result"] = self.result_of(item);
            }
            value
        };
        let tasks: Vec<Value> = in_tree_order(&state).into_iter().map(value).collect();
        Some(json!({
            "message": within(&message, MESSAGE), "next_steps": within(&field("next_steps"), NEXT_STEPS),
            "issues": self.issues(task, &state, field("issues")), "reason": reason,
            "status": status.word(), "tasks": tasks, "usage": usage_value(&self.spent_on(task)),
        }))
    }

    /// What a task came to; `null` where it came to nothing.
    fn result_of(&self, item: &ItemState<'_>) -> Value {
        let done = self.tasks.find(&item.id).filter(|_| item.ended() == Some(End::Succeeded));
        done.and_then(|task| self.json_of(task).get("result").cloned()).unwrap_or_default()
    }

    /// What the finaliser says is wrong, and what was answered without having been put together.
    fn issues(&self, goal: TaskIx, state: &GoalState<'_>, said: String) -> String {
        let items = state.items.iter().filter(|item| item.ended() == Some(End::Succeeded));
        let items: Vec<TaskIx> = items.filter_map(|item| self.tasks.find(&item.id)).collect();
        let unreconciled = items.iter().filter(|item| self.is_unreconciled(**item)).map(|item| {
            let name = state.short(&self.tasks[*item].id);
            format!(
                "The parts of task {name} were not put together: their results stand one after the other."
            )
        });
        let unreconciled: Vec<String> = unreconciled.collect();
        let lacking = items.into_iter().chain([goal]).flat_map(|on| self.digests_lacking(on));
        let words = |digest: TaskIx| {
            let why = self.why_lacking(digest);
            let (names, _) = self.covered(state, digest);
            let seen =
                if self.ends_collecting(digest) { "they were not read" } else { "only heads were seen" };
            format!("The results of the tasks {names} could not be put together ({why}): {seen}.")
        };
        let said = Some(said).filter(|said| !said.is_empty());
        let mut lines: Vec<String> = said.into_iter().chain(unreconciled).chain(lacking.map(words)).collect();
        let further = lines.len().saturating_sub(ISSUES);
        lines.truncate(ISSUES);
        lines.extend((further > 0).then(|| format!("… and {further} further groups of tasks.")));
        lines.join("\n")
    }

    /// What the finaliser said last.
    fn final_words(&self, task: TaskIx) -> Option<Value> {
        let members = &self.tasks[task].group.as_deref()?.members;
        let last = members.iter().rev().copied().find(|member| {
            self.goal_role(*member).is_some_and(|(role, _)| role == Role::Finalise)
                && self.tasks[*member].succeeded()
        });
        last.map(|member| self.json_of(member))
    }
}

impl State {
    /// How a goal ended; of a goal that only planned nothing is left out.
    pub(crate) fn goal_status(&self, task: TaskIx) -> Option<Status> {
        let Kind::Goal(goal) = &self.node(task).kind else { return None };
        let state = self.goal_state(task, goal, Past::Whole, None);
        (!state.items.is_empty()).then(|| status(&state))
    }

    /// Why something else ended a goal that was at work, if that was so.
    fn cut_short_by(&self, task: TaskIx) -> Option<String> {
        if self.tasks[task].state != TaskState::Ended(End::Cancelled) {
            return None;
        }
        match &self.frame(self.tasks[task].place.frame).ending {
            Some(FrameEnding::Stated(Ending::Failed { failure, .. })) => Some(failure.message.clone()),
            _ => Some(unknown().message),
        }
    }

    /// A failure with the name of its step.
    pub(super) fn named(&self, task: TaskIx, failure: Failure) -> Failure {
        Failure { message: format!("goal step `{}`: {}", self.node(task).name, failure.message), ..failure }
    }
}

/// Each task before its children, and those before the next: an order that does not depend on speed.
pub(super) fn in_tree_order<'s, 'a>(state: &'s GoalState<'a>) -> Vec<&'s ItemState<'a>> {
    let path = |item: &&ItemState<'_>| -> Vec<u32> {
        state.short(&item.id).split('/').filter_map(|number| number.parse().ok()).collect()
    };
    let mut items: Vec<&ItemState<'a>> = state.items.iter().collect();
    items.sort_by_cached_key(path);
    items
}

fn task_value(state: &GoalState<'_>, item: &ItemState<'_>) -> Value {
    let mut value = json!({
        "id": state.short(&item.id), "description": item.item.description, "status": status_word(item),
        "reason": whole_reason(state, item),
    });
    if item.ended() == Some(End::Succeeded) {
        value["proven"] = json!(item.proven);
    }
    let instead: Vec<&str> = instead_of(state, item).map(|other| state.short(&other.id)).collect();
    if item.ended() != Some(End::Succeeded) && !instead.is_empty() {
        value["replaced_by"] = json!(instead);
    }
    value
}

/// How a task stands, in a word.
pub(crate) fn status_word(item: &ItemState<'_>) -> &'static str {
    match item.ended() {
        None => "open",
        Some(End::Succeeded) => "succeeded",
        Some(End::Failed) => "failed",
        Some(End::Skipped) => "skipped",
        Some(End::Cancelled) => "cancelled",
    }
}

/// Why a task ended as it did; of what went well, as far as an answer says.
pub(crate) fn reason(item: &ItemState<'_>) -> String {
    match item.ended() {
        Some(End::Failed) => item.failure.map(|failure| failure.message.clone()).unwrap_or_default(),
        Some(End::Skipped) => skip_reason(item),
        _ => last_said(item).unwrap_or_default(),
    }
}

fn skip_reason(item: &ItemState<'_>) -> String {
    match (item.skipped, &item.item.skip) {
        (Some((CauseKind::NotPossible, _)), Some(skip)) => skip.reason.clone(),
        (skipped, _) => skipped.map(|(_, why)| why.to_owned()).unwrap_or_default(),
    }
}

/// The same, also of a task whose only child did it.
fn whole_reason(state: &GoalState<'_>, item: &ItemState<'_>) -> String {
    match (item.ended(), item.steps.last(), item.batch(state).as_slice()) {
        (Some(End::Succeeded), Some(Entry::Child(_)), [only]) => {
            let child = &state.items[*only];
            because(&format!("task {} did it", state.short(&child.id)), &whole_reason(state, child))
        }
        _ => reason(item),
    }
}

/// What the last worker of a task said about it. Of a task that was done, words about a failure do not count.
fn last_said(item: &ItemState<'_>) -> Option<String> {
    use super::planning::answer::GoalAnswer;
    let succeeded = item.ended() == Some(End::Succeeded);
    item.steps.iter().rev().find_map(|step| match step {
        Entry::Role(_, Response::Answered(said)) => match &**said {
            GoalAnswer::Work { achieved, reason } if *achieved || !succeeded => Some(reason.clone()),
            GoalAnswer::Way { reason, .. } if !succeeded => Some(reason.clone()),
            _ => None,
        },
        _ => None,
    })
}
