//! The shapes of what helpers of steps answer, and what such shapes are made of.

use convoke_model::{FieldType, OutputField, OutputSchema};
use indexmap::IndexMap;
use serde_json::Value;

/// What a judge answers.
pub(super) fn choice() -> OutputSchema {
    schema([
        ("winner", told(FieldType::String, "the mark of the best answer, without brackets")),
        ("reason", told(FieldType::String, "why it is the best")),
    ])
}

/// What an assessor answers.
pub(super) fn findings() -> OutputSchema {
    let kinds = ["contradiction", "unsupported_claim", "gap", "constraint_violation", "error"];
    let finding = object([
        ("kind", one_of(&kinds)),
        ("severity", one_of(&["low", "medium", "high", "critical"])),
        ("claim", told(FieldType::String, "the words of the answer that are wrong, or what is missing")),
        ("explanation", told(FieldType::String, "why, with the marks of the outputs that show it")),
        ("correction", told(FieldType::String, "what should be there instead")),
    ]);
    let list = listed(finding, "everything that is wrong with the answer; empty if nothing is");
    schema([("findings", list)])
}

pub(super) fn schema<const N: usize>(fields: [(&str, OutputField); N]) -> OutputSchema {
    OutputSchema { fields: named(fields) }
}

/// A map with these fields.
pub(super) fn object<const N: usize>(fields: [(&str, OutputField); N]) -> OutputField {
    OutputField { properties: Some(named(fields)), ..OutputField::of(FieldType::Object) }
}

/// Fields by name.
pub(super) fn named<const N: usize>(fields: [(&str, OutputField); N]) -> IndexMap<String, OutputField> {
    fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()
}

/// A field with a word about it.
pub(super) fn told(ty: FieldType, description: &str) -> OutputField {
    OutputField { description: Some(description.to_owned()), ..OutputField::of(ty) }
}

/// One of these words.
pub(super) fn one_of(words: &[&str]) -> OutputField {
    let choices = words.iter().map(|word| Value::from(*word)).collect();
    OutputField { choices: Some(choices), ..OutputField::of(FieldType::String) }
}

/// A list, with a word about it.
pub(super) fn listed(item: OutputField, description: &str) -> OutputField {
    OutputField { items: Some(Box::new(item)), ..told(FieldType::Array, description) }
}

/// The same field, which may be left out.
pub(super) fn optional(field: OutputField) -> OutputField {
    OutputField { required: false, ..field }
}
