//! The shapes of what helpers of reduce and verify steps answer.

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
    let mut list = told(FieldType::Array, "everything that is wrong with the answer; empty if nothing is");
    list.items = Some(Box::new(finding));
    schema([("findings", list)])
}

pub(super) fn schema<const N: usize>(fields: [(&str, OutputField); N]) -> OutputSchema {
    OutputSchema { fields: named(fields) }
}

pub(super) fn object<const N: usize>(fields: [(&str, OutputField); N]) -> OutputField {
    OutputField { properties: Some(named(fields)), ..OutputField::of(FieldType::Object) }
}

fn named<const N: usize>(fields: [(&str, OutputField); N]) -> IndexMap<String, OutputField> {
    fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()
}

pub(super) fn told(ty: FieldType, description: &str) -> OutputField {
    OutputField { description: Some(description.to_owned()), ..OutputField::of(ty) }
}

pub(super) fn one_of(words: &[&str]) -> OutputField {
    let choices = words.iter().map(|word| Value::from(*word)).collect();
    OutputField { choices: Some(choices), ..OutputField::of(FieldType::String) }
}
