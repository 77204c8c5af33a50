//! What the roles of a goal answer, as one JSON Schema, for programs that read the answers.

use super::contracts;
use convoke_model::Role;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of every answer, by role.
pub fn goal_schema() -> Value {
    let shape = |role: &Role| (role.word().to_owned(), contracts::of(*role).json_schema());
    let one = |role: &Role| json!({ "$ref": format!("#/$defs/{}", role.word()) });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the roles of a goal answer",
        "type": "object",
        "anyOf": Role::ALL.iter().map(one).collect::<Vec<_>>(),
        "$defs": Role::ALL.iter().map(shape).collect::<Map<_, _>>(),
    })
}
