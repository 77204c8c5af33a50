//! What is sent, in the words that the service understands.

use crate::refusal::Optional;
use convoke_agent::{Message, Request, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

/// Parameters that a model may refuse, besides the limit of tokens.
const OPTIONAL: [Optional; 5] = [
    ("response_format", FORMAT),
    ("json_schema", FORMAT),
    ("stream_options", STREAM_OPTIONS),
    ("temperature", TEMPERATURE),
    ("reasoning_effort", REASONING),
];
const FORMAT: &str = "response_format";
const STREAM_OPTIONS: &str = "stream_options";
const TEMPERATURE: &str = "temperature";
const REASONING: &str = "reasoning_effort";
/// The limit of tokens has two names. A service that refuses one is sent the other.
const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// How a service differs from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// It takes the shape of the answer as a parameter.
    pub json_schema: bool,
    /// It is OpenAI's own, and no imitation.
    pub is_original: bool,
}

impl Dialect {
    /// The parameters that the service may refuse of a request that leaves these out.
    pub fn optional(self, left_out: &[&str]) -> Vec<Optional> {
        // There is no third name: a service that refuses both is not content with anything.
        let has_other = [MAX_TOKENS, MAX_COMPLETION_TOKENS].iter().any(|name| left_out.contains(name));
        let limit = (!has_other).then(|| self.limit(left_out));
        limit.map(|name| (name, name)).into_iter().chain(OPTIONAL).collect()
    }

    /// The name of the limit of tokens.
    fn limit(self, left_out: &[&str]) -> &'static str {
        match self.is_original {
            true if left_out.contains(&MAX_COMPLETION_TOKENS) => MAX_TOKENS,
            false if !left_out.contains(&MAX_TOKENS) => MAX_TOKENS,
            _ => MAX_COMPLETION_TOKENS,
        }
    }
}

/// The body of a request.
pub fn of(request: &Request<'_>, dialect: Dialect) -> Value {
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    let takes = |name: &str| !request.left_out.contains(&name);
    let schema = request.schema.filter(|_| dialect.json_schema && request.native_schema && takes(FORMAT));
    put("model", Some(request.model).filter(|model| !model.is_empty()).map(Value::from));
    put("messages", Some(request.messages.iter().map(message).collect()));
    put("stream", Some(true.into()));
    put("stream_options", takes(STREAM_OPTIONS).then(|| json!({"include_usage": true})));
    put("temperature", request.temperature.filter(|_| takes(TEMPERATURE)).map(Value::from));
    put(dialect.limit(request.left_out), request.max_tokens.map(Value::from));
    put("reasoning_effort", request.reasoning_effort.filter(|_| takes(REASONING)).map(Value::from));
    put("tools", (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()));
    put(
        "response_format",
        schema.map(|schema| {
            // Not strict: the strict form knows no optional fields and no bounds, and we check anyway.
            let schema =
                json!({"name": schema_name(request.step), "schema": schema.json_schema(), "strict": false});
            json!({"type": "json_schema", "json_schema": schema})
        }),
    );
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    let mut wire = json!({"role": message.role.word(), "content": message.text});
    if !message.tool_calls.is_empty() {
        wire["tool_calls"] = message.tool_calls.iter().map(call).collect();
    }
    if let Some(result_of) = &message.result_of {
        wire["tool_call_id"] = json!(result_of.id);
    }
    wire
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.as_str()});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &ToolSpec) -> Value {
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": tool.input_schema});
    json!({"type": "function", "function": function})
}

/// The service allows 64 letters, digits, `_` and `-`.
pub fn schema_name(step: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = step.chars().map(|c| if allowed(c) { c } else { '_' }).take(64).collect();
    if name.is_empty() { "answer".into() } else { name }
}
