//! Reads rendered outputs: the workflow's, a `$end` route's, an `output_template`'s.

use serde_json::Value;

use super::scalar::{python_float, python_integer};

/// Reads a rendered output by Conductor's rules: Python's words, JSON, numbers, else the text as it is.
pub fn read_output(text: &str) -> Value {
    let trimmed = text.trim();
    let as_it_is = || Value::String(text.to_owned());
    match trimmed {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        "true" | "false" | "null" => serde_json::from_str(trimmed).unwrap_or_else(|_| as_it_is()),
        _ if trimmed.starts_with(['{', '[', '"']) => {
            serde_json::from_str(trimmed).unwrap_or_else(|_| as_it_is())
        }
        _ if trimmed.contains('.') => python_float(trimmed).unwrap_or_else(as_it_is),
        _ => python_integer(trimmed).unwrap_or_else(as_it_is),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_are_read_as_conductor_reads_them() {
        let cases = [
            ("5", json!(5)),
            ("-5", json!(-5)),
            ("2.5", json!(2.5)),
            ("True", json!(true)),
            ("False", json!(false)),
            ("None", json!(null)),
            ("null", json!(null)),
            ("true", json!(true)),
            ("[1, 2]", json!([1, 2])),
            ("['words']", json!("['words']")),
            ("{\"k\": 5}", json!({"k": 5})),
            ("{not json", json!("{not json")),
            ("\"inner\"", json!("inner")),
            ("words", json!("words")),
            ("", json!("")),
            ("   ", json!("   ")),
            ("  7  ", json!(7)),
            ("5 apples", json!("5 apples")),
            ("line\nline", json!("line\nline")),
            ("007", json!(7)),
            ("+5", json!(5)),
            ("1e3", json!("1e3")),
            ("1.5e3", json!(1500.0)),
            (".5", json!(0.5)),
            ("1_000", json!(1000)),
            ("1__000", json!("1__000")),
            ("_1", json!("_1")),
            ("0x10", json!("0x10")),
            ("1.2.3", json!("1.2.3")),
            ("+1 555", json!("+1 555")),
            ("yes", json!("yes")),
            (" 4 ", json!(4)),
            ("inf", json!("inf")),
            ("1e999.0", json!("1e999.0")),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("123456789012345678901234567890", json!("123456789012345678901234567890")),
        ];
        for (text, expected) in cases {
            assert_eq!(read_output(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC*|[-+_.0-9eE \\[\\]{}\"a-z]{0,12}") {
            let _ = read_output(&text);
        }

        #[test]
        fn integers_come_back(number in any::<i64>()) {
            prop_assert_eq!(read_output(&number.to_string()), json!(number));
        }
    }
}
