//! The shape of what a try of a phase answers.

use super::shapes::{listed, named, object, one_of, optional, told};
use convoke_model::{FieldType, OutputField, OutputSchema};

/// The contract of a try; what runs share is in it only for phases that may change it.
pub(super) fn contract(changes_project: bool) -> OutputSchema {
    let event = object([
        ("type", told(FieldType::String, "what happened")),
        ("payload", optional(told(FieldType::Object, "what is said about it"))),
    ]);
    let child = object([
        ("persona", told(FieldType::String, "who is to do it")),
        ("task", told(FieldType::Any, "what is to be done, with everything needed for it")),
    ]);
    let fields = [
        ("status", status()),
        ("payload", optional(told(FieldType::Object, "what the phases after this one need"))),
        ("events", optional(listed(event, "what happened that others wait for"))),
        ("flags", optional(told(FieldType::Object, "flags to set, each true or false"))),
        (
            "metadata",
            optional(told(FieldType::Object, "values to keep for later phases; null takes one away")),
        ),
        ("project", optional(told(FieldType::Object, "changes of what runs of the project share"))),
        ("failure_kind", optional(one_of(&["soft", "hard"]))),
        ("failure_code", optional(told(FieldType::String, "the class of the failure"))),
        ("reason", optional(told(FieldType::String, "why it is no success"))),
        ("children", optional(listed(child, "work for others"))),
    ];
    let mut fields = named(fields);
    if !changes_project {
        fields.shift_remove("project");
    }
    OutputSchema { fields }
}

fn status() -> OutputField {
    one_of(&["success", "validation_fail", "failure"])
}
