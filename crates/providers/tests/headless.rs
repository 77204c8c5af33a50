//! What driving a command that prints JSON lines must do.
#![allow(missing_docs)]

mod common;

use common::{Asked, Away, Heard, cut_off, is_gone};
use convoke_agent::{Message, NoReply, Provider, Providers, Role};
use convoke_model::{Class, Program, ProviderSettings};
use convoke_providers::{Options, Registry};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn cli(command: &str, args: &[&str]) -> Arc<dyn Provider> {
    let program = Program {
        command: command.into(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: vec![("GIVEN_KEY".into(), "${KEY_OF_MINE}".into())],
        ..Program::default()
    };
    let settings = ProviderSettings {
        name: "cli".into(),
        program: Some(Box::new(program)),
        ..ProviderSettings::default()
    };
    let path = std::env::var_os("PATH").unwrap();
    let lookup = Arc::new(|name: &str| (name == "KEY_OF_MINE").then(|| "sk-given-by-name".to_owned()));
    let registry =
        Registry::new(Options::default(), lookup).with_child_environment(vec![("PATH".into(), path)]);
    registry.get(&settings).unwrap()
}

/// A command that a shell runs; `$1` and so on are its arguments.
fn script(text: &str, args: &[&str]) -> Arc<dyn Provider> {
    cli("sh", &[&["-c", text, "sh"], args].concat())
}

#[tokio::test]
async fn what_is_asked_goes_into_the_arguments_as_it_is() {
    let provider =
        script("printf '%s|' \"$@\"", &["{prompt}", "--system={system}", "-m", "{model}", "{schema}"]);
    let mut asked =
        Asked { messages: vec![Message::new(Role::User, "a \"b\" $HOME `c`\n{model}")], ..Asked::default() };
    let reply = asked.of(&*provider).await.unwrap();
    assert_eq!(reply.text, "a \"b\" $HOME `c`\n{model}|-m|m-1|");
    assert!(provider.has_native_schema("m-1"));
    asked.schema = Some(serde_json::from_value(json!({"n": {"type": "number"}})).unwrap());
    let text = asked.of(&*provider).await.unwrap().text;
    assert!(text.contains("\"properties\":{\"n\""), "{text}");
}

#[tokio::test]
async fn a_prompt_without_a_place_goes_to_standard_input() {
    let reply = Asked::default().of(&*script("cat; printf ' in %s' \"$PWD\"", &[])).await.unwrap();
    assert!(reply.text.starts_with("Be brief.\n\nHow many? in /"), "{}", reply.text);
    // A prompt that the command does not read, and one that it does; both are larger than any pipe.
    let large = Asked { messages: vec![Message::new(Role::User, "x".repeat(1 << 20))], ..Asked::default() };
    assert_eq!(large.of(&*script("echo ok", &[])).await.unwrap().text, "ok");
    assert_eq!(large.of(&*script("wc -c", &[])).await.unwrap().text.trim(), (1 << 20).to_string());
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_not_waited_for() {
    let provider = script("setsid sleep 1000 & echo \"{\\\"text\\\": \\\"$!\\\"}\"", &[]);
    let reply = Asked::default().of(&*provider).await.unwrap();
    assert!(is_gone(reply.text.parse().unwrap(), Duration::from_secs(30)).await);
    // Nor is an output that stalls while the prompt has not been read.
    let mut asked =
        Asked { messages: vec![Message::new(Role::User, "x".repeat(1 << 20))], ..Asked::default() };
    asked.timeouts.first_token = Duration::from_millis(60);
    let failure = asked.of(&*script("exec sleep 1000", &[])).await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("first_token_timeout"));
}

#[tokio::test]
async fn what_was_given_is_in_no_failure() {
    let told = "{\"type\":\"turn.failed\",\"error\":{\"message\":\"wrong key: $GIVEN_KEY\"}}";
    let provider = script(&format!("echo {}", json!(told)), &[]);
    let failure = Asked::default().of(&*provider).await.unwrap_err();
    assert_eq!(failure.message, "agent `sh` failed: wrong key: ***");
}

#[tokio::test]
async fn it_runs_where_it_is_told_and_sees_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let asked = Asked { working_dir: Some(folder.path().display().to_string()), ..Asked::default() };
    let reply = asked.of(&*script("echo \"$PWD $GIVEN_KEY $HOME\"", &[])).await.unwrap();
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(reply.text, format!("{} sk-given-by-name", place.display()));
}

#[tokio::test]
async fn a_command_that_fails_says_how() {
    let provider = script("echo '{\"text\": \"half\"}'; echo \"went wrong: $GIVEN_KEY\" >&2; exit 4", &[]);
    let failure = Asked::default().of(&*provider).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("agent_failed")));
    assert_eq!(failure.message, "agent `sh` failed (exit status: 4: went wrong: ***)");
    let missing = cli("no-such-agent", &[]);
    for failure in [Asked::default().of(&*missing).await.unwrap_err(), missing.models().await.unwrap_err()] {
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("not_found")));
    }
    assert_eq!(provider.models().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn silence_is_a_stall_only_in_the_middle_of_a_message() {
    let piece = json!({"type": "message", "role": "assistant", "content": "half", "delta": true}).to_string();
    let tool = json!({"type": "tool_use", "tool_name": "ls", "tool_id": "t"}).to_string();
    let mut asked = Asked::default();
    asked.timeouts.idle = Duration::from_millis(60);
    // A slow machine must not reach the limit of the whole before the stall.
    let (short, long) = (Duration::from_millis(600), Duration::from_secs(60));
    for (said, total, reason) in [
        (piece.clone(), long, "idle_timeout"),
        (format!("{piece}\n{tool}"), short, "request_timeout"),
        ("{\"type\":\"turn.started\"}".to_owned(), short, "request_timeout"),
    ] {
        asked.timeouts.total = total;
        let failure = asked.of(&*script("echo \"$1\"; exec sleep 1000", &[&said])).await.unwrap_err();
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some(reason)), "{said}");
    }
}

#[tokio::test]
async fn a_dropped_request_leaves_nothing_running() {
    let provider = script("sleep 1000 & echo \"{\\\"text\\\": \\\"$!\\\"}\"; wait", &[]);
    let [shell, child] = cut_off(&*provider, &Asked::default()).await;
    let within = Duration::from_secs(30);
    assert!(is_gone(shell, within).await && is_gone(child, within).await);
}

#[tokio::test]
async fn reports_come_while_it_runs() {
    let output =
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"three\"}}";
    let (asked, heard) = (Asked::default(), Heard::default());
    let reply = script("echo \"$1\"", &[output]).complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), heard.text().as_str()), ("three", "three"));
}

#[tokio::test]
async fn a_process_that_was_away_for_longer_than_its_lease_starts_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("witness");
    let provider = script("echo x >\"$1\"", &[witness.to_str().unwrap()]);
    let asked = Asked::default();
    let failure =
        provider.complete(&asked.request(), &Away).await.map_err(NoReply::into_failure).unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Cancelled, Some("fenced")));
    assert!(!witness.exists());
}
