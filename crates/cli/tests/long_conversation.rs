//! A conversation of many turns with tool results of two megabytes, killed again and again: it stays within its window,
//! keeps calls and results together, and goes on at its last finished turn.
//!
//! `CONVOKE_TURNS` says how many turns (60 unless told; 200 for the long version).
//!
//! The judges are outside: the model service looks at every request, and the tool leaves a line for every call.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use support::World;
use support::model::Model;

const WINDOW: usize = 40_000;
/// When it is killed: spread over the conversation in hundredths of it, and over the moments of a turn.
const KILLS: &[(u64, &str)] = &[
    (5, "before"),
    (10, "after"),
    (12, "late"),
    (30, "before"),
    (32, "before"),
    (50, "late"),
    (75, "after"),
    (99, "late"),
];

fn turns() -> u64 {
    std::env::var("CONVOKE_TURNS").ok().map_or(60, |text| text.parse().expect("a number"))
}

fn workflow(url: &str) -> String {
    format!(
        r#"
workflow:
  name: long
  entry_point: reader
  runtime:
    provider: {{name: vllm, base_url: "{url}"}}
    default_model: reader
    max_tokens: 1000
    mcp_servers: {{bulk: {{command: python3, args: [server.py]}}}}
agents:
  - name: reader
    prompt: Read all pages, then say how many there were.
    context_window: {WINDOW}
    max_agent_iterations: 400
    output: {{pages: {{type: number}}}}
output: {{pages: "{{{{ reader.output.pages }}}}"}}
"#
    )
}

/// Asks for page after page; a call whose outcome is unknown is made again. Notes what is wrong with a request.
fn reader(request: &Value, turns: u64, wrong: &mut Vec<String>) -> Value {
    let messages = request["messages"].as_array().expect("messages");
    wrong.extend(parted(messages));
    let length = request["messages"].to_string().len() + request["tools"].to_string().len();
    if length / 4 + 1000 > WINDOW {
        wrong.push(format!("a request of {length} characters"));
    }
    let next = match last_call(messages) {
        None => 1,
        Some((number, result)) if result.contains(&format!("page {number} begins")) => number + 1,
        Some((number, _)) => number,
    };
    match next {
        over if over > turns => json!({"say": format!("{{\"pages\": {turns}}}")}),
        next => json!({"call": {"name": "bulk__fetch", "arguments": {"n": next}}}),
    }
}

/// The number of the last page that was asked for, and what came.
fn last_call(messages: &[Value]) -> Option<(u64, String)> {
    let result = messages.iter().rev().find(|message| message["role"] == "tool")?;
    let of = |call: &&Value| call["id"] == result["tool_call_id"];
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let arguments = calls.rev().find(of)?["function"]["arguments"].as_str()?.to_owned();
    let arguments: Value = serde_json::from_str(&arguments).ok()?;
    Some((arguments["n"].as_u64()?, result["content"].as_str()?.to_owned()))
}

/// A result must follow the message that called for it, and every call must have its result.
fn parted(messages: &[Value]) -> Option<String> {
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let at = open.iter().position(|id| **id == message["tool_call_id"]);
            open.remove(match at {
                Some(at) => at,
                None => return Some(format!("a result without its call: {}", message["tool_call_id"])),
            });
            continue;
        }
        if !open.is_empty() {
            return Some(format!("calls without results: {open:?}"));
        }
        open = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect();
    }
    (!open.is_empty()).then(|| format!("calls without results at the end: {open:?}"))
}

#[test]
fn a_long_conversation_survives_everything() {
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: python3 is not here");
    }
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let (notes, turns) = (wrong.clone(), turns());
    let model = Model::answering(move |request| reader(request, turns, &mut notes.lock().unwrap()));
    let world = World::with_workflow(&workflow(&model.url()));
    world.write("server.py", include_str!("conversation/server.py"));
    let kills: Vec<String> =
        KILLS.iter().map(|(hundredths, moment)| format!("{} {moment}", turns * hundredths / 100)).collect();
    world.write("kills", kills.join("\n"));
    let mut said = world.convoke(&["run", "w.yaml"]);
    let mut killed = 0;
    while said.code.is_none() {
        killed += 1;
        assert!(killed <= KILLS.len(), "it was killed more often than asked for");
        said = world.convoke(&["resume"]);
    }
    let said = said.exits(0);
    assert_eq!((said.json(), killed), (json!({ "pages": turns }), KILLS.len()), "{said}");
    assert_eq!(*wrong.lock().unwrap(), Vec::<String>::new());
    judge_calls(&world.read("witness"), turns);
    let asked = model.asked().len() as u64;
    let most = turns + 1 + 2 * KILLS.len() as u64;
    assert!(asked <= most, "{asked} requests; {most} go on at the last finished turn each time");
    let run = world.run();
    let usage = world.convoke(&["show", &run, "--format", "json"]).exits(0).json()["usage"].clone();
    assert!(usage["calls"].as_u64().unwrap() > turns, "what killed attempts spent is not forgotten: {usage}");
    world.convoke(&["verify", &run]).exits(0);
}

/// A page is fetched once, and once more only where a kill left its outcome unknown.
fn judge_calls(witness: &str, turns: u64) {
    let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kills: BTreeMap<&str, u64> = BTreeMap::new();
    for line in witness.lines() {
        match line.split_once(' ').expect("a word and a number") {
            ("START", number) => *starts.entry(number).or_default() += 1,
            ("KILL", number) => *kills.entry(number).or_default() += 1,
            _ => {}
        }
    }
    assert_eq!(starts.len() as u64, turns, "every page was fetched");
    for (number, times) in starts {
        let allowed = 1 + kills.get(number).copied().unwrap_or(0);
        assert!(times <= allowed, "page {number} was fetched {times} times, killed {} times", allowed - 1);
    }
}
