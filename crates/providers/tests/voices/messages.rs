//! Anthropic's messages.

use super::*;

pub struct Messages;

fn block(index: usize, start: Value, deltas: &[Value]) -> Vec<String> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let stop = json!({"type": "content_block_stop", "index": index});
    let deltas =
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    std::iter::once(start).chain(deltas).chain([stop]).map(|data| event(&data)).collect()
}

fn call(index: usize, call: &Called) -> Vec<String> {
    let (first, second) = call.arguments.split_at(call.arguments.len() / 2);
    let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
    let piece = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    block(index, start, &[piece(""), piece(first), piece(second)])
}

impl Voice for Messages {
    const NAME: &'static str = "anthropic";
    const PATH: &'static str = "/v1/messages";

    fn opening() -> String {
        let usage = json!({"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 1});
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [], "stop_reason": null, "usage": usage});
        event(&json!({"type": "message_start", "message": message})) + &event(&json!({"type": "ping"}))
    }

    fn words(pieces: &[&str]) -> Vec<String> {
        let deltas: Vec<_> =
            pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
        block(0, json!({"type": "text", "text": ""}), &deltas)
    }

    fn calls(calls: &[Called]) -> Vec<String> {
        calls.iter().enumerate().flat_map(|(index, it)| call(index + 1, it)).collect()
    }

    fn structured(json: &str) -> Vec<String> {
        let json: &'static str = json.to_owned().leak();
        call(0, &Called { id: "toolu_9", name: "final_answer", arguments: json })
    }

    fn closing(end: End, _said: &[String]) -> String {
        let reason = match end {
            End::Stop => "end_turn",
            End::Length => "max_tokens",
            End::Refusal => "refusal",
            End::Calls => "tool_use",
        };
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}}))
            + &event(&json!({"type": "message_stop"}))
    }

    fn fault(status: u16) -> Value {
        json!({"type": "error", "error": {"type": "some_error", "message": format!("no {status}")}})
    }

    fn overloaded() -> String {
        event(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    }

    fn shape(body: &Value) -> &Value {
        assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "final_answer"}));
        let tools = body["tools"].as_array().unwrap();
        &tools.iter().find(|tool| tool["name"] == "final_answer").unwrap()["input_schema"]
    }

    fn tools(body: &Value) -> Vec<&str> {
        body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    fn results(body: &Value) -> Vec<(String, String)> {
        let last = body["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], "user");
        let blocks = last["content"].as_array().unwrap().iter();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results.map(|block| (text(&block["tool_use_id"]), text(&block["content"]))).collect()
    }
}
