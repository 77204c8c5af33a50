//! Whether a goal was reached, beyond what its tasks say: the role that saw all of it last may know that it was not.
//!
//! Pure. Words make a goal worse than its tasks, never better.

use crate::composite::goal::outcome::{Status, status};
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::state::{Entry, GoalState, Response};
use convoke_model::Role;

/// How a goal ended, with what was said about it.
pub(in crate::composite::goal) fn verdict(state: &GoalState<'_>) -> Status {
    if shortfall(state).is_some() { Status::Failed } else { status(state) }
}

/// Why a goal counts as not achieved though no task of it failed for good.
pub(in crate::composite::goal) fn shortfall(state: &GoalState<'_>) -> Option<String> {
    match status(state) {
        Status::Failed | Status::SkippedAll => None,
        // What was left out is told by the status already; that the goal needed it, only by words.
        Status::Partial | Status::Succeeded => denied(state).or_else(|| unmet(state)),
    }
}

/// The finaliser says that the goal was not reached.
fn denied(state: &GoalState<'_>) -> Option<String> {
    let Some(Entry::Role(Role::Finalise, Response::Answered(said))) = state.steps.last() else { return None };
    match &**said {
        GoalAnswer::Answer { achieved: Some(false), reason } if reason.is_empty() => {
            Some("the answer says so".into())
        }
        GoalAnswer::Answer { achieved: Some(false), reason } => Some(reason.clone()),
        _ => None,
    }
}

/// Why a goal cannot have been reached though its tasks were done: the last answer about all of it says that there was more to do, or
/// that nothing that is left would help. What was missing stays missing until an answer says otherwise: tasks that were
/// made for it do not say so.
fn unmet(state: &GoalState<'_>) -> Option<String> {
    let heard = state.steps.iter().rev().find_map(|step| match step {
        Entry::Role(Role::Classify, Response::Answered(said)) => match &**said {
            // An answer that names further tasks needs them, whatever else it says.
            GoalAnswer::More { done, achieved, reason, tasks } => {
                Some((*done && tasks.tasks.is_empty(), *achieved, reason))
            }
            _ => None,
        },
        _ => None,
    });
    match heard {
        Some((false, _, reason)) => Some(said_so("more was needed", reason)),
        Some((true, Some(false), reason)) => Some(said_so("nothing that is left would reach it", reason)),
        Some((true, _, _)) => None,
        None => {
            is_incomplete(state).then(|| "the plan was not complete, and nothing was added to it".to_owned())
        }
    }
}

/// Whether the last plan said that there is more to do.
pub(in crate::composite::goal) fn is_incomplete(state: &GoalState<'_>) -> bool {
    let planned = state.steps.iter().rev().find_map(|step| match step {
        Entry::Role(Role::Plan | Role::Classify, Response::Answered(said)) => match &**said {
            GoalAnswer::Tasks(plan) | GoalAnswer::More { tasks: plan, .. } => Some(plan.complete),
            _ => None,
        },
        _ => None,
    });
    let person = state.approved.as_ref().or(state.given.as_ref());
    let first = person.and_then(|plan| plan.as_ref().ok()).map(|plan| plan.complete);
    let complete = if state.rounds > 1 { planned } else { first.or(planned) };
    complete == Some(false)
}

pub(in crate::composite::goal) fn said_so(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
