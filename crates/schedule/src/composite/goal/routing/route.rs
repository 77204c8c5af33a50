//! The router: what comes next on the way to a goal. A pure function of what the goal knows.
//!
//! The same state gives the same decisions, in the order finalisation, escalations, work on tasks (by priority, depth
//! and creation), planning, maintenance. Tasks that do not depend on one another are started together. Invariant:
//! every decision leads to an event that changes the state, so that routing comes to an end.

use super::decision::{Act, Decision};
use super::items;
use super::verdict::{is_incomplete, said_so};
use crate::composite::goal::outcome::{Status, is_made_up_for, status};
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::planning::check::{Known, check};
use crate::composite::goal::planning::items::{for_a_person, items as items_of};
use crate::composite::goal::state::{Entry, GoalState, Response, asked, asked_in_a_row};
use crate::state::End;
use convoke_model::{Class, Failure, GoalChoice, Item, Role, TaskId};
use convoke_plan::goal_plan::{Proposal, Terms};

/// A plan that cannot be used.
pub(crate) const PLAN_REFUSED: &str = "plan_refused";

/// All that can be decided now, most urgent first.
pub(crate) fn route(state: &GoalState<'_>) -> Vec<Decision> {
    let (mut decisions, left) = about_items(state);
    decisions.extend(about_goal(state, left));
    decisions.sort_by_key(Decision::rank);
    decisions
}

/// What can be decided about the tasks that are looked at, most urgent first, and how many may be made after that.
pub(crate) fn about_items(state: &GoalState<'_>) -> (Vec<Decision>, u32) {
    let mut left = state.tasks_left();
    let mut decisions: Vec<Decision> =
        items::in_order(state).into_iter().filter_map(|item| items::next(state, item, &mut left)).collect();
    decisions.sort_by_key(Decision::rank);
    keep_to_sub_agents(&mut decisions, state.sub_agents_left());
    (decisions, left)
}

/// Of several that would be split together, only as many are as the bound allows; the others are looked at again once that
/// is recorded.
fn keep_to_sub_agents(decisions: &mut Vec<Decision>, mut left: u32) {
    decisions.retain(|decision| {
        if decision.chosen != GoalChoice::Spawn {
            return true;
        }
        let fits = left > 0;
        left = left.saturating_sub(1);
        fits
    });
}

fn about_goal(state: &GoalState<'_>, left: u32) -> Option<Decision> {
    if state.items.is_empty() {
        return planning(state);
    }
    if state.top().all(|item| item.ended().is_some()) { closing(state, left) } else { None }
}

fn planning(state: &GoalState<'_>) -> Option<Decision> {
    match (&state.approved, &state.given) {
        (Some(approved), _) => Some(match checked(state, approved) {
            Ok(plan) => accept(state, plan, "a person approved the plan"),
            Err(why) => approve(state, state.approved_text.clone().unwrap_or_default(), Some(&why)),
        }),
        (None, Some(given)) => Some(match checked(state, given) {
            Ok(plan) => propose(state, plan, "the plan was given"),
            Err(why) => abandon(format!("the plan that was given cannot be used: {why}")),
        }),
        (None, None) => planned(state),
    }
}

fn planned(state: &GoalState<'_>) -> Option<Decision> {
    let Some(Entry::Role(Role::Plan, response)) = state.steps.last() else {
        return Some(ask_goal(Role::Plan, "there are no tasks yet", None));
    };
    let refused = match response {
        Response::Pending => return None,
        Response::Failed(failure) => return Some(not_planned(*failure)),
        Response::Answered(said) => match proposal_of(said).and_then(|plan| checked_terms(state, plan)) {
            Ok(plan) => return Some(propose(state, plan, "the plan is made")),
            Err(why) => why,
        },
    };
    Some(match asked(&state.steps, Role::Plan) {
        1 => ask_goal(Role::Plan, &format!("the plan cannot be used: {refused}"), Some(refused.clone())),
        _ => abandon(format!("the plan cannot be used, also when it was made again: {refused}")),
    })
}

fn not_planned(failure: Option<&Failure>) -> Decision {
    let failure = match failure {
        Some(failure) => {
            Failure { message: format!("there is no plan: {}", failure.message), ..failure.clone() }
        }
        None => Failure::new(Class::Cancelled, "planning was stopped"),
    };
    let reason = failure.message.clone();
    Decision { chosen: GoalChoice::End, reason, about: None, role: None, act: Act::Abandon(failure) }
}

fn proposal_of(said: &GoalAnswer) -> Result<&Proposal, String> {
    match said {
        GoalAnswer::Tasks(tasks) => Ok(tasks),
        GoalAnswer::Refused(why) => Err(why.clone()),
        _ => Err("it is no list of tasks".into()),
    }
}

/// A plan that a person wrote or approved.
fn checked<'p>(state: &GoalState<'_>, plan: &'p Result<Proposal, String>) -> Result<&'p Proposal, String> {
    let vouched = |plan| {
        let terms = Terms { vouched: true, ..terms(state, state.tasks_left()) };
        check(plan, &terms, &Known::default()).map(|()| plan)
    };
    plan.as_ref().map_err(Clone::clone).and_then(vouched)
}

fn checked_terms<'p>(state: &GoalState<'_>, plan: &'p Proposal) -> Result<&'p Proposal, String> {
    check(plan, &terms(state, state.tasks_left()), &Known::default()).map(|()| plan)
}

fn terms(state: &GoalState<'_>, most: u32) -> Terms {
    let because = ("max_tasks", state.goal.bounds.max_tasks);
    Terms { most, because, skip_threshold: state.goal.skip_threshold, vouched: false }
}

/// A plan that can be used: perhaps a person must see it first.
fn propose(state: &GoalState<'_>, plan: &Proposal, why: &str) -> Decision {
    match state.goal.approve && !state.unattended {
        true => approve(state, for_a_person(plan), None),
        false => accept(state, plan, why),
    }
}

fn approve(_state: &GoalState<'_>, plan: String, wrong: Option<&str>) -> Decision {
    let prompt = match wrong {
        None => "May this plan be carried out? It can be changed first.".to_owned(),
        Some(why) => format!("This plan cannot be carried out: {why}. Please change it."),
    };
    let reason = wrong.map_or("a person approves the plan first".to_owned(), |why| {
        format!("the plan cannot be used: {why}")
    });
    Decision {
        chosen: GoalChoice::Approve,
        reason,
        about: None,
        role: None,
        act: Act::Approve { prompt, plan },
    }
}

fn accept(state: &GoalState<'_>, plan: &Proposal, why: &str) -> Decision {
    if state.goal.plan_only {
        let reason = format!("{why}, and only the plan was asked for");
        return Decision {
            chosen: GoalChoice::End,
            reason,
            about: None,
            role: None,
            act: Act::Planned(plan.value()),
        };
    }
    add(state, plan, why)
}

/// New tasks right below the goal.
fn add(state: &GoalState<'_>, plan: &Proposal, why: &str) -> Decision {
    let first = state.top().count() as u32 + 1;
    let known = |short: &str| items::full(state, short);
    let mut items = items_of(plan, &state.id, first, 0, &known);
    items.iter_mut().for_each(|item| stand_for_all(state, item));
    let reason = format!("{why}: {}", tasks(items.len()));
    Decision { chosen: GoalChoice::AddTasks, reason, about: None, role: None, act: Act::Add(items) }
}

/// A task that makes up for another makes up for all that the other was to make up for.
fn stand_for_all(state: &GoalState<'_>, item: &mut Item) {
    let replaced = item.replaces.iter().filter_map(|id| state.find(id));
    let before: Vec<TaskId> =
        replaced.flat_map(|index| state.items[index].item.replaces.iter().cloned()).collect();
    for id in before {
        if !item.replaces.contains(&id) {
            item.replaces.push(id);
        }
    }
}

/// Every task has ended: is more needed, or is it time to answer?
fn closing(state: &GoalState<'_>, left: u32) -> Option<Decision> {
    match state.steps.last() {
        Some(Entry::Role(Role::Finalise | Role::Collect, response)) => finalised(state, response),
        Some(Entry::Role(Role::Classify, response)) => classified(state, response, left),
        _ => Some(match (wants_more(state, left), wants_verdict(state)) {
            (Some(why), _) => ask_goal(Role::Classify, &why, None),
            (None, true) => ask_goal(Role::Classify, "nothing can be added any more: is it reached?", None),
            (None, false) => ask_goal(Role::Finalise, "every task has ended", None),
        }),
    }
}

fn finalised(state: &GoalState<'_>, response: &Response<'_>) -> Option<Decision> {
    let reason = match response {
        Response::Pending => return None,
        Response::Answered(said) => match &**said {
            GoalAnswer::Refused(why) if asked_in_a_row(&state.steps, Role::Finalise) == 1 => {
                let reason = format!("the answer cannot be used: {why}");
                return Some(ask_goal(Role::Finalise, &reason, Some(why.clone())));
            }
            GoalAnswer::Refused(why) => format!("the answer cannot be used: {why}"),
            _ => "the answer is there".to_owned(),
        },
        Response::Failed(failure) => {
            let why = failure.map_or("it was stopped", |failure| &failure.message);
            format!("there is no answer: {why}")
        }
    };
    Some(Decision { chosen: GoalChoice::End, reason, about: None, role: None, act: Act::Conclude })
}

fn classified(state: &GoalState<'_>, response: &Response<'_>, left: u32) -> Option<Decision> {
    let finish = |why: &str| Some(ask_goal(Role::Finalise, why, None));
    let is_first = asked_in_a_row(&state.steps, Role::Classify) == 1;
    let refused = match response {
        Response::Pending => return None,
        Response::Failed(_) => return finish("whether more is needed could not be judged"),
        Response::Answered(said) => match &**said {
            GoalAnswer::More { done: true, tasks, .. } if !tasks.tasks.is_empty() && is_first => {
                contradiction(tasks)
            }
            GoalAnswer::More { done: true, tasks, achieved, reason } if tasks.tasks.is_empty() => {
                let what = match achieved {
                    Some(false) => "it was not reached, and nothing that is left would help",
                    _ => "nothing more is needed",
                };
                return finish(&said_so(what, reason));
            }
            GoalAnswer::More { reason, .. } if is_used_up(state, left) => {
                return finish(&said_so("more is needed, but no round or task is left", reason));
            }
            GoalAnswer::More { tasks, reason, .. } if tasks.tasks.is_empty() => {
                return finish(&said_so("more is needed, but no task for it was named", reason));
            }
            GoalAnswer::More { tasks, reason, .. } => match more(state, tasks, left) {
                Ok(()) => return Some(add(state, tasks, &said_so("more is needed", reason))),
                Err(why) => why,
            },
            GoalAnswer::Refused(why) => why.clone(),
            _ => "it does not say whether more is needed".to_owned(),
        },
    };
    match is_first {
        true => {
            Some(ask_goal(Role::Classify, &format!("the answer cannot be used: {refused}"), Some(refused)))
        }
        false => finish(&format!("further tasks cannot be made: {refused}")),
    }
}

/// Nothing more is needed, and these tasks are: the role is asked again which it is. The second time, what is missing counts.
fn contradiction(more: &Proposal) -> String {
    let count = tasks(more.tasks.len());
    format!(
        "`done` is true and `tasks` names {count}: `done` is false if they are needed, else `tasks` is empty"
    )
}

fn more(state: &GoalState<'_>, tasks: &Proposal, left: u32) -> Result<(), String> {
    let mut known = Known::default();
    for item in state.top() {
        known.add(state.short(&item.id), &item.item.description, item.ended());
    }
    check(tasks, &terms(state, left), &known)
}

/// Why a role is asked whether more is needed; `None` where that is plain, or nothing more could be done.
fn wants_more(state: &GoalState<'_>, left: u32) -> Option<String> {
    if is_used_up(state, left) {
        return None;
    }
    let missing = || state.top().filter(|item| !is_made_up_for(state, item));
    let ended = |end: End| missing().filter(|item| item.ended() == Some(end)).count();
    let (failed, skipped) = (ended(End::Failed) + ended(End::Cancelled), ended(End::Skipped));
    if failed + skipped > 0 {
        let were = if skipped == 1 { "was" } else { "were" };
        return Some(format!("{} failed and {skipped} {were} skipped", tasks(failed)));
    }
    if state.rounds > 1 {
        return Some("further tasks were done".to_owned());
    }
    is_incomplete(state).then(|| "the plan said that it is not complete".to_owned())
}

/// Whether no task can be added any more.
fn is_used_up(state: &GoalState<'_>, left: u32) -> bool {
    left == 0 || state.rounds >= state.goal.bounds.max_rounds
}

/// Whether a role must say if the last round was enough: the one before was not, and its tasks do not tell.
fn wants_verdict(state: &GoalState<'_>) -> bool {
    state.rounds > 1 && matches!(status(state), Status::Succeeded | Status::Partial)
}

/// So many tasks, in words.
fn tasks(count: usize) -> String {
    format!("{count} {}", if count == 1 { "task" } else { "tasks" })
}

fn ask_goal(role: Role, reason: &str, note: Option<String>) -> Decision {
    let act = Act::Ask { role, note };
    Decision { chosen: role.into(), reason: reason.to_owned(), about: None, role: Some(role), act }
}

fn abandon(message: String) -> Decision {
    let failure = Failure::new(Class::InvalidOutput, message.clone()).reason(PLAN_REFUSED);
    Decision { chosen: GoalChoice::End, reason: message, about: None, role: None, act: Act::Abandon(failure) }
}

#[cfg(test)]
mod tests {
    use super::tasks;

    #[test]
    fn one_task_is_no_tasks() {
        assert_eq!([0, 1, 2].map(tasks), ["0 tasks", "1 task", "2 tasks"]);
    }
}
