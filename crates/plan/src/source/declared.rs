//! Declared shapes: from the file's form to the shared one.

use crate::plan::Input;
use crate::source::output::OutputField as SourceField;
use crate::source::workflow::{Entry, InputField, OutputSchema as SourceSchema, ValueType};
use convoke_model::{FieldType, OutputField, OutputSchema};
use indexmap::IndexMap;

/// The shape of an output.
pub(crate) fn schema(source: &SourceSchema) -> OutputSchema {
    OutputSchema { fields: properties(&source.fields) }
}

/// One declared input.
pub(crate) fn input(source: &InputField) -> Input {
    Input {
        ty: field_type(source.kind.value),
        required: source.required,
        default: source.default.as_ref().map(|default| default.value.clone()),
        description: source.description.as_ref().map(|text| text.value.clone()),
        rule: source.rule,
        files: source.files,
    }
}

fn properties(source: &IndexMap<String, Entry<SourceField>>) -> IndexMap<String, OutputField> {
    source.iter().map(|(name, entry)| (name.clone(), field(&entry.value))).collect()
}

fn field(source: &SourceField) -> OutputField {
    OutputField {
        ty: field_type(source.kind.value),
        description: source.description.as_ref().map(|text| text.value.clone()),
        items: source.items.as_ref().map(|items| Box::new(field(items))),
        properties: source.properties.as_ref().map(properties),
        choices: source.allowed.clone(),
        pattern: source.pattern.as_ref().map(|text| text.value.clone()),
        minimum: source.minimum,
        maximum: source.maximum,
        min_length: source.min_length,
        max_length: source.max_length,
        required: source.required,
        nullable: source.nullable,
        integer: source.integer,
        refers: false,
    }
}

fn field_type(source: ValueType) -> FieldType {
    match source {
        ValueType::String => FieldType::String,
        ValueType::Number => FieldType::Number,
        ValueType::Boolean => FieldType::Boolean,
        ValueType::Array => FieldType::Array,
        ValueType::Object => FieldType::Object,
        ValueType::Any => FieldType::Any,
    }
}
