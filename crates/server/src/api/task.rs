//! One task, with everything that is known of it.
//!
//! Its own events are read again; the rest of the journal is not.

use super::Shared;
use super::query::{FromQuery, OfRun};
use super::waits;
use crate::access::Session;
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::{Follower, Hub, Seen, waiting};
use crate::shapes::{
    AttemptBody, CauseBody, DecisionBody, FailureBody, MessageBody, PayloadBody, PromptBody, PromptPart,
    Question, TaskDetail, TaskRowBody, TokensBody, cost,
};
use axum::Json;
use convoke_agent::{Account, Message};
use convoke_engine::report::{AttemptReport, TaskReport, fold};
use convoke_journal::{Error, Reader};
use convoke_model::excerpt::place_of;
use convoke_model::{Ask, Event, JsonText, Payload, Stamped, TaskId};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;

/// Characters of one text of a conversation or a prompt.
const MOST_TEXT: usize = 20_000;

/// Messages of a conversation.
const MOST_SAID: usize = 400;

/// Which task.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// Its id.
    pub task: String,
    /// The number of an event: the task as it stood after it.
    pub at: Option<u64>,
}

/// One task, whole
#[utoipa::path(get, path = "/runs/{run}/task", tag = "tasks", params(("run" = String, Path), Which), responses(
    (status = 200, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn task(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(which): FromQuery<Which>,
) -> Answer<TaskDetail> {
    let follower = app.hub.open(&run).await?;
    let hub = app.hub.clone();
    let body = waiting(move || {
        let last = follower.look(|seen| seen.position);
        let detail = detail(&hub, &follower, &which)?;
        let is_present = which.at.is_none_or(|at| at >= last);
        let task = TaskId(which.task.as_str().into());
        let prompt = if is_present { hub.host.prompt(&run, &task) } else { None };
        Ok(TaskDetail { prompt: prompt.map(prompt_body), ..detail })
    });
    Ok(Json(body.await?))
}

/// One task as it stands now. Waits for the disk.
pub(crate) fn detail_of(hub: &Arc<Hub>, follower: &Follower, task: &TaskId) -> Result<TaskDetail, ApiError> {
    detail(hub, follower, &Which { task: task.to_string(), at: None })
}

/// Everything about a task but what it was asked: prompts are rendered anew, which takes a look at the whole journal.
fn detail(hub: &Arc<Hub>, follower: &Follower, which: &Which) -> Result<TaskDetail, ApiError> {
    let id = TaskId(which.task.as_str().into());
    let standing = standing(follower, &id, which.at)?;
    let events = follower.events_of(&id, standing.position)?;
    told(hub, follower, (&id, standing), &events)
}

/// The same of a task as it stands now, by its events, which the caller has read.
pub(crate) fn detail_by(
    hub: &Arc<Hub>,
    follower: &Follower,
    task: &TaskId,
    events: &[Stamped],
) -> Result<TaskDetail, ApiError> {
    told(hub, follower, (task, standing(follower, task, None)?), events)
}

fn standing(follower: &Follower, id: &TaskId, at: Option<u64>) -> Result<Standing, ApiError> {
    let unknown = || ApiError::not_found(format!("run `{}` has no task `{id}`", follower.run));
    let last = follower.look(|seen| seen.position);
    match at.filter(|at| *at < last) {
        Some(at) => follower.at(at, |picture| {
            let (place, row) = picture.table.get(id).ok_or_else(unknown)?;
            let row = TaskRowBody::of(picture, place, row, true, None);
            let question = picture.gates.waiting(id).cloned().map(|asked| (asked, Vec::new()));
            Ok(Standing { row, question, wait: None, position: at })
        })?,
        None => follower.look(|seen| {
            let (place, row) = seen.picture.table.get(id).ok_or_else(unknown)?;
            let row = TaskRowBody::of(&seen.picture, place, row, seen.live, seen.said.get(id));
            let question = seen.picture.gates.waiting(id).cloned();
            let question = question.map(|asked| (asked, seen.steps.of(id)));
            let wait = waits::of(seen, id).filter(|_| seen.live);
            Ok(Standing { row, question, wait, position: seen.position })
        }),
    }
}

fn told(
    hub: &Arc<Hub>,
    follower: &Follower,
    (id, standing): (&TaskId, Standing),
    events: &[Stamped],
) -> Result<TaskDetail, ApiError> {
    let Standing { row, question, wait, position } = standing;
    let words = row.waits.clone().unwrap_or_default();
    let waits_for = wait.map(|wait| waits::told(hub, &follower.run, &wait, &words));
    let report = fold(events).tasks.shift_remove(id).unwrap_or_default();
    let asked = question.map(|(asked, steps)| {
        let state = |seen: &Seen| (seen.picture.state.workflow.clone(), seen.picture.graph.clone());
        (asked, steps, follower.look(state))
    });
    let detail = follower.with_reader(|reader| {
        let question = match asked {
            Some((asked, steps, (workflow, graph))) => ask(reader, &asked.ask)?
                .map(|ask| Question::of(&follower.run, &workflow, &asked, &ask, steps, &graph)),
            None => None,
        };
        let (conversation, conversation_cut) = conversation(reader, events)?;
        let partial = report.attempts.iter().rev().find_map(|attempt| attempt.partial.as_ref());
        Ok(TaskDetail {
            waits_for: waits_for.unwrap_or_default(),
            row,
            tries: report.attempts.iter().map(|attempt| attempt_body(id, attempt, events)).collect(),
            prompt: None,
            output: value(reader, report.output.as_ref())?,
            conversation,
            conversation_cut,
            contract: contract(events),
            causes: causes(&report, events),
            question,
            partial: value(reader, partial)?,
            decisions: decisions(events),
            failed: report.failure.as_ref().map(|failure| FailureBody::of(failure, Some(id.to_string()))),
            position,
        })
    })?;
    Ok(detail)
}

/// How a task stands, or stood.
struct Standing {
    row: TaskRowBody,
    /// What it asks, and what led to it.
    question: Option<(convoke_view::Question, Vec<String>)>,
    wait: Option<convoke_view::Wait>,
    position: u64,
}

fn ask(reader: &Reader, payload: &Payload) -> Result<Option<Ask>, Error> {
    let text = text(reader, payload)?;
    Ok(text.and_then(|text| serde_json::from_str(text.as_str()).ok()))
}

fn text(reader: &Reader, payload: &Payload) -> Result<Option<JsonText>, Error> {
    match payload {
        Payload::Inline(text) => Ok(Some(text.clone())),
        Payload::Blob { digest, .. } => reader.blob(digest),
        Payload::Gathered => Ok(None),
    }
}

fn value(reader: &Reader, payload: Option<&Payload>) -> Result<Option<PayloadBody>, Error> {
    payload.map_or(Ok(None), |payload| PayloadBody::read(reader, payload))
}

fn attempt_body(task: &TaskId, attempt: &AttemptReport, events: &[Stamped]) -> AttemptBody {
    let is_lost = |event: &Event| matches!(event, Event::AttemptLost { attempt: number, .. } if *number == attempt.attempt);
    let end = match attempt {
        AttemptReport { ended_at: None, .. } => None,
        AttemptReport { failure: Some(_), .. } => Some("failed"),
        AttemptReport { suspended: true, .. } => Some("suspended"),
        _ if events.iter().any(|stamped| is_lost(&stamped.event)) => Some("lost"),
        _ => Some("done"),
    };
    AttemptBody {
        number: attempt.attempt,
        started: attempt.started_at,
        ended: attempt.ended_at,
        end: end.map(str::to_owned),
        failure: attempt.failure.as_ref().map(|failure| FailureBody::of(failure, Some(task.to_string()))),
        tokens: TokensBody::of(&attempt.usage),
        cost_micros: cost(&attempt.usage),
        performed_by: attempt.taken_by,
    }
}

/// The newest conversation, its end if it is long.
fn conversation(reader: &Reader, events: &[Stamped]) -> Result<(Vec<MessageBody>, usize), Error> {
    let records = events.iter().filter_map(|stamped| match &stamped.event {
        Event::TurnRecorded { piece, .. } => Some(piece),
        Event::AttemptSuspended { state, .. } => Some(state),
        _ => None,
    });
    let mut pieces = Vec::new();
    for payload in records {
        pieces.extend(text(reader, payload)?);
    }
    let accounts = Account::read(&pieces).unwrap_or_default();
    let messages = accounts.last().map(|account| account.messages.as_slice()).unwrap_or_default();
    let cut = messages.len().saturating_sub(MOST_SAID);
    Ok((messages[cut..].iter().flat_map(said).collect(), cut))
}

fn said(message: &Message) -> Vec<MessageBody> {
    let role = serde_json::to_value(message.role).ok();
    let role = role.as_ref().and_then(Value::as_str).unwrap_or("user").to_owned();
    let (text, cut) = shortened(&message.text);
    let result = message.result_of.as_ref();
    let own = MessageBody {
        role: role.clone(),
        text: Some(text),
        tool: result.map(|result| result.name.clone()),
        arguments: None,
        failed: result.is_some_and(|result| result.failed || result.unknown),
        cut,
    };
    let calls = message.tool_calls.iter().map(|call| {
        let (arguments, cut) = shortened(call.arguments.as_str());
        let (tool, arguments) = (Some(call.name.clone()), Some(arguments));
        MessageBody { role: role.clone(), text: None, tool, arguments, failed: false, cut }
    });
    let speaks = !message.text.is_empty() || message.tool_calls.is_empty();
    speaks.then_some(own).into_iter().chain(calls).collect()
}

fn shortened(text: &str) -> (String, Option<usize>) {
    let place = place_of(text, MOST_TEXT);
    let rest = text[place..].chars().count();
    (text[..place].to_owned(), (rest > 0).then_some(rest))
}

fn contract(events: &[Stamped]) -> Option<Value> {
    events.iter().rev().find_map(|stamped| match &stamped.event {
        Event::ContractResolved { contract, .. } => serde_json::to_value(contract).ok(),
        _ => None,
    })
}

fn causes(report: &TaskReport, events: &[Stamped]) -> Vec<CauseBody> {
    let cause = report.cause.iter().map(|cause| CauseBody {
        text: cause.to_string(),
        task: cause.task.as_ref().map(ToString::to_string),
    });
    let missed = events.iter().filter_map(|stamped| match &stamped.event {
        Event::OutputsMissed { missing, .. } => Some(missing),
        _ => None,
    });
    let missed = missed.flatten().map(|missing| CauseBody {
        text: "an output that it does without".to_owned(),
        task: Some(missing.task.to_string()),
    });
    cause.chain(missed).collect()
}

fn decisions(events: &[Stamped]) -> Vec<DecisionBody> {
    let decided = events.iter().filter_map(|stamped| {
        let (chosen, reason) = match &stamped.event {
            Event::GoalDecided(decided) => (decided.chosen.to_string(), decided.reason.clone()),
            Event::PhaseDecided(decided) => (decided.chosen.to_string(), decided.reason.clone()),
            Event::RouteTaken { to, on_error, .. } => {
                let to = to.as_ref().map_or("the end".to_owned(), ToString::to_string);
                (
                    to,
                    if *on_error {
                        "the step failed".to_owned()
                    } else {
                        "the route that matched".to_owned()
                    },
                )
            }
            _ => return None,
        };
        Some(DecisionBody { chosen, reason, at: stamped.at })
    });
    decided.collect()
}

fn prompt_body(prompt: Value) -> PromptBody {
    let Value::Object(fields) = prompt else { return PromptBody { parts: Vec::new() } };
    let parts = fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        prompt_part(name, &text)
    });
    PromptBody { parts: parts.collect() }
}

/// A part of a prompt, as much of it as is shown.
pub(crate) fn prompt_part(name: String, text: &str) -> PromptPart {
    let (text, cut) = shortened(text);
    PromptPart { name, text, cut }
}
