//! What a model gave a tool of ours, checked against the tool's own schema.

use super::specs;
use convoke_agent::ToolResult;
use convoke_model::{JsonText, Server};
use serde_json::Value;

/// The arguments, or what is wrong with them.
pub(super) fn given(server: &Server, tool: &str, arguments: &JsonText) -> Result<Value, ToolResult> {
    let catalogue = specs::catalogue(server);
    let Some(entry) = catalogue.get(tool) else {
        let why = format!("tool `{tool}` was not found; there are {}", catalogue.names());
        return Err(crate::mcp::content::failed(why));
    };
    entry.arguments(arguments.value()).map(Value::Object)
}

/// A text among the arguments; the schema says that those that must be there are.
pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}

/// A number among the arguments.
pub(super) fn number(arguments: &Value, name: &str) -> Option<usize> {
    usize::try_from(arguments.get(name)?.as_u64()?).ok()
}

/// Yes or no among the arguments; not said is no.
pub(super) fn flag(arguments: &Value, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// One text, or a list of them.
pub(super) fn texts(arguments: &Value, name: &str) -> Vec<String> {
    match arguments.get(name) {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
