//! Chat completions.

use super::*;

pub struct Chat;

fn delta(delta: Value) -> String {
    event(&json!({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

impl Voice for Chat {
    const NAME: &'static str = "vllm";
    const PATH: &'static str = "/v1/chat/completions";

    fn opening() -> String {
        delta(json!({"role": "assistant", "content": ""}))
    }

    fn words(pieces: &[&str]) -> Vec<String> {
        pieces.iter().map(|piece| delta(json!({"content": piece}))).collect()
    }

    fn calls(calls: &[Called]) -> Vec<String> {
        let pieces = calls.iter().enumerate().flat_map(|(index, call)| {
            let (first, second) = call.arguments.split_at(call.arguments.len() / 2);
            let begin = json!({"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": first}});
            let go_on = json!({"index": index, "function": {"arguments": second}});
            [delta(json!({"tool_calls": [begin]})), delta(json!({"tool_calls": [go_on]}))]
        });
        pieces.collect()
    }

    fn closing(end: End, _said: &[String]) -> String {
        let reason = match end {
            End::Stop => "stop",
            End::Length => "length",
            End::Refusal => "content_filter",
            End::Calls => "tool_calls",
        };
        let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let usage = json!({"prompt_tokens": 11, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}});
        event(&last) + &event(&json!({"choices": [], "usage": usage})) + "data: [DONE]\n\n"
    }

    fn overloaded() -> String {
        event(&json!({"error": {"message": "overloaded", "code": 529}}))
    }

    fn shape(body: &Value) -> &Value {
        &body["response_format"]["json_schema"]["schema"]
    }

    fn tools(body: &Value) -> Vec<&str> {
        body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    fn results(body: &Value) -> Vec<(String, String)> {
        let messages = body["messages"].as_array().unwrap().iter();
        let tools = messages.filter(|message| message["role"] == "tool");
        tools.map(|message| (text(&message["tool_call_id"]), text(&message["content"]))).collect()
    }
}
