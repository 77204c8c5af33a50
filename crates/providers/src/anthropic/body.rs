//! What is sent to Anthropic's messages.

use crate::parts::ANSWER_TOOL;
use crate::refusal::Optional;
use convoke_agent::{Message, Request, Role, ToolSpec};
use serde_json::{Map, Value, json};

/// Parameters that a model may refuse. One that refuses a budget for thinking may think adaptively.
pub const OPTIONAL: &[Optional] = &[
    ("thinking", THINKING_BUDGET),
    ("thinking", ADAPTIVE),
    ("effort", ADAPTIVE),
    ("temperature", TEMPERATURE),
    ("tool_choice", TOOL_CHOICE),
];
const THINKING_BUDGET: &str = "thinking.budget_tokens";
const ADAPTIVE: &str = "thinking";
const TEMPERATURE: &str = "temperature";
const TOOL_CHOICE: &str = "tool_choice";

/// The service wants a limit; this is the one of requests without any.
const MAX_TOKENS: u64 = 8192;

/// How the model is asked to think.
enum Thinking<'a> {
    No,
    Budget(u64),
    Adaptive(&'a str),
}

/// The body of a request, without the parameters that the model does not take.
pub fn of(request: &Request<'_>) -> Value {
    let takes = |name: &str| !request.left_out.contains(&name);
    let thinking = thinking(request);
    let thinks = !matches!(thinking, Thinking::No);
    let answers_by_tool = request.schema.is_some() && request.native_schema;
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("max_tokens".into(), json!(max_tokens(request, &thinking)));
    body.insert("stream".into(), json!(true));
    let system = system(request.messages);
    if !system.is_empty() {
        body.insert("system".into(), json!(system));
    }
    body.insert("messages".into(), messages(request.messages, thinks));
    // The service refuses a temperature while a model thinks.
    if let Some(temperature) = request.temperature.filter(|_| takes(TEMPERATURE) && !thinks) {
        body.insert("temperature".into(), json!(temperature));
    }
    let tools: Vec<Value> = request.tools.iter().map(tool).chain(answer_tool(request)).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    if answers_by_tool && takes(TOOL_CHOICE) && !thinks {
        body.insert("tool_choice".into(), choice(request));
    }
    match thinking {
        Thinking::No => {}
        Thinking::Budget(tokens) => {
            body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": tokens}));
        }
        Thinking::Adaptive(effort) => {
            body.insert("thinking".into(), json!({"type": "adaptive"}));
            body.insert("output_config".into(), json!({"effort": effort}));
        }
    }
    Value::Object(body)
}

fn thinking<'a>(request: &Request<'a>) -> Thinking<'a> {
    let Some(effort) = request.reasoning_effort else { return Thinking::No };
    match (request.left_out.contains(&ADAPTIVE), request.left_out.contains(&THINKING_BUDGET)) {
        (true, _) => Thinking::No,
        (false, true) => Thinking::Adaptive(if effort == "xhigh" { "high" } else { effort }),
        (false, false) => Thinking::Budget(budget(effort)),
    }
}

/// Tokens to think with, by effort.
fn budget(effort: &str) -> u64 {
    match effort {
        "low" => 2_048,
        "medium" => 8_192,
        "high" => 16_384,
        _ => 32_000,
    }
}

/// The service counts thoughts as part of the answer; a limit of the author is about the answer alone.
fn max_tokens(request: &Request<'_>, thinking: &Thinking<'_>) -> u64 {
    let answer = request.max_tokens.unwrap_or(MAX_TOKENS);
    match thinking {
        Thinking::Budget(tokens) => answer + tokens,
        _ => answer,
    }
}

fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter(|message| message.role == Role::System);
    texts.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Speakers must alternate, so what follows from one side is one message.
fn messages(messages: &[Message], thinks: bool) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let blocks = blocks(message, thinks);
        match turns.last_mut() {
            Some((last, earlier)) if *last == role => earlier.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(message: &Message, thinks: bool) -> Vec<Value> {
    if let Some(result_of) = &message.result_of {
        let mut block = json!({"type": "tool_result", "tool_use_id": result_of.id, "content": message.text});
        if result_of.failed {
            block["is_error"] = json!(true);
        }
        return vec![block];
    }
    let mut blocks = Vec::new();
    // Thoughts go back word for word, and only while thinking is on.
    if let (Some(thoughts), true) = (&message.thoughts, thinks) {
        blocks.extend(thoughts.value().as_array().cloned().unwrap_or_default());
    }
    // The service refuses empty text.
    if !message.text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": message.text}));
    }
    blocks.extend(message.tool_calls.iter().map(|call| {
        // Arguments that could not be read are no object; the service takes nothing else.
        let input = Some(call.arguments.value()).filter(Value::is_object).unwrap_or_else(|| json!({}));
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    blocks
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

fn answer_tool(request: &Request<'_>) -> Option<Value> {
    let schema = request.schema.filter(|_| request.native_schema)?;
    let description = "Gives the final answer. Call it exactly once, when everything else is done.";
    Some(json!({"name": ANSWER_TOOL, "description": description, "input_schema": schema.json_schema()}))
}

/// With other tools at hand the model may choose among them, but must choose one.
fn choice(request: &Request<'_>) -> Value {
    if request.tools.is_empty() {
        json!({"type": "tool", "name": ANSWER_TOOL})
    } else {
        json!({"type": "any"})
    }
}
