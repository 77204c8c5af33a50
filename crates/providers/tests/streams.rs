//! What the OpenAI provider sends, and what it makes of streams that come in every state.
#![allow(missing_docs)]

mod common;

use common::*;
use convoke_agent::{Finish, NoReply, Report, Request};
use convoke_model::{Class, Usage};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn the_request_says_what_was_asked() {
    let server = Server::start(vec![answer("three")]).await;
    let asked = Asked { max_tokens: Some(50), ..Asked::default() };
    asked.of(&*openai(&server.url)).await.unwrap();
    let (head, body) = server.requests.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-very-secret\r\n") && head.contains("x-team: blue\r\n"));
    let wanted = json!({
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How many?"}
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.5,
        "max_tokens": 50
    });
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn pieces_become_one_answer() {
    let usage =
        json!({"prompt_tokens": 11, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}});
    let all =
        [words("drei "), words("oder fünf"), finish("stop"), event(&json!({"choices": [], "usage": usage}))];
    let all = format!(": comment\n\n{}data: [DONE]\n\n", all.concat());
    // Cut anywhere, also in the middle of a line.
    let middle = all.find("oder").unwrap() + 2;
    let acts = vec![stream_head(), chunk(&all[..middle]), chunk(&all[middle..]), end()];
    let server = Server::start(vec![acts]).await;
    let heard = Heard::default();
    let asked = Asked::default();
    let reply = openai(&server.url).complete(&asked.request(), &heard).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish, reply.model.as_str()),
        ("drei oder fünf", Finish::Stop, "m-1-2026")
    );
    assert_eq!(heard.text(), "drei oder fünf");
    let wanted =
        Usage { calls: 1, input_tokens: 11, output_tokens: 4, cache_read_tokens: 8, ..Usage::default() };
    assert_eq!(reply.usage, wanted);
}

#[tokio::test]
async fn arguments_of_a_call_are_an_answer() {
    let part = |text: &str| {
        event(
            &json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": text}}]}}]}),
        )
    };
    let acts = vec![
        stream_head(),
        chunk(&part("{\"n\":")),
        chunk(&part(" 3}")),
        chunk(&finish("tool_calls")),
        end(),
    ];
    let server = Server::start(vec![acts]).await;
    let reply = Asked::default().of(&*openai(&server.url)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("{\"n\": 3}", Finish::Stop));
    assert!(reply.usage.estimated && reply.usage.output_tokens == 2, "{:?}", reply.usage);
}

#[tokio::test]
async fn a_service_that_does_not_stream_is_understood() {
    let body = json!({
        "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "three"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    });
    let server = Server::start(vec![plain("200 OK", "x-ratelimit-remaining-requests: 3\r\n", &body)]).await;
    let (asked, heard) = (Asked::default(), Heard::default());
    let reply = openai(&server.url).complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish, reply.usage.input_tokens), ("three", Finish::Length, 10));
    let reports = heard.0.into_inner().unwrap();
    assert!(matches!(&reports[..], [Report::LimitsSeen(limits)] if limits.requests.remaining == Some(3)));
}

#[tokio::test]
async fn a_refusal_is_told_from_an_answer() {
    let refusal = event(&json!({"choices": [{"index": 0, "delta": {"refusal": "I cannot."}}]}));
    let server = Server::start(vec![
        vec![stream_head(), chunk(&refusal), chunk(&finish("stop")), end()],
        vec![stream_head(), chunk(&words("par")), chunk(&finish("content_filter")), end()],
    ])
    .await;
    let provider = openai(&server.url);
    let reply = Asked::default().of(&*provider).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("I cannot.", Finish::Refusal));
    assert_eq!(Asked::default().of(&*provider).await.unwrap().finish, Finish::Refusal);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let server = Server::start(vec![
        vec![stream_head(), chunk(&words("half of")), Act::Close],
        vec![stream_head(), chunk(&words("half of")), end()],
        vec![Act::Close],
        vec![stream_head(), chunk(&event(&json!({"error": {"message": "overloaded", "code": 503}}))), end()],
        vec![stream_head(), chunk("data: {oops\n\n"), end()],
    ])
    .await;
    let provider = openai(&server.url);
    let mut reasons = Vec::new();
    for _ in 0..5 {
        let (asked, heard) = (Asked::default(), Heard::default());
        let failure = provider.complete(&asked.request(), &heard).await.unwrap_err().into_failure();
        reasons.push((failure.class, failure.reason.unwrap(), heard.text()));
    }
    let reasons: Vec<_> =
        reasons.iter().map(|(class, reason, text)| (*class, reason.as_str(), text.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (Class::Transient, "stream_cut", "half of"),
            (Class::Transient, "stream_cut", "half of"),
            (Class::Transient, "connection_lost", ""),
            (Class::Capacity, "overloaded", ""),
            (Class::Transient, "unreadable", ""),
        ]
    );
}

#[tokio::test]
async fn every_phase_has_its_time() {
    let server = Server::start(vec![
        vec![Act::Hold],
        vec![stream_head(), Act::Hold],
        vec![stream_head(), chunk(&words("half of")), Act::Hold],
        vec![Act::Hold],
    ])
    .await;
    let provider = openai(&server.url);
    let (short, long) = (Duration::from_millis(60), Duration::from_secs(60));
    let mut asked = Asked::default();
    let mut reasons = Vec::new();
    // Only the limit that is meant is short: on a slow machine another one could be reached first.
    for (first_token, idle, total) in
        [(short, long, long), (short, long, long), (long, short, long), (long, long, short)]
    {
        (asked.timeouts.first_token, asked.timeouts.idle) = (first_token, idle);
        asked.timeouts.total = total;
        let failure = asked.of(&*provider).await.unwrap_err();
        assert_eq!(failure.class, Class::Timeout);
        assert!(failure.message.contains("timeout"), "{failure}");
        reasons.push(failure.reason.unwrap());
    }
    assert_eq!(reasons, ["first_token_timeout", "first_token_timeout", "idle_timeout", "request_timeout"]);
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let server = Server::start(vec![vec![stream_head(), chunk(&words("half of")), Act::Hold]]).await;
    let provider = openai(&server.url);
    let asked = Asked::default();
    let started = std::sync::Arc::new(tokio::sync::Notify::new());
    struct Begun(std::sync::Arc<tokio::sync::Notify>);
    impl convoke_agent::Sink for Begun {
        fn report(&self, _: Report) {
            self.0.notify_one();
        }
    }
    let begun = Begun(started.clone());
    let request = asked.request();
    tokio::select! {
        _ = provider.complete(&request, &begun) => panic!("answered"),
        () = started.notified() => {}
    }
    // The future is gone here; the server must see the end of the connection.
    server.hung_up.notified().await;
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start(vec![answer("one"), answer("two"), answer("three")]).await;
    let provider = openai(&server.url);
    for text in ["one", "two", "three"] {
        assert_eq!(Asked::default().of(&*provider).await.unwrap().text, text);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failure = Asked::default().of(&*openai(&format!("http://user:pass@{address}/v1"))).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("connect")));
    assert!(failure.message.contains(&address.to_string()) && !failure.message.contains("pass"), "{failure}");
}

#[tokio::test]
async fn a_key_is_never_in_a_failure() {
    let told = json!({"error": {"message": "Incorrect API key provided: sk-very-secret", "code": "invalid_api_key"}});
    let server = Server::start(vec![plain("401 Unauthorized", "", &told)]).await;
    let failure = Asked::default().of(&*openai(&server.url)).await.unwrap_err();
    assert_eq!(failure.class, Class::Permission);
    assert_eq!(failure.message, "openai answered 401 Unauthorized: Incorrect API key provided: ***");
    assert!(!format!("{failure:?}").contains(KEY));
}

#[tokio::test]
async fn a_key_that_is_no_secret_does_not_garble_a_failure() {
    let told = json!({"error": {"message": "no such model"}});
    let server = Server::start(vec![plain("404 Not Found", "", &told)]).await;
    let failure = Asked::default().of(&*openai_with_key(&server.url, "o")).await.unwrap_err();
    assert_eq!(failure.message, "openai answered 404 Not Found: no such model");
}

#[tokio::test]
async fn a_parameter_that_is_refused_is_named_after_one_request() {
    let told = json!({"error": {"message": "Unsupported parameter: 'max_tokens'", "param": "max_tokens"}});
    let server = Server::start(vec![plain("400 Bad Request", "", &told), answer("one")]).await;
    let (provider, heard) = (openai(&server.url), Heard::default());
    let asked = Asked { max_tokens: Some(50), ..Asked::default() };
    let refused = provider.complete(&asked.request(), &heard).await.unwrap_err();
    let NoReply::Refused { parameter, failure } = refused else { panic!("{refused:?}") };
    assert_eq!((parameter, failure.class, server.bodies().len()), ("max_tokens", Class::Fatal, 1));
    let request = Request { left_out: &["max_tokens"], ..asked.request() };
    assert_eq!(provider.complete(&request, &heard).await.unwrap().text, "one");
    let sent = server.bodies();
    assert_eq!((sent[0]["max_tokens"].as_u64(), sent[0].get("max_completion_tokens")), (Some(50), None));
    assert_eq!((sent[1].get("max_tokens"), sent[1]["max_completion_tokens"].as_u64()), (None, Some(50)));
}

/// llama.cpp says that it keeps the connection, and closes it when the next request comes.
#[tokio::test]
async fn to_a_service_that_hangs_up_no_connection_is_kept() {
    let answers = vec![
        answer("one"),
        vec![Act::Close],
        answer("two"),
        vec![Act::Close],
        answer("three"),
        answer("four"),
        answer("five"),
    ];
    let server = Server::start(answers).await;
    let provider = openai(&server.url);
    let mut lost = 0;
    for _ in 0..7 {
        match Asked::default().of(&*provider).await {
            Ok(_) => {}
            Err(failure) => {
                assert_eq!(failure.reason.as_deref(), Some("connection_lost"));
                lost += 1;
            }
        }
    }
    assert_eq!(lost, 2, "each is an attempt, and nothing is sent twice");
    // Two were kept and lost; from then on every request has its own.
    assert_eq!(server.connections.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn llamacpp_is_asked_on_a_new_connection_each_time() {
    let server = Server::start(vec![answer("one"), answer("two")]).await;
    let provider = provider("llamacpp", &server.url, KEY);
    for wanted in ["one", "two"] {
        assert_eq!(Asked::default().of(&*provider).await.unwrap().text, wanted);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

/// Another process may drive the run by now.
#[tokio::test]
async fn a_process_that_was_away_for_longer_than_its_lease_sends_nothing() {
    let server = Server::start(vec![answer("three")]).await;
    let (asked, provider) = (Asked::default(), openai(&server.url));
    let failure =
        provider.complete(&asked.request(), &Away).await.map_err(NoReply::into_failure).unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Cancelled, Some("fenced")));
    assert_eq!(server.requests.lock().unwrap().len(), 0);
    assert_eq!(asked.of(&*provider).await.unwrap().text, "three", "a process that was not is answered");
}
