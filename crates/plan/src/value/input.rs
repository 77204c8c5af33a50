//! Reads inputs: from a command line, from an `input_mapping`, by look or by declared type.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ValueError;
use super::scalar::{python_float, python_integer};
use super::yaml;

/// The declared type of an input, an output field or a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// A text.
    String,
    /// A number; a boolean is none.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl InputType {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            InputType::String => "a text",
            InputType::Number => "a number",
            InputType::Boolean => "true or false",
            InputType::Array => "a list",
            InputType::Object => "a map",
        }
    }
}

/// Reads an input that is not declared: words, JSON and whatever Python takes for a number (`007`, `+49`) become
/// values, as in Conductor. An input that must stay a text is declared as one.
pub fn read_by_look(text: &str) -> Value {
    let trimmed = text.trim();
    let as_it_is = || Value::String(text.to_owned());
    match trimmed.to_ascii_lowercase().as_str() {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        "null" => return Value::Null,
        _ => {}
    }
    if trimmed.starts_with(['[', '{']) {
        return serde_json::from_str(trimmed).unwrap_or_else(|_| as_it_is());
    }
    let number = if trimmed.contains('.') { python_float(trimmed) } else { python_integer(trimmed) };
    number.unwrap_or_else(as_it_is)
}

/// Reads an input by its declared type; a text stays exactly as it is.
pub fn read_by_type(text: &str, input_type: InputType) -> Result<Value, ValueError> {
    let read = match input_type {
        InputType::String => Some(Value::String(text.to_owned())),
        InputType::Number => number(text.trim()),
        InputType::Boolean => boolean_word(text).map(Value::Bool),
        InputType::Array | InputType::Object => structure(text),
    };
    read.filter(|value| fits_type(value, input_type)).ok_or_else(|| ValueError::new(input_type.name(), text))
}

/// Reads a mapped input that is not declared: JSON if it is, else the text.
pub fn read_json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// JSON, or a list or map as a template prints it (`['a', 'b']`), which is YAML.
fn structure(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| yaml::read(text).ok())
}

/// Any finite number.
pub(super) fn number(text: &str) -> Option<Value> {
    python_integer(text).or_else(|| python_float(text))
}

/// The words for true and false.
pub(super) fn boolean_word(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a value has the declared type; null has none, and a boolean is no number.
pub fn fits_type(value: &Value, input_type: InputType) -> bool {
    match input_type {
        InputType::String => value.is_string(),
        InputType::Number => value.is_number(),
        InputType::Boolean => value.is_boolean(),
        InputType::Array => value.is_array(),
        InputType::Object => value.is_object(),
    }
}

/// What an optional input without a default is.
pub fn zero_value(input_type: InputType) -> Value {
    match input_type {
        InputType::String => Value::String(String::new()),
        InputType::Number => Value::from(0),
        InputType::Boolean => Value::Bool(false),
        InputType::Array => Value::Array(Vec::new()),
        InputType::Object => Value::Object(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn undeclared_inputs_are_read_by_their_look() {
        let cases = [
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("Null", json!(null)),
            ("5", json!(5)),
            ("-5", json!(-5)),
            ("0", json!(0)),
            ("0.5", json!(0.5)),
            ("1.20", json!(1.2)),
            ("[1, 2]", json!([1, 2])),
            ("{\"k\": \"v\"}", json!({"k": "v"})),
            ("[1,", json!("[1,")),
            ("007", json!(7)),
            ("+49", json!(49)),
            ("1.2.3", json!("1.2.3")),
            ("1e3", json!("1e3")),
            ("words", json!("words")),
            ("", json!("")),
        ];
        for (text, expected) in cases {
            assert_eq!(read_by_look(text), expected, "{text:?}");
        }
    }

    #[test]
    fn declared_inputs_are_read_by_their_type() {
        let good = [
            (InputType::String, "00501", json!("00501")),
            (InputType::String, "1.20", json!("1.20")),
            (InputType::String, "true", json!("true")),
            (InputType::Number, "007", json!(7)),
            (InputType::Number, "1e3", json!(1000.0)),
            (InputType::Boolean, "Yes", json!(true)),
            (InputType::Array, "[1]", json!([1])),
            (InputType::Array, "['a', 'b']", json!(["a", "b"])),
            (InputType::Object, "{\"a\": 1}", json!({"a": 1})),
        ];
        for (input_type, text, expected) in good {
            assert_eq!(read_by_type(text, input_type), Ok(expected), "{text:?}");
        }
        let bad = [
            (InputType::Number, "seven"),
            (InputType::Number, "inf"),
            (InputType::Boolean, "2"),
            (InputType::Array, "{}"),
            (InputType::Object, "text"),
        ];
        for (input_type, text) in bad {
            assert!(read_by_type(text, input_type).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_zero_value_has_its_type() {
        for input_type in
            [InputType::String, InputType::Number, InputType::Boolean, InputType::Array, InputType::Object]
        {
            assert!(fits_type(&zero_value(input_type), input_type));
            assert!(!fits_type(&Value::Null, input_type));
        }
        assert!(!fits_type(&json!(true), InputType::Number));
    }
}
