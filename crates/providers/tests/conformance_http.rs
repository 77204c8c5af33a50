//! What every provider that speaks over the network must do, against services that speak its protocol byte for byte.
#![allow(missing_docs)]

mod common;
mod voices;

use common::{Act, Asked, Heard, KEY, Server, chunk, end, plain, provider, stream_head};
use convoke_agent::{Finish, Message, Provider, Report, Sink, ToolSpec};
use convoke_model::{Class, Failure, Usage};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use voices::{Called, End, Voice};

/// The acts of a whole answer.
fn answer<V: Voice>(said: Vec<String>, why: End) -> Vec<Act> {
    let closing = V::closing(why, &said);
    let mut acts = vec![stream_head()];
    acts.extend(Some(V::opening()).filter(|opening| !opening.is_empty()).map(|opening| chunk(&opening)));
    acts.extend(said.iter().map(|event| chunk(event)));
    acts.extend([chunk(&closing), end()]);
    acts
}

/// The beginning of an answer.
fn beginning<V: Voice>(said: &str) -> Vec<Act> {
    vec![stream_head(), chunk(&(V::opening() + &V::words(&[said]).concat()))]
}

fn subject<V: Voice>(server: &Server) -> Arc<dyn Provider> {
    provider(V::NAME, &server.url, KEY)
}

async fn failure<V: Voice>(acts: Vec<Act>, asked: &Asked) -> Failure {
    let server = Server::start(vec![acts]).await;
    asked.of(&*subject::<V>(&server)).await.unwrap_err()
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: format!("Runs {name}."),
        input_schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    };
    vec![tool("weather"), tool("time")]
}

const CALLS: [Called; 2] = [
    Called { id: "c-1", name: "weather", arguments: "{\"city\":\"Köln\",\"days\":2}" },
    Called { id: "c-2", name: "time", arguments: "{\"city\":\"Oslo\"}" },
];

async fn streams_and_counts<V: Voice>() {
    let said = V::words(&["drei ", "oder ", "fünf"]);
    let server = Server::start(vec![answer::<V>(said, End::Stop)]).await;
    let (asked, heard) = (Asked::default(), Heard::default());
    let reply = subject::<V>(&server).complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("drei oder fünf", Finish::Stop));
    assert_eq!((heard.text().as_str(), reply.model.as_str()), ("drei oder fünf", "m-1"));
    let usage = Usage { cache_write_tokens: 0, ..reply.usage };
    let wanted =
        Usage { calls: 1, input_tokens: 11, output_tokens: 4, cache_read_tokens: 8, ..Usage::default() };
    assert_eq!(usage, wanted);
    let (head, _) = server.requests.lock().unwrap()[0].clone();
    assert!(head.starts_with(&format!("POST {} HTTP/1.1\r\n", V::PATH)), "{head}");
    assert!(head.contains(KEY) && head.contains("x-team: blue\r\n"), "{head}");
}

async fn asks_for_tools<V: Voice>(calls: &[Called]) {
    let server = Server::start(vec![
        answer::<V>(V::calls(calls), End::Calls),
        answer::<V>(V::words(&["wet"]), End::Stop),
    ])
    .await;
    let provider = subject::<V>(&server);
    let mut asked = Asked { tools: tools(), ..Asked::default() };
    let heard = Heard::default();
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish, heard.text().as_str()), ("", Finish::Stop, ""));
    let wanted: Vec<_> =
        calls.iter().map(|call| (call.name, serde_json::from_str(call.arguments).unwrap())).collect();
    let got: Vec<(&str, Value)> =
        reply.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.value())).collect();
    assert_eq!(got, wanted);
    if V::NAMES_CALLS {
        assert!(reply.tool_calls.iter().zip(calls).all(|(got, wanted)| got.id == wanted.id));
    }
    // The results go back to the calls that asked for them, and the conversation goes on.
    asked.messages.push(Message::of_reply(&reply));
    asked.messages.extend(reply.tool_calls.iter().map(|call| Message::tool_result(call, &call.name, false)));
    assert_eq!(asked.of(&*provider).await.unwrap().text, "wet");
    let bodies = server.bodies();
    assert_eq!(V::tools(&bodies[0]), ["weather", "time"]);
    let key = |call: &Called| if V::NAMES_CALLS { call.id } else { call.name }.to_owned();
    let wanted: Vec<_> = calls.iter().map(|call| (key(call), call.name.to_owned())).collect();
    assert_eq!(V::results(&bodies[1]), wanted);
    assert_eq!(bodies[1].to_string().contains("sealed c-1"), !V::NAMES_CALLS);
}

async fn asks_for_the_shape<V: Voice>() {
    let server = Server::start(vec![answer::<V>(V::structured("{\"n\": 3}"), End::Stop)]).await;
    let schema = serde_json::from_value(json!({"n": {"type": "number"}})).unwrap();
    let asked = Asked { schema: Some(schema), ..Asked::default() };
    let heard = Heard::default();
    let provider = subject::<V>(&server);
    assert!(provider.has_native_schema("m-1"));
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), heard.text().as_str()), ("{\"n\": 3}", "{\"n\": 3}"));
    assert!(reply.tool_calls.is_empty());
    let shape = V::shape(&server.bodies()[0]).clone();
    assert_eq!(shape["properties"]["n"]["type"].as_str().unwrap().to_lowercase(), "number");
    assert_eq!(shape["required"], json!(["n"]));
}

async fn types_its_failures<V: Voice>() {
    let (asked, wait) = (Asked::default(), "retry-after: 2\r\n");
    for (status, line, class) in [
        (401, "401 Unauthorized", Class::Permission),
        (403, "403 Forbidden", Class::Permission),
        (404, "404 Not Found", Class::Fatal),
        (429, "429 Too Many Requests", Class::RateLimit),
        (500, "500 Internal Server Error", Class::Transient),
        (529, "529 Overloaded", Class::Capacity),
    ] {
        let failure = failure::<V>(plain(line, wait, &V::fault(status)), &asked).await;
        assert_eq!((failure.class, failure.retry_after_ms), (class, Some(2000)), "{status}");
        assert!(failure.message.contains(V::NAME) && failure.message.contains("no "), "{failure}");
    }
    let mut late = beginning::<V>("half");
    late.extend([chunk(&V::overloaded()), end()]);
    assert_eq!(failure::<V>(late, &asked).await.class, Class::Capacity);
}

async fn tells_a_stop_from_a_cut<V: Voice>() {
    let asked = Asked::default();
    for (why, finish) in [(End::Length, Finish::Length), (End::Refusal, Finish::Refusal)] {
        let server = Server::start(vec![answer::<V>(V::words(&["half of"]), why)]).await;
        let reply = asked.of(&*subject::<V>(&server)).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("half of", finish));
    }
    for last in [Act::Close, end()] {
        let mut acts = beginning::<V>("half");
        acts.push(last);
        let failure = failure::<V>(acts, &asked).await;
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("stream_cut")));
    }
}

async fn gives_up_in_time<V: Voice>() {
    let mut asked = Asked::default();
    let (short, long) = (Duration::from_millis(60), Duration::from_secs(60));
    let mut begun = beginning::<V>("half");
    begun.push(Act::Hold);
    // Only the limit that is meant is short: on a slow machine another one could be reached first.
    for (acts, first_token, idle, reason) in [
        (vec![Act::Hold], short, long, "first_token_timeout"),
        (vec![stream_head(), Act::Hold], short, long, "first_token_timeout"),
        (begun, long, short, "idle_timeout"),
    ] {
        (asked.timeouts.first_token, asked.timeouts.idle) = (first_token, idle);
        let failure = failure::<V>(acts, &asked).await;
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some(reason)));
    }
    asked.timeouts.first_token = Duration::from_secs(30);
    asked.timeouts.total = Duration::from_millis(60);
    assert_eq!(failure::<V>(vec![Act::Hold], &asked).await.reason.as_deref(), Some("request_timeout"));
}

/// A service that takes the connection and then says nothing: it never stands, because it is not secured.
async fn connects_in_time<V: Voice>() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let mut asked = Asked::default();
    asked.timeouts.connect = Duration::from_millis(60);
    let failure = asked.of(&*provider(V::NAME, &url, KEY)).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("connect_timeout")));
    // A request that may take longer is not held to the limit of another.
    asked.timeouts.connect = Duration::from_secs(30);
    asked.timeouts.total = Duration::from_millis(200);
    let failure = asked.of(&*provider(V::NAME, &url, KEY)).await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("request_timeout"));
}

/// Fires at the first piece of text.
struct Begun(Arc<Notify>);

impl Sink for Begun {
    fn report(&self, report: Report) {
        if matches!(report, Report::Progress { .. }) {
            self.0.notify_one();
        }
    }
}

async fn hangs_up_when_cancelled<V: Voice>() {
    let mut acts = beginning::<V>("half");
    acts.push(Act::Hold);
    let server = Server::start(vec![acts]).await;
    let (provider, asked, started) = (subject::<V>(&server), Asked::default(), Arc::new(Notify::new()));
    let (request, begun) = (asked.request(), Begun(started.clone()));
    tokio::select! {
        _ = provider.complete(&request, &begun) => panic!("answered"),
        () = started.notified() => {}
    }
    let closed = tokio::time::timeout(Duration::from_secs(30), server.hung_up.notified());
    closed.await.expect("the connection is closed long before the request's own limits");
}

async fn takes_what_is_large<V: Voice>() {
    let large = "0123456789abcdef".repeat(655_360);
    let server = Server::start(vec![answer::<V>(V::words(&[&large]), End::Stop)]).await;
    let reply = Asked::default().of(&*subject::<V>(&server)).await.unwrap();
    assert!(reply.text == large, "{} bytes came", reply.text.len());
}

async fn survives_what_is_no_text<V: Voice>() {
    let words = V::words(&["half"]).concat();
    let (before, after) = words.split_at(words.find("half").unwrap() + 2);
    let body = [before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
    let piece = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let acts = vec![stream_head(), Act::Raw(piece), chunk(&V::closing(End::Stop, &[])), end()];
    let failure = failure::<V>(acts, &Asked::default()).await;
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("unreadable")));
}

async fn an_empty_answer_is_empty<V: Voice>() {
    let server = Server::start(vec![answer::<V>(Vec::new(), End::Stop)]).await;
    let reply = Asked::default().of(&*subject::<V>(&server)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish, reply.tool_calls.len()), ("", Finish::Stop, 0));
}

async fn keeps_its_key_to_itself<V: Voice>() {
    let mut told = V::fault(401);
    told["error"]["message"] = json!(format!("wrong key: {KEY}"));
    let failure = failure::<V>(plain("401 Unauthorized", "", &told), &Asked::default()).await;
    assert!(
        failure.message.ends_with("wrong key: ***") && !format!("{failure:?}").contains(KEY),
        "{failure}"
    );
}

macro_rules! conformance {
    ($name:ident, $voice:ty) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn pieces_become_one_answer_with_its_usage() {
                streams_and_counts::<$voice>().await;
            }

            #[tokio::test]
            async fn a_tool_is_asked_for_and_its_result_goes_back() {
                asks_for_tools::<$voice>(&CALLS[..1]).await;
            }

            #[tokio::test]
            async fn tools_are_asked_for_in_parallel() {
                asks_for_tools::<$voice>(&CALLS).await;
            }

            #[tokio::test]
            async fn the_shape_of_the_answer_is_asked_for() {
                asks_for_the_shape::<$voice>().await;
            }

            #[tokio::test]
            async fn failures_have_a_class_and_a_delay() {
                types_its_failures::<$voice>().await;
            }

            #[tokio::test]
            async fn an_answer_that_breaks_off_is_no_answer() {
                tells_a_stop_from_a_cut::<$voice>().await;
            }

            #[tokio::test]
            async fn every_phase_has_its_time() {
                gives_up_in_time::<$voice>().await;
            }

            #[tokio::test]
            async fn a_connection_stands_in_time() {
                connects_in_time::<$voice>().await;
            }

            #[tokio::test]
            async fn dropping_the_request_closes_the_connection() {
                hangs_up_when_cancelled::<$voice>().await;
            }

            #[tokio::test]
            async fn ten_megabytes_are_an_answer() {
                takes_what_is_large::<$voice>().await;
            }

            #[tokio::test]
            async fn bytes_that_are_no_text_are_a_failure() {
                survives_what_is_no_text::<$voice>().await;
            }

            #[tokio::test]
            async fn nothing_is_an_answer_too() {
                an_empty_answer_is_empty::<$voice>().await;
            }

            #[tokio::test]
            async fn the_key_is_never_in_a_failure() {
                keeps_its_key_to_itself::<$voice>().await;
            }
        }
    };
}

conformance!(chat_completions, voices::Chat);
conformance!(openai_responses, voices::Responses);
conformance!(anthropic_messages, voices::Messages);
conformance!(gemini, voices::Gemini);
