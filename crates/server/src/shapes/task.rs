//! A task: one row of a table, and everything that its own page shows.

use super::{FailureBody, Heard, PayloadBody, Question, TokensBody, cost};
use convoke_model::{TaskId, Timestamp};
use convoke_view::{Picture, Row, Standing};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// Some tasks of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TasksBody {
    pub tasks: Vec<TaskRowBody>,
    /// How many there are that were asked for.
    pub total: usize,
    /// What `cursor` gives the next ones; null at the end.
    pub next: Option<String>,
    /// The number of the last event that is in them.
    pub position: u64,
    /// Why the journal cannot be read on: there may be more.
    pub problem: Option<String>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TaskRowBody {
    pub task: String,
    /// The node of the graph that it belongs to.
    pub node: String,
    /// Its own words, or its path as its author wrote it.
    pub title: String,
    /// The word for the kind of its node, where the plan is known.
    pub kind: Option<String>,
    /// The task that it stands in.
    pub parent: Option<String>,
    /// `waiting`, `blocked`, `running`, `done`, `failed`, `asks`, `skipped`, `cancelled`, `retrying` or `interrupted`.
    pub state: String,
    #[schema(value_type = u64)]
    pub since: Timestamp,
    #[schema(value_type = Option<u64>)]
    pub started: Option<Timestamp>,
    #[schema(value_type = Option<u64>)]
    pub ended: Option<Timestamp>,
    /// Time in the queue, waits that are over.
    pub queued_ms: u64,
    /// Time at work, attempts that are over.
    pub ran_ms: u64,
    pub attempts: u32,
    /// The first line of its last failure.
    pub failure: Option<String>,
    pub tokens: TokensBody,
    pub cost_micros: Option<u64>,
    /// What it waits for, in words.
    pub waits: Option<String>,
    /// What it does at this moment, where that is known.
    pub doing: Option<String>,
    #[schema(value_type = u64)]
    pub last_sign: Timestamp,
    /// The key of the item, where it is one of a fan-out.
    pub item: Option<String>,
    /// In which order tasks were first seen.
    pub order: usize,
    /// The number of the event that changed it last.
    pub changed: u64,
    /// The plan says that it will come, and nothing was seen of it yet.
    pub expected: bool,
    /// A question that a step asks on its way.
    pub aside: bool,
}

impl TaskRowBody {
    /// Of a row, and of what its task was heard to do; where no process drives the run, nothing runs.
    pub(crate) fn of(
        picture: &Picture,
        place: usize,
        row: &Row,
        live: bool,
        heard: Option<&Heard>,
    ) -> TaskRowBody {
        let (task, state) = (&row.task, &picture.state);
        let standing = match row.standing {
            Standing::Running if !live && row.attempts > 0 => Standing::Interrupted,
            standing => standing,
        };
        let title = state.titles.of(task).map(str::to_owned);
        TaskRowBody {
            task: task.to_string(),
            node: picture.graph.nearest(task),
            title: title.unwrap_or_else(|| convoke_view::words::task(task)),
            kind: state.kind(task).map(str::to_owned),
            parent: parent_of(picture, task).map(|parent| parent.to_string()),
            state: standing.word().to_owned(),
            since: row.since,
            started: row.started,
            ended: row.ended,
            queued_ms: millis(row.queued),
            ran_ms: millis(row.ran),
            attempts: row.attempts,
            failure: row.failure.clone(),
            tokens: TokensBody::of(&row.usage),
            cost_micros: cost(&row.usage),
            waits: row.waits.clone(),
            doing: heard.filter(|_| standing == Standing::Running).and_then(Heard::words),
            last_sign: heard.map_or(row.last_sign, |heard| heard.at.max(row.last_sign)),
            item: task.segments().last().and_then(|segment| segment.key),
            order: place,
            changed: row.changed,
            expected: row.is_expected(),
            aside: row.aside,
        }
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The task that another one stands in: the nearest of those around it that are tasks themselves. A role of a goal, say, is none.
pub(crate) fn parent_of(picture: &Picture, task: &TaskId) -> Option<TaskId> {
    std::iter::successors(convoke_view::owner(task), convoke_view::owner)
        .find(|around| picture.table.get(around).is_some())
}

/// Everything about one task.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TaskDetail {
    #[serde(flatten)]
    pub row: TaskRowBody,
    /// Each attempt.
    pub tries: Vec<AttemptBody>,
    /// What the last attempt was asked.
    pub prompt: Option<PromptBody>,
    pub output: Option<PayloadBody>,
    /// What its agent and its tools said to each other.
    pub conversation: Vec<MessageBody>,
    /// Whether the conversation is longer.
    pub conversation_cut: usize,
    /// What its last attempt may do and use.
    #[schema(value_type = Option<Object>)]
    pub contract: Option<serde_json::Value>,
    /// What it comes from.
    pub causes: Vec<CauseBody>,
    /// Why it waits.
    pub waits_for: Vec<WaitsFor>,
    /// What it asks a person.
    pub question: Option<Question>,
    /// What was there when its last attempt failed.
    pub partial: Option<PayloadBody>,
    /// What was decided about it, and why.
    pub decisions: Vec<DecisionBody>,
    /// Why it failed, whole.
    pub failed: Option<FailureBody>,
    /// The number of the last event that is in it.
    pub position: u64,
}

/// One attempt.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AttemptBody {
    pub number: u32,
    #[schema(value_type = u64)]
    pub started: Timestamp,
    #[schema(value_type = Option<u64>)]
    pub ended: Option<Timestamp>,
    /// `done`, `failed`, `suspended` or `lost`; null while it runs.
    pub end: Option<String>,
    pub failure: Option<FailureBody>,
    pub tokens: TokensBody,
    pub cost_micros: Option<u64>,
    /// The process that performed it, where that was not the run's own.
    pub performed_by: Option<u32>,
}

/// What an attempt was asked.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PromptBody {
    pub parts: Vec<PromptPart>,
}

/// A part of it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PromptPart {
    pub name: String,
    pub text: String,
    /// Characters that were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
}

/// A message of a conversation.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MessageBody {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    pub text: Option<String>,
    /// The tool that is called, or that gave this.
    pub tool: Option<String>,
    /// What it is called with, as JSON.
    pub arguments: Option<String>,
    /// Whether the call went wrong.
    pub failed: bool,
    /// Characters that were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
}

/// What a task comes from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CauseBody {
    pub text: String,
    pub task: Option<String>,
}

/// Something that a task waits for.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct WaitsFor {
    pub text: String,
    /// The limit, as `/capacity/{limit}` names it; null where it is something else.
    pub limit: Option<String>,
    /// Who holds it, those first that have held it longest.
    pub holders: Vec<HolderOf>,
    /// When it is expected; null where that is not known.
    #[schema(value_type = Option<u64>)]
    pub until: Option<Timestamp>,
}

/// Something that holds what is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HolderOf {
    pub run: Option<String>,
    /// Null where the run has not told it.
    pub task: Option<String>,
    /// For how long.
    pub held_ms: u64,
}

/// A decision.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DecisionBody {
    pub chosen: String,
    pub reason: String,
    #[schema(value_type = u64)]
    pub at: Timestamp,
}
