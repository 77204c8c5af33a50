//! What the duties of a goal answer, as one JSON Schema for whoever works with the answers.

use super::contracts;
use convoke_model::Duty;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of every answer, by duty.
pub fn goal_schema() -> Value {
    let shape = |duty: &Duty| (duty.word().to_owned(), contracts::of(*duty).json_schema());
    let one = |duty: &Duty| json!({ "$ref": format!("#/$defs/{}", duty.word()) });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the duties of a goal answer",
        "type": "object",
        "anyOf": Duty::ALL.iter().map(one).collect::<Vec<_>>(),
        "$defs": Duty::ALL.iter().map(shape).collect::<Map<_, _>>(),
    })
}
