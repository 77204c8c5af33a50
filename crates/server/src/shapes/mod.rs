//! What the API says, as data. The page and every other caller know these shapes from the OpenAPI document.
//!
//! Times are microseconds since 1970 in UTC. A cost that is not known is null and never 0. What is shortened says so.
#![allow(missing_docs, reason = "a field has words in the document where its name does not say it")]

mod capacity;
mod doing;
mod graph;
mod payload;
mod question;
mod run;
mod steps;
mod task;
mod timeline;

pub(crate) use capacity::unit_of;
pub use capacity::{CapacityBody, HolderBody, InstanceBody, LimitBody};
pub(crate) use doing::Heard;
pub(crate) use graph::GraphBody;
pub use payload::PayloadBody;
pub(crate) use question::{InboxBody, grouped};
pub use question::{Question, QuestionField, QuestionOption};
pub use run::RunHead;
pub(crate) use run::{FailureBody, RunEnd, RunRowBody, RunsBody, TokensBody, TotalsBody};
pub(crate) use steps::LastSteps;
pub use task::{AttemptBody, MessageBody, TaskDetail, WaitsFor};
pub(crate) use task::{
    CauseBody, DecisionBody, HolderOf, PromptBody, PromptPart, TaskRowBody, TasksBody, millis, parent_of,
};
pub(crate) use timeline::TimelineBody;

use convoke_model::Usage;

/// What is known of a cost; `None` where a call's cost is not known.
pub(crate) fn cost(usage: &Usage) -> Option<u64> {
    (usage.unpriced_calls == 0).then_some(usage.cost_micros)
}
