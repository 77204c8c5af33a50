//! What a command's end means for its step.
//!
//! The output is standard output, standard error and exit code, with the fields of a JSON object on standard output on
//! top, which may cover the three. A declared shape makes such an object an obligation. An exit code that is not zero
//! is something to route on, not a failure; but where the declared object is missing it says why.

use crate::ScriptResult;
use convoke_model::excerpt::last_chars;
use convoke_model::fit;
use convoke_model::{Class, Failure, JsonText, OutputSchema, ScriptCall, reason};
use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// So many characters of what a command said last are told.
const TOLD: usize = 1000;

/// The step's output, or why what the command wrote does not fit.
pub fn output(step: &str, call: &ScriptCall, result: &ScriptResult) -> Result<JsonText, Failure> {
    if let Some(schema) = &call.schema {
        fits(&result.stdout, schema).map_err(|(reason, what)| match result.exit_code {
            0 => unfit(step, call, reason, &what),
            code => crashed(step, call, code, &result.stderr),
        })?;
    }
    Ok(JsonText::of(&merged(result)))
}

/// Everything that the command left. A failed attempt keeps it as its partial output.
pub fn leftovers(result: &ScriptResult) -> JsonText {
    JsonText::of(&plain(result))
}

/// Field texts are kept as they are, so that numbers keep their digits.
fn merged(result: &ScriptResult) -> IndexMap<String, Box<RawValue>> {
    let mut fields = plain(result);
    if result.stdout.trim_start().starts_with('{')
        && let Ok(object) = serde_json::from_str::<IndexMap<String, Box<RawValue>>>(&result.stdout)
    {
        fields.extend(object);
    }
    fields
}

fn plain(result: &ScriptResult) -> IndexMap<String, Box<RawValue>> {
    let raw = |value: Value| to_raw_value(&value).expect("text and numbers are JSON");
    IndexMap::from([
        ("stdout".to_owned(), raw(result.stdout.as_str().into())),
        ("stderr".to_owned(), raw(result.stderr.as_str().into())),
        ("exit_code".to_owned(), raw(result.exit_code.into())),
    ])
}

fn fits(stdout: &str, schema: &OutputSchema) -> Result<(), (&'static str, String)> {
    if stdout.trim().is_empty() {
        return Err(("empty", "it is empty".into()));
    }
    let value: Value =
        serde_json::from_str(stdout).map_err(|error| ("malformed", format!("it is not JSON: {error}")))?;
    let Some(object) = value.as_object() else {
        return Err(("wrong_type", format!("expected a JSON object, got {}", fit::describe(&value))));
    };
    let violations = fit::violations(schema, object);
    if violations.is_empty() { Ok(()) } else { Err(("schema_invalid", violations.join("; "))) }
}

fn unfit(step: &str, call: &ScriptCall, reason: &str, what: &str) -> Failure {
    let command = &call.command;
    let message =
        format!("step `{step}`: standard output of `{command}` does not fit the declared schema: {what}");
    Failure::new(Class::InvalidOutput, message)
        .reason(reason)
        .hint("write one JSON object with the declared fields to standard output, and logs to standard error")
}

/// A command that broke off is told as that, by the end of what it said, and not by what it did not come to write.
fn crashed(step: &str, call: &ScriptCall, code: i32, stderr: &str) -> Failure {
    let said = match last_chars(stderr.trim(), TOLD) {
        "" => String::new(),
        said => format!(": {said}"),
    };
    let message = format!("step `{step}`: `{}` ended with exit code {code}{said}", call.command);
    Failure::new(Class::InvalidOutput, message).reason(reason::EXIT_CODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(schema: Option<Value>) -> ScriptCall {
        let schema = schema.map(|schema| serde_json::from_value(schema).unwrap());
        let command = "tool".into();
        ScriptCall {
            command,
            args: vec![],
            env: vec![],
            working_dir: None,
            stdin: None,
            schema,
            idle: None,
            key: None,
            survival: None,
        }
    }

    fn result(stdout: &str) -> ScriptResult {
        ScriptResult { stdout: stdout.into(), stderr: "e".into(), exit_code: 2 }
    }

    #[test]
    fn plain_text_stays_in_stdout() {
        for stdout in ["two\nlines\n", "[1, 2]", "{oops", ""] {
            let output = output("s", &call(None), &result(stdout)).unwrap();
            assert_eq!(output.value(), json!({"stdout": stdout, "stderr": "e", "exit_code": 2}));
        }
    }

    #[test]
    fn fields_of_an_object_lie_on_top() {
        let stdout = " {\"exit_code\": 9, \"ok\": 1.50}\n";
        let output = output("s", &call(None), &result(stdout)).unwrap();
        let wanted = "{\"stdout\":\" {\\\"exit_code\\\": 9, \\\"ok\\\": 1.50}\\n\",\"stderr\":\"e\",\"exit_code\":9,\"ok\":1.50}";
        assert_eq!(output.as_str(), wanted);
    }

    #[test]
    fn a_declared_shape_is_an_obligation() {
        let result = |stdout: &str| ScriptResult { exit_code: 0, ..result(stdout) };
        let reason = |schema: Value, stdout: &str| {
            output("bad", &call(Some(schema)), &result(stdout)).unwrap_err().reason.unwrap()
        };
        assert_eq!(reason(json!({"n": {"type": "number"}}), "{\"n\": \"four\"}"), "schema_invalid");
        assert_eq!(reason(json!({}), "text"), "malformed");
        assert_eq!(reason(json!({}), "[1]"), "wrong_type");
        assert_eq!(reason(json!({}), "\n"), "empty");
        let failure =
            output("bad", &call(Some(json!({"n": {"type": "number"}}))), &result("{}")).unwrap_err();
        assert_eq!(
            failure.message,
            "step `bad`: standard output of `tool` does not fit the declared schema: field `n` is missing: expected number"
        );
    }

    #[test]
    fn a_command_that_broke_off_is_told_by_its_exit_code_and_its_last_words() {
        let told = |stderr: &str| {
            let result = ScriptResult { stdout: "half {".into(), stderr: stderr.into(), exit_code: 3 };
            output("bad", &call(Some(json!({}))), &result).unwrap_err()
        };
        let failure = told("Traceback\nno module named x\n");
        assert_eq!(
            failure.message,
            "step `bad`: `tool` ended with exit code 3: Traceback\nno module named x"
        );
        assert_eq!(failure.reason.as_deref(), Some(reason::EXIT_CODE));
        assert_eq!(told(" \n").message, "step `bad`: `tool` ended with exit code 3");
        let long = told(&format!("{}the end", "é".repeat(5000))).message;
        assert!(long.ends_with("the end") && long.chars().count() < 1100, "{long}");
        // What it declares is there: its exit code is something to route on.
        assert!(output("ok", &call(Some(json!({}))), &result("{}")).is_ok());
    }
}
