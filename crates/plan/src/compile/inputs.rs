//! Compares the inputs of a run with what its workflow declares, before anything is spent.
//!
//! With a declaration: texts are read by the declared type, defaults and zero values are filled in, and every name or
//! value that does not fit is reported. Without one, anything is taken and texts are read by their look.

use crate::plan::{Input, InputRule, Workflow};
use crate::value::{InputType, read_by_look, read_by_type, zero_value};
use convoke_model::FieldType;
use convoke_model::nearest;
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// A value as it was given.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenInput {
    /// Text, as from a command line: read by the declared type.
    Text(String),
    /// A value of known type.
    Json(Value),
}

/// An input that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// The inputs of a run, complete and of the declared types, or everything that is wrong with them.
pub fn check_inputs(
    workflow: &Workflow,
    given: &[(String, GivenInput)],
) -> Result<Map<String, Value>, Vec<InputError>> {
    match &workflow.inputs {
        Some(declared) => check_declared(declared, given),
        None => Ok(given.iter().map(|(name, value)| (name.clone(), by_look(value))).collect()),
    }
}

/// The same for inputs that something else than a workflow declares.
pub fn check_declared(
    declared: &IndexMap<String, Input>,
    given: &[(String, GivenInput)],
) -> Result<Map<String, Value>, Vec<InputError>> {
    let mut errors: Vec<_> = given.iter().filter_map(|(name, _)| undeclared(declared, name)).collect();
    let mut inputs = Map::new();
    for (name, input) in declared {
        let last = given.iter().rev().find(|(other, _)| other == name);
        let value = value(name, input, last.map(|(_, value)| value));
        match value.and_then(|value| fitting(name, input, value)) {
            Ok(value) => drop(inputs.insert(name.clone(), value)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(inputs) } else { Err(errors) }
}

fn by_look(given: &GivenInput) -> Value {
    match given {
        GivenInput::Text(text) => read_by_look(text),
        GivenInput::Json(value) => value.clone(),
    }
}

fn value(name: &str, input: &Input, given: Option<&GivenInput>) -> Result<Value, InputError> {
    let wrong = |message: String| InputError { name: name.to_owned(), message, help: described(input) };
    match given {
        Some(GivenInput::Text(text)) => read_by_type(text, input_type(input.ty))
            .map_err(|error| wrong(format!("input `{name}` must be of type {}: {error}", input.ty.word()))),
        Some(GivenInput::Json(value)) if input.ty.fits(value) => Ok(value.clone()),
        Some(GivenInput::Json(value)) => Err(wrong(format!(
            "input `{name}` must be of type {}, not {}",
            input.ty.word(),
            type_word(value)
        ))),
        None => match (&input.default, input.required) {
            (Some(default), _) => Ok(default.clone()),
            (None, false) => Ok(zero_value(input_type(input.ty))),
            (None, true) => Err(wrong(format!("input `{name}` is required and was not given"))),
        },
    }
}

/// A value that is what its input must be besides its type.
fn fitting(name: &str, input: &Input, value: Value) -> Result<Value, InputError> {
    let wrong = match (input.rule, &value) {
        (InputRule::Filled, Value::String(text)) if text.trim().is_empty() => Some("is empty".to_owned()),
        (InputRule::Parts, Value::Array(items)) => unfit_parts(items),
        _ => None,
    };
    let error = |why| InputError {
        name: name.to_owned(),
        message: format!("input `{name}` {why}"),
        help: described(input),
    };
    wrong.map_or(Ok(value), |why| Err(error(why)))
}

/// What keeps a list from being asked about item by item.
fn unfit_parts(items: &[Value]) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    let twice = items.iter().enumerate().find(|(_, item)| !seen.insert(item.to_string()));
    let empty = items.iter().position(|item| item.as_str().is_some_and(|text| text.trim().is_empty()));
    match (items.is_empty(), twice, empty) {
        (true, ..) => Some("is empty: no agent would run".to_owned()),
        (_, Some((at, item)), _) => Some(format!("holds {item} twice (again at position {})", at + 1)),
        (.., Some(at)) => Some(format!("holds an empty text at position {}", at + 1)),
        _ => None,
    }
}

fn described(input: &Input) -> Option<String> {
    input.description.as_ref().map(|text| format!("{text} ({})", input.ty.word()))
}

fn undeclared(declared: &IndexMap<String, Input>, name: &str) -> Option<InputError> {
    if declared.contains_key(name) {
        return None;
    }
    let names: Vec<&str> = declared.keys().map(String::as_str).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "this workflow takes no inputs".to_owned(),
        None => format!("this workflow takes {}", names.join(", ")),
    };
    let message = format!("input `{name}` is not declared by this workflow");
    Some(InputError { name: name.to_owned(), message, help: Some(help) })
}

fn input_type(ty: FieldType) -> InputType {
    match ty {
        FieldType::String => InputType::String,
        FieldType::Number => InputType::Number,
        FieldType::Boolean => InputType::Boolean,
        FieldType::Array => InputType::Array,
        FieldType::Object => InputType::Object,
        FieldType::Any => unreachable!("inputs have one of five types"),
    }
}

fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
