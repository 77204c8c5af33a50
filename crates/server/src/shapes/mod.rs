//! What the API says, as data. The page and every other caller know these shapes from the OpenAPI document.
//!
//! Times are microseconds since 1970 in UTC. A cost that is not known is null and never 0. What is shortened says so.

mod capacity;
mod doing;
mod graph;
mod payload;
mod question;
mod run;
mod steps;
mod task;
mod timeline;

pub(crate) use capacity::{CapacityBody, InstanceBody, unit_of};
pub(crate) use doing::Heard;
pub(crate) use graph::GraphBody;
pub(crate) use payload::PayloadBody;
pub(crate) use question::{InboxBody, Question, grouped};
pub(crate) use run::{FailureBody, RunEnd, RunHead, RunRowBody, RunsBody, TokensBody, TotalsBody};
pub(crate) use steps::LastSteps;
pub(crate) use task::{
    AttemptBody, CauseBody, DecisionBody, HolderOf, MessageBody, PromptBody, PromptPart, TaskDetail,
    TaskRowBody, TasksBody, WaitsFor, millis, parent_of,
};
pub(crate) use timeline::TimelineBody;

use convoke_model::Usage;

/// What is known of a cost; `None` where a call's cost is not known.
pub(crate) fn cost(usage: &Usage) -> Option<u64> {
    (usage.unpriced_calls == 0).then_some(usage.cost_micros)
}
