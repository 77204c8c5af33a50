//! What is sent, in the words that the service understands.

use super::fault::Fault;
use convoke_agent::Request;
use serde::Serialize;
use serde_json::{Value, json};

/// Which of the optional parameters the service takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    json_schema: bool,
    /// `max_completion_tokens` instead of `max_tokens`.
    completion_tokens: bool,
    stream_options: bool,
    temperature: bool,
    reasoning_effort: bool,
}

impl Dialect {
    /// What the original takes, or what most imitations do.
    pub fn of_host(is_original: bool) -> Dialect {
        Dialect {
            json_schema: is_original,
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
            (options, "stream_options"),
            (temperature, "temperature"),
            (reasoning, "reasoning_effort"),
        ];
        simpler.into_iter().find(|(dialect, parameter)| *dialect != self && fault.is_about(parameter))
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    messages: Vec<Wire<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct Wire<'a> {
    role: &'static str,
    content: &'a str,
}

/// The body of a request.
pub fn text(request: &Request<'_>, dialect: Dialect) -> Vec<u8> {
    let wire = |message: &'_ convoke_agent::Message| message.role.word();
    let messages = request.messages.iter();
    let limit = |wanted: bool| request.max_tokens.filter(|_| wanted);
    let body = Body {
        model: request.model,
        messages: messages.map(|it| Wire { role: wire(it), content: &it.text }).collect(),
        stream: true,
        stream_options: dialect.stream_options.then(|| json!({"include_usage": true})),
        temperature: request.temperature.filter(|_| dialect.temperature),
        max_tokens: limit(!dialect.completion_tokens),
        max_completion_tokens: limit(dialect.completion_tokens),
        reasoning_effort: request.reasoning_effort.filter(|_| dialect.reasoning_effort),
        response_format: request.schema.filter(|_| dialect.json_schema).map(|schema| {
            // Not strict: the strict form knows no optional fields and no bounds, and we check anyway.
            let schema =
                json!({"name": schema_name(request.step), "schema": schema.json_schema(), "strict": false});
            json!({"type": "json_schema", "json_schema": schema})
        }),
    };
    serde_json::to_vec(&body).expect("text and numbers are JSON")
}

/// The service allows 64 letters, digits, `_` and `-`.
fn schema_name(step: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = step.chars().map(|c| if allowed(c) { c } else { '_' }).take(64).collect();
    if name.is_empty() { "answer".into() } else { name }
}
