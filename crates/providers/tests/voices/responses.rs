//! OpenAI's responses.

use super::*;

pub struct Responses;

fn data_of(event: &str) -> Value {
    let line = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

impl Voice for Responses {
    const NAME: &'static str = "openai-responses";
    const PATH: &'static str = "/v1/responses";

    fn opening() -> String {
        let response = json!({"id": "r1", "model": "m-1", "status": "in_progress", "output": [], "usage": null, "error": null});
        event(&json!({"type": "response.created", "response": response}))
    }

    fn words(pieces: &[&str]) -> Vec<String> {
        let deltas = pieces.iter().map(|piece| {
            event(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": piece}))
        });
        let content = json!([{"type": "output_text", "text": pieces.concat(), "annotations": []}]);
        let item = json!({"type": "message", "role": "assistant", "content": content});
        let done = event(&json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
        deltas.chain([done]).collect()
    }

    fn calls(calls: &[Called]) -> Vec<String> {
        let events = calls.iter().enumerate().flat_map(|(index, call)| {
            let delta = json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": call.arguments});
            let item = json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments, "status": "completed"});
            [event(&delta), event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))]
        });
        events.collect()
    }

    fn closing(end: End, said: &[String]) -> String {
        let output: Vec<_> = said
            .iter()
            .map(|event| data_of(event))
            .filter(|data| data["type"] == "response.output_item.done")
            .map(|data| data["item"].clone())
            .collect();
        let (kind, status, details) = match end {
            End::Stop | End::Calls => ("response.completed", "completed", Value::Null),
            End::Length => ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"})),
            End::Refusal => ("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
        };
        let usage =
            json!({"input_tokens": 11, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 4});
        let response = json!({"model": "m-1", "status": status, "incomplete_details": details, "output": output, "usage": usage, "error": null});
        event(&json!({"type": kind, "response": response}))
    }

    fn overloaded() -> String {
        event(&json!({"type": "error", "code": "529", "message": "overloaded", "param": null}))
    }

    fn shape(body: &Value) -> &Value {
        assert_eq!(body["text"]["format"]["type"], "json_schema");
        &body["text"]["format"]["schema"]
    }

    fn tools(body: &Value) -> Vec<&str> {
        body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    fn results(body: &Value) -> Vec<(String, String)> {
        let items = body["input"].as_array().unwrap().iter();
        let results = items.filter(|item| item["type"] == "function_call_output");
        results.map(|item| (text(&item["call_id"]), text(&item["output"]))).collect()
    }
}
