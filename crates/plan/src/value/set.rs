//! Reads what a `set` step rendered.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ValueError;
use super::input::{boolean_word, number};
use super::scalar::python_integer;
use super::yaml::{self, Fault};

/// The `output_type` of a `set` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetType {
    /// Whatever the text looks like as YAML.
    #[default]
    Auto,
    /// The text itself.
    String,
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// A map.
    Dict,
}

/// Reads the rendered text of a `set` step.
pub fn read_set(text: &str, output_type: SetType) -> Result<Value, ValueError> {
    match output_type {
        SetType::Auto => read_auto(text),
        SetType::String => Ok(Value::String(text.to_owned())),
        SetType::Number => number(text.trim()).ok_or_else(|| ValueError::new("a number", text)),
        SetType::Integer => python_integer(text.trim()).ok_or_else(|| ValueError::new("an integer", text)),
        SetType::Boolean => {
            boolean_word(text).map(Value::Bool).ok_or_else(|| ValueError::new("true or false", text))
        }
        SetType::List => structure(text, "a list", Value::is_array),
        SetType::Dict => structure(text, "a map", Value::is_object),
    }
}

/// The text as YAML; what is not YAML stays a text, and so does what YAML would swallow as a comment.
fn read_auto(text: &str) -> Result<Value, ValueError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Value::String(String::new()));
    }
    if trimmed.starts_with('#') {
        return Ok(Value::String(text.to_owned()));
    }
    match yaml::read(text) {
        Ok(value) => Ok(value),
        Err(Fault::NotYaml) => Ok(Value::String(text.to_owned())),
        Err(Fault::Key(key)) => Err(ValueError::new(format!("texts as the keys of a map, not {key}"), text)),
    }
}

fn structure(text: &str, expected: &str, fits: fn(&Value) -> bool) -> Result<Value, ValueError> {
    match yaml::read(text) {
        Ok(value) if fits(&value) => Ok(value),
        Err(Fault::Key(key)) => Err(ValueError::new(format!("texts as the keys of a map, not {key}"), text)),
        _ => Err(ValueError::new(expected, text)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn auto_reads_yaml() {
        let cases = [
            ("5", json!(5)),
            ("1.50", json!(1.5)),
            ("true", json!(true)),
            ("True", json!(true)),
            ("yes", json!("yes")),
            ("[1, two, {k: v}]", json!([1, "two", {"k": "v"}])),
            ("a: b", json!({"a": "b"})),
            ("- x\n- y", json!(["x", "y"])),
            ("null", json!(null)),
            ("~", json!(null)),
            ("", json!("")),
            ("  \n ", json!("")),
            ("2024-01-01", json!("2024-01-01")),
            ("0123", json!(123)),
            ("1e3", json!(1000.0)),
            ("'42'", json!("42")),
            ("[1, 'x']", json!([1, "x"])),
            ("[1, 'x', True, None]", json!([1, "x", true, "None"])),
            ("gave up after 3", json!("gave up after 3")),
            ("{broken", json!("{broken")),
            ("# Heading\nbody", json!("# Heading\nbody")),
            (".inf", json!(".inf")),
            ("a\n---\nb", json!("a\n---\nb")),
            ("!!str 5", json!("5")),
            ("!odd 5", json!("!odd 5")),
            ("[&a [1], *a]", json!([[1], [1]])),
            (" 7 ", json!(7)),
        ];
        for (text, expected) in cases {
            assert_eq!(read_set(text, SetType::Auto), Ok(expected), "{text:?}");
        }
        assert!(read_set("1: a", SetType::Auto).is_err());
    }

    #[test]
    fn an_output_type_forces_the_type() {
        let good = [
            (SetType::String, "5", json!("5")),
            (SetType::Number, "5", json!(5)),
            (SetType::Number, " 2.5 ", json!(2.5)),
            (SetType::Integer, " 7 ", json!(7)),
            (SetType::Boolean, "true", json!(true)),
            (SetType::Boolean, " No ", json!(false)),
            (SetType::List, "[1, 2]", json!([1, 2])),
            (SetType::Dict, "{\"k\": 1}", json!({"k": 1})),
        ];
        for (output_type, text, expected) in good {
            assert_eq!(read_set(text, output_type), Ok(expected), "{text:?}");
        }
        let bad = [
            (SetType::Number, "five"),
            (SetType::Integer, "7.5"),
            (SetType::Boolean, "maybe"),
            (SetType::List, "{a: 1}"),
            (SetType::Dict, "[1]"),
        ];
        for (output_type, text) in bad {
            assert!(read_set(text, output_type).is_err(), "{text:?}");
        }
    }

    #[test]
    fn aliases_do_not_multiply_without_end() {
        let mut text = "a: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            text.push_str(&format!("b{level}: &a{level} [{}]\n", [before.as_str(); 9].join(",")));
        }
        assert_eq!(read_set(&text, SetType::Auto), Ok(json!(text)));
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC*|[-:?&*!|>'\"%@`{}\\[\\], \\n#a0]{0,16}") {
            for output_type in [SetType::Auto, SetType::String, SetType::Number, SetType::List, SetType::Dict] {
                let _ = read_set(&text, output_type);
            }
        }

        #[test]
        fn json_is_read_as_itself(number in any::<i64>(), word in "[a-z]{1,8}") {
            let value = json!({"n": number, "list": [word.clone(), null, true], "text": word});
            prop_assert_eq!(read_set(&value.to_string(), SetType::Auto), Ok(value));
        }
    }
}
