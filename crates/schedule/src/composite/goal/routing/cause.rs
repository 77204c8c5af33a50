//! Why a goal came to what it came to, in words that can be trusted: from its tasks, and from the roles that saw all of it.
//!
//! Pure. Invariant: a goal that did not succeed has a cause, and it is never the answer's own word for a success.

use super::items::{NOT_ACHIEVED, unknown};
use super::recovery::last_failure;
use super::verdict::{shortfall, verdict};
use crate::composite::goal::outcome::{Status, is_made_up_for, lacks, lost, reason, status_word};
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::state::{Entry, GoalState, ItemState, Response};
use crate::state::End;
use convoke_model::{Class, Failure, Role};

/// The tasks were done, but there is no answer.
pub(crate) const NOT_ANSWERED: &str = "not_answered";

/// Why a goal has failed, if it has.
pub(in crate::composite::goal) fn failure(state: &GoalState<'_>) -> Option<Failure> {
    if let Some(lost) = lost(state) {
        let failure = lost.failure.cloned().or_else(|| last_failure(state, lost)).unwrap_or_else(unknown);
        let why = if lost.was_given_up() { reason(lost) } else { failure.message };
        let message = format!("the goal was not achieved: task {}: {why}", state.short(&lost.id));
        return Some(Failure::new(failure.class, message).reason(NOT_ACHIEVED));
    }
    if let Some(why) = shortfall(state) {
        let message = format!("the goal was not achieved: {why}");
        return Some(Failure::new(Class::InvalidOutput, message).reason(NOT_ACHIEVED));
    }
    unanswered(state)
}

/// Why there is no answer, though the tasks were done.
fn unanswered(state: &GoalState<'_>) -> Option<Failure> {
    let (class, why) = match state.steps.last() {
        Some(Entry::Role(Role::Finalise, Response::Answered(said))) => match &**said {
            GoalAnswer::Refused(why) => (Class::InvalidOutput, format!("the answer cannot be used: {why}")),
            _ => return None,
        },
        Some(Entry::Role(Role::Finalise | Role::Collect, Response::Failed(Some(failure)))) => {
            (failure.class, format!("there is no answer: {}", failure.message))
        }
        _ => (Class::Cancelled, "there is no answer: it was stopped".to_owned()),
    };
    Some(Failure::new(class, format!("the tasks were done, but {why}")).reason(NOT_ANSWERED))
}

/// Why a goal that has not failed was not reached as a whole; `None` where it was.
pub(in crate::composite::goal) fn shortcoming(state: &GoalState<'_>) -> Option<String> {
    match verdict(state) {
        Status::Succeeded => None,
        Status::SkippedAll => {
            state.top().next().map(|first| format!("every task was skipped: {}", in_words(state, first)))
        }
        Status::Partial | Status::Failed => {
            let why = missing(state).map(|item| in_words(state, item));
            Some(why.unwrap_or_else(|| "some results were seen in part or not put together".to_owned()))
        }
    }
}

/// The first task of which nothing is there, among those that the results are made of.
fn missing<'s, 'a>(state: &'s GoalState<'a>) -> Option<&'s ItemState<'a>> {
    let mut item = state.top().find(|item| lacks(state, item) && !is_made_up_for(state, item))?;
    while item.ended() == Some(End::Succeeded) {
        item = item
            .batch(state)
            .into_iter()
            .map(|child| &state.items[child])
            .find(|child| lacks(state, child))?;
    }
    Some(item)
}

fn in_words(state: &GoalState<'_>, item: &ItemState<'_>) -> String {
    let (id, how, why) = (state.short(&item.id), status_word(item), reason(item));
    format!("task {id} is {how}: {why}")
}
