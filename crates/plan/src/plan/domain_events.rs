//! The domain events that every manifest knows: what each says, and the shape of what is said about it.
//!
//! Three of them follow from how a try ended and are announced with its end; none is announced against its status, but for
//! `task_blocked` where the manifest says so.

use super::{On, Pipeline};
use convoke_model::{FieldType, OutputField, OutputSchema};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The kinds of domain events that every manifest knows.
pub const STANDARD_EVENTS: &[&str] = &[
    "requirements_defined",
    "tasks_planned",
    "code_committed",
    "task_blocked",
    "task_ready_for_review",
    "validation_passed",
    "validation_failed",
    "branch_merged",
    "merge_conflict_detected",
    "merge_conflict_resolved",
    "merge_conflict_unresolved",
    "merge_retry_started",
];

/// What follows from a failure, and what a worker may announce whatever its status is, where the manifest says so.
pub const TASK_BLOCKED: &str = "task_blocked";

/// The fields of every payload, none of which is demanded; whatever else stands there is kept as it is.
const FIELDS: [(&str, FieldType, &str); 4] = [
    ("summary", FieldType::String, "what happened, in a sentence"),
    ("details", FieldType::Any, "everything else about it"),
    ("errorCode", FieldType::String, "what kind of problem, where it is one"),
    (
        "artifactPointer",
        FieldType::String,
        "where what came of it is found: a path, a branch, a commit, an address",
    ),
];

static STANDARD: LazyLock<OutputSchema> = LazyLock::new(|| {
    let field = |(name, ty, about): &(&str, FieldType, &str)| {
        let described = OutputField { description: Some((*about).to_owned()), ..OutputField::of(*ty) };
        ((*name).to_owned(), OutputField { required: false, nullable: true, ..described })
    };
    OutputSchema { fields: FIELDS.iter().map(field).collect() }
});

impl Pipeline {
    /// Whether a persona may announce events of a kind.
    pub fn knows(&self, kind: &str) -> bool {
        STANDARD_EVENTS.contains(&kind) || self.events.iter().any(|(known, _)| known == kind)
    }

    /// Whether a worker that ends with a status may name an event of a kind.
    pub fn fits(&self, kind: &str, status: &str) -> bool {
        let lenient = self.blocked_any_status && kind == TASK_BLOCKED;
        lenient || follows_from(kind).is_none_or(|follows| follows.word() == status)
    }

    /// The shape of what is said about an event of a kind, where it has one.
    pub fn shape(&self, kind: &str) -> Option<&OutputSchema> {
        if STANDARD_EVENTS.contains(&kind) {
            return Some(&STANDARD);
        }
        self.events.iter().find(|(known, _)| known == kind).and_then(|(_, shape)| shape.as_ref())
    }
}

/// The status that an event follows from, where it follows from one.
pub fn follows_from(kind: &str) -> Option<On> {
    match kind {
        "validation_passed" => Some(On::Success),
        "validation_failed" => Some(On::ValidationFail),
        TASK_BLOCKED => Some(On::Failure),
        _ => None,
    }
}

/// The shapes of all standard events as one JSON Schema, each under its name in `$defs`.
pub fn domain_event_schema() -> Value {
    let shape = |kind: &&str| ((*kind).to_owned(), STANDARD.json_schema());
    let shapes: Map<String, Value> = STANDARD_EVENTS.iter().map(shape).collect();
    let one = |kind: &&str| {
        json!({
            "properties": { "type": { "const": kind }, "payload": { "$ref": format!("#/$defs/{kind}") } },
            "required": ["type"],
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Standard domain events of persona pipelines",
        "type": "object",
        "oneOf": STANDARD_EVENTS.iter().map(one).collect::<Vec<_>>(),
        "$defs": shapes,
    })
}
