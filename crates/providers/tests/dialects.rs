//! What single services want in their own way: thoughts, parameters they refuse, limits, lists of models.
#![allow(missing_docs)]

mod common;
mod voices;

use common::*;
use convoke_agent::{Message, Report, ToolSpec};
use serde_json::{Value, json};
use voices::{Called, End, Messages, Responses, Voice};

fn whole<V: Voice>(events: &[String]) -> Vec<Act> {
    let all = V::opening() + &events.concat() + &V::closing(End::Stop, events);
    vec![stream_head(), chunk(&all), end()]
}

fn tool() -> ToolSpec {
    ToolSpec { name: "f".into(), description: "F.".into(), input_schema: json!({"type": "object"}) }
}

#[tokio::test]
async fn a_message_to_anthropic_says_what_was_asked() {
    let server = Server::start(vec![whole::<Messages>(&Messages::words(&["three"]))]).await;
    let provider = provider("claude", server.url.trim_end_matches("v1//"), KEY);
    Asked { max_tokens: Some(50), ..Asked::default() }.of(&*provider).await.unwrap();
    let (head, body) = server.requests.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("x-api-key: sk-very-secret\r\n") && head.contains("anthropic-version: 2023-06-01\r\n")
    );
    let wanted = json!({
        "model": "m-1",
        "max_tokens": 50,
        "stream": true,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "How many?"}]}],
        "temperature": 0.5
    });
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn signed_thoughts_go_back_with_the_calls_that_they_led_to() {
    let thought =
        |delta: Value| voices::event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    let mut events = vec![
        voices::event(
            &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        ),
        thought(json!({"type": "thinking_delta", "thinking": "Let me "})),
        thought(json!({"type": "thinking_delta", "thinking": "see."})),
        thought(json!({"type": "signature_delta", "signature": "sig"})),
    ];
    events.extend(Messages::calls(&[Called { id: "c", name: "f", arguments: "{}" }]));
    let server =
        Server::start(vec![whole::<Messages>(&events), whole::<Messages>(&Messages::words(&["done"]))]).await;
    let provider = provider("anthropic", &server.url, KEY);
    let mut asked = Asked { tools: vec![tool()], reasoning_effort: Some("low"), ..Asked::default() };
    let reply = asked.of(&*provider).await.unwrap();
    asked.messages.push(Message::of_reply(&reply));
    asked.messages.push(Message::tool_result(&reply.tool_calls[0], "no", true));
    asked.of(&*provider).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies[0]["thinking"], json!({"type": "enabled", "budget_tokens": 2048}));
    assert_eq!((&bodies[0]["max_tokens"], &bodies[0]["temperature"]), (&json!(8192 + 2048), &Value::Null));
    let wanted = json!([
        {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "sig"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {}}
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": true}]}
    ]);
    assert_eq!(bodies[1]["messages"], wanted);
}

#[tokio::test]
async fn sealed_reasoning_goes_back_to_the_responses() {
    let sealed = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"});
    let mut events = vec![voices::event(&json!({"type": "response.output_item.done", "item": sealed}))];
    events.extend(Responses::calls(&[Called { id: "c", name: "f", arguments: "{}" }]));
    let server =
        Server::start(vec![whole::<Responses>(&events), whole::<Responses>(&Responses::words(&["done"]))])
            .await;
    let provider = provider("openai-responses", &server.url, KEY);
    let mut asked = Asked { tools: vec![tool()], reasoning_effort: Some("low"), ..Asked::default() };
    let reply = asked.of(&*provider).await.unwrap();
    asked.messages.push(Message::of_reply(&reply));
    asked.messages.push(Message::tool_result(&reply.tool_calls[0], "yes", false));
    asked.of(&*provider).await.unwrap();
    let wanted = json!([
        {"role": "user", "content": "How many?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "yes"}
    ]);
    assert_eq!(server.bodies()[1]["input"], wanted);
    assert_eq!(server.bodies()[0]["store"], json!(false));
}

#[tokio::test]
async fn calls_that_are_all_numbered_zero_stay_apart() {
    let call = |id: &str| {
        let call = json!({"index": 0, "id": id, "function": {"name": "f", "arguments": format!("{{\"of\":\"{id}\"}}")}});
        event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let acts = vec![stream_head(), chunk(&call("a")), chunk(&call("b")), chunk(&finish("tool_calls")), end()];
    let server = Server::start(vec![acts]).await;
    let reply = Asked { tools: vec![tool()], ..Asked::default() }.of(&*openai(&server.url)).await.unwrap();
    let got: Vec<_> = reply.tool_calls.iter().map(|call| call.arguments.value()).collect();
    assert_eq!(got, [json!({"of": "a"}), json!({"of": "b"})]);
}

#[tokio::test]
async fn an_early_answer_beside_calls_is_not_the_last_word() {
    let called = [
        Called { id: "a", name: "final_answer", arguments: "{\"n\":1}" },
        Called { id: "b", name: "f", arguments: "{}" },
    ];
    let server = Server::start(vec![whole::<Messages>(&Messages::calls(&called))]).await;
    let schema = serde_json::from_value(json!({"n": {"type": "number"}})).unwrap();
    let asked = Asked { tools: vec![tool()], schema: Some(schema), ..Asked::default() };
    let reply = asked.of(&*provider("anthropic", &server.url, KEY)).await.unwrap();
    let names: Vec<_> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!((reply.text.as_str(), names), ("", vec!["f"]));
    assert_eq!(server.bodies()[0]["tool_choice"], json!({"type": "any"}));
}

#[tokio::test]
async fn limits_of_anthropic_are_seen() {
    let headers = "anthropic-ratelimit-requests-remaining: 3\r\nanthropic-ratelimit-tokens-limit: 8000\r\n";
    let body = json!({"model": "m-1", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"});
    let server = Server::start(vec![plain("200 OK", headers, &body)]).await;
    let (asked, heard) = (Asked::default(), Heard::default());
    let reply = provider("anthropic", &server.url, KEY).complete(&asked.request(), &heard).await.unwrap();
    assert!(reply.text == "x" && reply.usage.estimated);
    let reports = heard.0.into_inner().unwrap();
    let [Report::LimitsSeen(limits)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(
        (limits.provider.as_str(), limits.requests.remaining, limits.tokens.limit),
        ("anthropic", Some(3), Some(8000))
    );
}

#[tokio::test]
async fn services_list_their_models() {
    for (name, path, body) in [
        ("ollama", "/v1/models", json!({"data": [{"id": "a"}, {"id": "b"}]})),
        ("openai-responses", "/v1/models", json!({"data": [{"id": "a"}, {"id": "b"}]})),
        ("anthropic", "/v1/models", json!({"data": [{"type": "model", "id": "a"}, {"id": "b"}]})),
        ("gemini", "/v1/models", json!({"models": [{"name": "models/a"}, {"name": "models/b"}]})),
    ] {
        let server = Server::start(vec![plain("200 OK", "", &body)]).await;
        assert_eq!(provider(name, &server.url, KEY).models().await.unwrap(), ["a", "b"]);
        let (head, _) = server.requests.lock().unwrap()[0].clone();
        assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
    }
}

#[tokio::test]
async fn a_service_without_a_default_must_be_told_a_model() {
    let asked = Asked::default();
    let request = convoke_agent::Request { model: "", ..asked.request() };
    let failure = provider("anthropic", "http://127.0.0.1:1", KEY)
        .complete(&request, &Heard::default())
        .await
        .unwrap_err()
        .into_failure();
    assert_eq!(failure.reason.as_deref(), Some("no_model"));
}

#[tokio::test]
async fn a_query_of_the_address_is_kept() {
    let server = Server::start(vec![answer("three")]).await;
    let base = format!("{}?api-version=2026-01-01", server.url.trim_end_matches('/'));
    Asked::default().of(&*provider("azure", &base, KEY)).await.unwrap();
    let (head, _) = server.requests.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/chat/completions?api-version=2026-01-01 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("api-key: sk-very-secret\r\n") && !head.contains("authorization"), "{head}");
}
