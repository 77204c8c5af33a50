//! What is sent to Gemini.

use super::schema;
use crate::refusal::Optional;
use convoke_agent::{Message, Request, Role, ToolSpec};
use serde_json::{Map, Value, json};

/// Parameters that a model may refuse, by the words of the service's complaints.
pub const OPTIONAL: &[Optional] = &[
    ("response_schema", SCHEMA),
    ("responseSchema", SCHEMA),
    ("response_mime_type", SCHEMA),
    ("thinking", THINKING),
    ("temperature", TEMPERATURE),
];
/// The shape of the answer.
const SCHEMA: &str = "responseSchema";
const THINKING: &str = "thinkingConfig";
const TEMPERATURE: &str = "temperature";

/// The body of a request, without the parameters that the model does not take.
pub fn of(request: &Request<'_>) -> Value {
    let mut body = Map::new();
    let system = system(request.messages);
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": system}]}));
    }
    body.insert("contents".into(), contents(request.messages));
    if !request.tools.is_empty() {
        let declarations: Value = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
    }
    let config = config(request);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    Value::Object(body)
}

fn config(request: &Request<'_>) -> Map<String, Value> {
    let takes = |name: &str| !request.left_out.contains(&name);
    let mut config = Map::new();
    if let Some(temperature) = request.temperature.filter(|_| takes(TEMPERATURE)) {
        config.insert("temperature".into(), json!(temperature));
    }
    if let Some(most) = request.max_tokens {
        config.insert("maxOutputTokens".into(), json!(most));
    }
    if let Some(effort) = request.reasoning_effort.filter(|_| takes(THINKING)) {
        config.insert("thinkingConfig".into(), json!({"thinkingBudget": budget(effort)}));
    }
    let wanted = request.native_schema && request.tools.is_empty() && takes(SCHEMA);
    if let Some(shape) = request.schema.filter(|_| wanted) {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert("responseSchema".into(), schema::of(&shape.json_schema()));
    }
    config
}

/// Tokens to think with, by effort; -1 leaves it to the model.
fn budget(effort: &str) -> i64 {
    match effort {
        "low" => 1_024,
        "medium" => 8_192,
        "high" => 24_576,
        _ => -1,
    }
}

fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter(|message| message.role == Role::System);
    texts.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Speakers alternate, so what follows from one side is one turn: results of parallel calls belong together.
fn contents(messages: &[Message]) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        let parts = parts(message);
        match turns.last_mut() {
            Some((last, earlier)) if *last == role => earlier.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn parts(message: &Message) -> Vec<Value> {
    if let Some(result_of) = &message.result_of {
        let key = if result_of.failed { "error" } else { "output" };
        let response = json!({"name": result_of.name, "response": {key: message.text}});
        return vec![json!({"functionResponse": response})];
    }
    let mut parts = Vec::new();
    if !message.text.is_empty() || message.tool_calls.is_empty() {
        parts.push(json!({"text": message.text}));
    }
    let signatures = message.thoughts.as_ref().map(|thoughts| thoughts.value()).unwrap_or_default();
    parts.extend(message.tool_calls.iter().map(|call| {
        let args = Some(call.arguments.value()).filter(Value::is_object).unwrap_or_else(|| json!({}));
        let mut part = json!({"functionCall": {"name": call.name, "args": args}});
        if let Some(signature) = signatures.get(&call.id) {
            part["thoughtSignature"] = signature.clone();
        }
        part
    }));
    parts
}

fn tool(tool: &ToolSpec) -> Value {
    let (name, description) = (&tool.name, &tool.description);
    json!({"name": name, "description": description, "parametersJsonSchema": tool.input_schema})
}
