//! What of an event may be told without its contents: its name, and those fields that hold nothing that was said.

use super::record::Severity;
use convoke_model::{Event, RunStatus};
use serde_json::Value;

/// Fields that hold nothing that was said.
const TOLD: [&str; 7] = ["task", "attempt", "status", "tool", "ms", "usage", "code"];

/// Those of a failure: its words may quote an answer.
const OF_A_FAILURE: [&str; 2] = ["class", "reason"];

/// An event by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// The name of the event, as `docs/reference/events.md` has it.
    pub name: String,
    /// What may be told of it.
    pub values: Vec<(&'static str, Value)>,
}

impl Fields {
    /// The value of a field.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.values.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
    }
}

/// The name of an event, and what may be told of it.
pub fn fields(event: &Event) -> Fields {
    let (name, fields) = match serde_json::to_value(event).unwrap_or_default() {
        Value::Object(object) => object.into_iter().next().unwrap_or_default(),
        Value::String(name) => (name, Value::Null),
        _ => Default::default(),
    };
    let own = TOLD.iter().filter_map(|key| Some((*key, stated(fields.get(key))?)));
    let failure = fields.get("failure");
    let why = OF_A_FAILURE.iter().filter_map(|key| Some((*key, stated(failure?.get(key))?)));
    Fields { name, values: own.chain(why).collect() }
}

fn stated(value: Option<&Value>) -> Option<Value> {
    value.filter(|value| !value.is_null()).cloned()
}

/// How grave an event is.
pub(super) fn severity(event: &Event) -> Severity {
    match event {
        Event::RunFinished { status: RunStatus::Failed, .. } | Event::TaskFailed { .. } => Severity::Error,
        Event::AttemptFailed { .. }
        | Event::AttemptLost { .. }
        | Event::CallLost { .. }
        | Event::Fenced { .. }
        | Event::BudgetSpent(_)
        | Event::BudgetExceeded { .. }
        | Event::WorkspaceConflicted(_)
        | Event::ToolCalled { failed: true, .. }
        | Event::EffectCommitted { failed: true, .. }
        | Event::HookRendered { failed: true, .. } => Severity::Warn,
        Event::Blocked { .. }
        | Event::LimitsSeen(_)
        | Event::LimitAdapted(_)
        | Event::ToolsSettled { .. }
        | Event::ProcessStarted { .. }
        | Event::EffectClaimed { .. }
        | Event::EffectCommitted { .. }
        | Event::ContextTrimmed { .. }
        | Event::RetryScheduled { .. }
        | Event::TaskWoken { .. } => Severity::Debug,
        _ => Severity::Info,
    }
}

/// Whether an event has a record of its own: what is written down of a conversation has none, and a call has one by another name.
pub(super) fn has_record(event: &Event) -> bool {
    !matches!(event, Event::TurnRecorded { .. } | Event::CallReserved { .. } | Event::ModelCalled { .. })
}
