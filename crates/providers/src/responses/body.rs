//! What is sent to OpenAI's responses.

use crate::openai::schema_name;
use crate::refusal::Optional;
use convoke_agent::{Message, Request, Role, ToolSpec};
use serde_json::{Map, Value, json};

/// Parameters that a model may refuse.
pub const OPTIONAL: &[Optional] = &[
    ("text.format", FORMAT),
    ("json_schema", FORMAT),
    ("temperature", TEMPERATURE),
    ("reasoning.encrypted_content", SEALED),
    ("reasoning", REASONING),
    ("max_output_tokens", MAX_TOKENS),
];
/// The shape of the answer.
const FORMAT: &str = "text.format";
const TEMPERATURE: &str = "temperature";
const SEALED: &str = "include";
const REASONING: &str = "reasoning";
const MAX_TOKENS: &str = "max_output_tokens";

/// The body of a request, without the parameters that the model does not take.
pub fn of(request: &Request<'_>) -> Value {
    let takes = |name: &str| !request.left_out.contains(&name);
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    let effort = request.reasoning_effort.filter(|_| takes(REASONING));
    let schema = request.schema.filter(|_| request.native_schema && takes(FORMAT));
    put("model", Some(request.model).filter(|model| !model.is_empty()).map(Value::from));
    put("instructions", system(request.messages).map(Value::from));
    put("input", Some(request.messages.iter().flat_map(items).collect()));
    put("stream", Some(true.into()));
    put("store", Some(false.into()));
    put("temperature", request.temperature.filter(|_| takes(TEMPERATURE)).map(Value::from));
    put("max_output_tokens", request.max_tokens.filter(|_| takes(MAX_TOKENS)).map(Value::from));
    put("reasoning", effort.map(|effort| json!({ "effort": effort })));
    put("include", effort.filter(|_| takes(SEALED)).map(|_| json!(["reasoning.encrypted_content"])));
    put("tools", (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()));
    put(
        "text",
        schema.map(|schema| {
            let (name, schema) = (schema_name(request.step), schema.json_schema());
            // Not strict: the strict form knows no optional fields and no bounds, and we check anyway.
            json!({"format": {"type": "json_schema", "name": name, "schema": schema, "strict": false}})
        }),
    );
    Value::Object(body)
}

fn system(messages: &[Message]) -> Option<String> {
    let texts = messages.iter().filter(|message| message.role == Role::System);
    let text = texts.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}

/// A message is one item; calls and their results are items of their own.
fn items(message: &Message) -> Vec<Value> {
    if message.role == Role::System {
        return Vec::new();
    }
    if let Some(result_of) = &message.result_of {
        return vec![
            json!({"type": "function_call_output", "call_id": result_of.id, "output": message.text}),
        ];
    }
    let mut items = Vec::new();
    if let Some(thoughts) = &message.thoughts {
        items.extend(thoughts.value().as_array().cloned().unwrap_or_default());
    }
    if !message.text.is_empty() || message.tool_calls.is_empty() {
        items.push(json!({"role": message.role.word(), "content": message.text}));
    }
    items.extend(message.tool_calls.iter().map(|call| {
        let arguments = call.arguments.as_str();
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    }));
    items
}

fn tool(tool: &ToolSpec) -> Value {
    let (name, description) = (&tool.name, &tool.description);
    json!({"type": "function", "name": name, "description": description, "parameters": tool.input_schema, "strict": false})
}
