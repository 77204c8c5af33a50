//! A tool call as a step of its own: no model, one call, its data as the output.
//!
//! A tool that says it failed has failed the step. What comes back is the tool's data where it gives data, else its
//! text, read as JSON where it is an object or a list: `{"result": …}` unless it is an object.

use crate::driver::unused;
use crate::{Asker, EngineLink, Report, Tool, ToolResult, Toolbox};
use convoke_failpoint::failpoint;
use convoke_model::fit;
use convoke_model::{
    Assignment, AttemptEnd, Class, Failure, JsonText, OutputSchema, Servers, ToolWork, Usage,
};
use serde_json::{Value, json};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Makes the call.
pub async fn perform(
    toolbox: &dyn Toolbox,
    assignment: &Assignment,
    work: &ToolWork,
    link: &dyn EngineLink,
    cancel: CancellationToken,
) -> AttemptEnd {
    let named = |mut failure: Failure| {
        failure.message = format!("step `{}`: {}", assignment.step, failure.message);
        unused(failure)
    };
    let found = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(Class::Cancelled, "cancelled")),
        found = find(toolbox, assignment.into(), work) => found,
    };
    let tool = match found {
        Ok(tool) => tool,
        Err(failure) => return named(failure),
    };
    let begun = Instant::now();
    link.report(Report::ToolStarted { tool: tool.spec.name.clone() });
    failpoint!("agent.tool.found");
    let result = toolbox.call(assignment.into(), &work.servers, &tool, &work.arguments, cancel).await;
    failpoint!("agent.tool.called");
    let failed = result.as_ref().map_or(true, |result| result.failed);
    let ms = begun.elapsed().as_millis() as u64;
    link.report(Report::ToolCalled { tool: tool.spec.name.clone(), ms, failed });
    match result.and_then(|result| output(&tool, work.schema.as_ref(), result)) {
        Ok(output) => AttemptEnd::Finished { output, usage: Usage::default() },
        Err(failure) => named(failure),
    }
}

/// Only the server that is named is asked: the others need not even be there.
pub(crate) async fn find(toolbox: &dyn Toolbox, asker: Asker<'_>, work: &ToolWork) -> Result<Tool, Failure> {
    let named = work.servers.get_key_value(&work.server);
    let alone: Servers = named.map(|(name, server)| (name.clone(), server.clone())).into_iter().collect();
    let tools = toolbox.list(asker, &alone).await?;
    if let Some(tool) = tools.iter().find(|tool| tool.name == work.tool) {
        return Ok(tool.clone());
    }
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let message = format!("server `{}` has no tool `{}`", work.server, work.tool);
    let hint = match known.is_empty() {
        true => "it has none that may be used".to_owned(),
        false => format!("it has {}", known.join(", ")),
    };
    Err(Failure::new(Class::Fatal, message).reason("unknown_tool").hint(hint))
}

fn output(tool: &Tool, schema: Option<&OutputSchema>, result: ToolResult) -> Result<JsonText, Failure> {
    if result.failed {
        let message = format!("tool `{}` failed: {}", tool.spec.name, result.text.trim());
        return Err(Failure::new(Class::Fatal, message).reason("tool_failed"));
    }
    let output = match data(&result) {
        Value::Object(object) => object,
        other => serde_json::Map::from_iter([("result".to_owned(), other)]),
    };
    let violations = schema.map(|schema| fit::violations(schema, &output)).unwrap_or_default();
    if !violations.is_empty() {
        let message = format!("what `{}` gave does not fit: {}", tool.spec.name, violations.join("; "));
        return Err(Failure::new(Class::InvalidOutput, message).reason("schema_invalid"));
    }
    Ok(JsonText::of(&Value::Object(output)))
}

pub(crate) fn data(result: &ToolResult) -> Value {
    if let Some(structured) = &result.structured {
        return structured.value();
    }
    match serde_json::from_str(&result.text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => json!(result.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolSpec;

    fn tool() -> Tool {
        let spec = ToolSpec { name: "s__t".into(), description: String::new(), input_schema: json!({}) };
        Tool {
            server: "s".into(),
            name: "t".into(),
            spec,
            output_schema: None,
            repeatable: true,
            read_only: true,
            destructive: false,
        }
    }

    fn given(text: &str) -> ToolResult {
        ToolResult { text: text.into(), ..ToolResult::default() }
    }

    #[test]
    fn data_goes_before_text_and_text_is_read_where_it_is_data() {
        let of = |result| output(&tool(), None, result).unwrap().value();
        assert_eq!(of(given("plain 7")), json!({"result": "plain 7"}));
        assert_eq!(of(given("7")), json!({"result": "7"}));
        assert_eq!(of(given("[1, 2]")), json!({"result": [1, 2]}));
        assert_eq!(of(given("{\"n\": 1}")), json!({"n": 1}));
        let structured = Some(JsonText::of(&json!({"n": 2})));
        assert_eq!(of(ToolResult { structured, ..given("{\"n\": 1}") }), json!({"n": 2}));
    }

    #[test]
    fn a_tool_that_failed_fails_its_step() {
        let failed = ToolResult { failed: true, ..given("no such file\n") };
        let failure = output(&tool(), None, failed).unwrap_err();
        assert_eq!(
            (failure.class, failure.message.as_str()),
            (Class::Fatal, "tool `s__t` failed: no such file")
        );
    }

    #[test]
    fn a_declared_shape_is_held() {
        let schema: OutputSchema = serde_json::from_value(json!({"n": {"type": "number"}})).unwrap();
        assert!(output(&tool(), Some(&schema), given("{\"n\": 1}")).is_ok());
        let failure = output(&tool(), Some(&schema), given("none")).unwrap_err();
        assert_eq!(failure.class, Class::InvalidOutput);
    }
}
