//! What is sent, in the words that the service understands.

use crate::fault::Fault;
use convoke_agent::{Message, Request, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

/// Which of the optional parameters the service takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The shape of the answer as a parameter.
    pub json_schema: bool,
    /// `max_completion_tokens` instead of `max_tokens`.
    completion_tokens: bool,
    stream_options: bool,
    temperature: bool,
    reasoning_effort: bool,
}

impl Dialect {
    /// What the original takes, or what most imitations do.
    pub fn new(json_schema: bool, is_original: bool) -> Dialect {
        Dialect {
            json_schema,
            completion_tokens: is_original,
            stream_options: true,
            temperature: true,
            reasoning_effort: true,
        }
    }

    /// The dialect to try after this fault, and the parameter it leaves out, if it is about one of them.
    pub fn without(self, fault: &Fault) -> Option<(Dialect, &'static str)> {
        if !fault.is_bad_request() {
            return None;
        }
        let (mut max_tokens, mut schema, mut options) = (self, self, self);
        let (mut temperature, mut reasoning) = (self, self);
        max_tokens.completion_tokens = !self.completion_tokens;
        schema.json_schema = false;
        options.stream_options = false;
        temperature.temperature = false;
        reasoning.reasoning_effort = false;
        let limit = if self.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        let simpler = [
            (max_tokens, limit),
            (schema, "response_format"),
            (schema, "json_schema"),
            (options, "stream_options"),
            (temperature, "temperature"),
            (reasoning, "reasoning_effort"),
        ];
        simpler.into_iter().find(|(dialect, parameter)| *dialect != self && fault.is_about(parameter))
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
    let limit = |wanted: bool| request.max_tokens.filter(|_| wanted).map(Value::from);
    let schema = request.schema.filter(|_| dialect.json_schema && request.native_schema);
    put("model", Some(request.model).filter(|model| !model.is_empty()).map(Value::from));
    put("messages", Some(request.messages.iter().map(message).collect()));
    put("stream", Some(true.into()));
    put("stream_options", dialect.stream_options.then(|| json!({"include_usage": true})));
    put("temperature", request.temperature.filter(|_| dialect.temperature).map(Value::from));
    put("max_tokens", limit(!dialect.completion_tokens));
    put("max_completion_tokens", limit(dialect.completion_tokens));
    put("reasoning_effort", request.reasoning_effort.filter(|_| dialect.reasoning_effort).map(Value::from));
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
