//! What every provider must do, whatever is behind it.
#![allow(missing_docs)]

mod common;

use common::{Asked, openai};
use convoke_agent::{Finish, Provider, Providers};
use convoke_model::{Class, Failure, Program, ProviderSettings};
use convoke_providers::{Options, Registry};
use serde_json::{Value, json};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// What the service behind the provider is made to do.
enum Cue {
    Say(&'static str),
    Json(Value),
    Status(u16, Option<u64>),
    Late(Duration),
}

/// A provider under test, with whatever must live as long.
type Subject = (Arc<dyn Provider>, Box<dyn Any>);

async fn over_http(cue: Cue) -> Subject {
    let answer = |text: String| {
        let message = json!({"role": "assistant", "content": text});
        json!({"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    };
    let response = match cue {
        Cue::Say(text) => ResponseTemplate::new(200).set_body_json(answer(text.into())),
        Cue::Json(value) => ResponseTemplate::new(200).set_body_json(answer(value.to_string())),
        Cue::Late(delay) => ResponseTemplate::new(200).set_body_json(answer("late".into())).set_delay(delay),
        Cue::Status(status, retry_after) => {
            let response = ResponseTemplate::new(status).set_body_json(json!({"error": {"message": "no"}}));
            match retry_after {
                Some(seconds) => response.insert_header("Retry-After", seconds.to_string()),
                None => response,
            }
        }
    };
    let server = MockServer::start().await;
    let mock = Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(response);
    mock.mount(&server).await;
    (openai(&format!("{}/v1", server.uri())), Box::new(server))
}

async fn scripted(cue: Cue) -> Subject {
    let entry = match cue {
        Cue::Say(text) => json!(text),
        Cue::Json(value) => json!({ "json": value }),
        Cue::Late(delay) => json!({"say": "late", "delay_ms": delay.as_millis() as u64}),
        Cue::Status(status, None) => json!({ "status": status }),
        Cue::Status(status, Some(seconds)) => json!({"status": status, "retry_after": seconds}),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replies.yaml");
    std::fs::write(&file, json!({"replies": {"counter": [entry]}}).to_string()).unwrap();
    let settings = ProviderSettings {
        name: "scripted".into(),
        file: Some(file.to_str().unwrap().into()),
        ..ProviderSettings::default()
    };
    let provider = Registry::new(Options::default(), Arc::new(|_| None)).get(&settings).unwrap();
    (provider, Box::new(folder))
}

/// A command that prints one line, as an agent would.
async fn command(cue: Cue) -> Subject {
    let (line, then) = match cue {
        Cue::Say(text) => (json!({"text": text}), ""),
        Cue::Json(value) => (json!({"result": value.to_string()}), ""),
        Cue::Late(_) => (json!({"text": "late"}), "; exec sleep 1000"),
        Cue::Status(status, retry_after) => {
            let details = retry_after.map(|seconds| json!({"retryDelay": format!("{seconds}s")}));
            let error = json!({"code": status, "message": format!("no {status}"), "details": [details]});
            (json!({"type": "result", "status": "error", "error": error}), "; exit 1")
        }
    };
    let script = format!("printf '%s\\n' \"$1\"{then}");
    let args = ["-c", &script, "sh", &line.to_string()].map(str::to_owned).to_vec();
    let program = Program { command: "sh".into(), args, ..Program::default() };
    let settings = ProviderSettings {
        name: "cli".into(),
        program: Some(Box::new(program)),
        ..ProviderSettings::default()
    };
    let path = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    let registry = Registry::new(Options::default(), Arc::new(|_| None)).with_child_environment(path);
    (registry.get(&settings).unwrap(), Box::new(()))
}

async fn failure(subject: Subject) -> Failure {
    Asked::default().of(&*subject.0).await.unwrap_err()
}

macro_rules! conformance {
    ($name:ident, $make:path) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn it_has_a_name() {
                let (provider, _alive) = $make(Cue::Say("x")).await;
                assert!(!provider.name().is_empty());
            }

            #[tokio::test]
            async fn text_comes_back_whole_and_is_accounted_for() {
                let (provider, _alive) = $make(Cue::Say("three\nor \"four\" é")).await;
                let reply = Asked::default().of(&*provider).await.unwrap();
                assert_eq!((reply.text.as_str(), reply.finish), ("three\nor \"four\" é", Finish::Stop));
                assert_eq!(reply.model, "m-1");
                let usage = reply.usage;
                assert!(usage.calls == 1 && usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
                assert!(usage.estimated && usage.cost_micros == 0, "{usage:?}");
            }

            #[tokio::test]
            async fn a_structured_answer_is_json_text() {
                let value = json!({"n": 3, "items": ["a", null]});
                let (provider, _alive) = $make(Cue::Json(value.clone())).await;
                let reply = Asked::default().of(&*provider).await.unwrap();
                assert_eq!(serde_json::from_str::<Value>(&reply.text).unwrap(), value);
            }

            #[tokio::test]
            async fn failures_have_the_class_of_their_status() {
                for (status, class) in [
                    (400, Class::Fatal),
                    (401, Class::Permission),
                    (402, Class::Budget),
                    (404, Class::Fatal),
                    (408, Class::Timeout),
                    (429, Class::RateLimit),
                    (500, Class::Transient),
                    (503, Class::Capacity),
                    (529, Class::Capacity),
                ] {
                    let failure = failure($make(Cue::Status(status, None)).await).await;
                    assert_eq!(failure.class, class, "{status}");
                    assert!(failure.message.contains(&status.to_string()), "{failure}");
                    assert_eq!(failure.retry_after_ms, None);
                }
            }

            #[tokio::test]
            async fn a_stated_delay_is_passed_on() {
                let failure = failure($make(Cue::Status(429, Some(2))).await).await;
                assert_eq!(failure.retry_after_ms, Some(2000));
            }

            #[tokio::test]
            async fn a_late_answer_is_a_timeout() {
                let (provider, _alive) = $make(Cue::Late(Duration::from_secs(60))).await;
                let mut asked = Asked::default();
                asked.timeouts.total = Duration::from_millis(60);
                let failure = asked.of(&*provider).await.unwrap_err();
                assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("request_timeout")));
            }
        }
    };
}

conformance!(the_openai_provider, over_http);
conformance!(the_scripted_provider, scripted);
conformance!(the_command_provider, command);
