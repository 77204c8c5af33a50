//! A key that comes back from outside goes no further: not to the journal, the screen, errors, cassettes or commands.

mod support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, json};
use std::path::Path;
use support::model::Model;
use support::{Said, World};

const KEY: &str = "canary-7f3a/91\"c0 de+ffee";

/// The key as it is, and as services, tools and models are known to pass it on.
fn forms() -> Vec<String> {
    let hex = |upper: bool| -> String {
        let one = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        KEY.bytes().map(one).collect()
    };
    let percent: String = KEY
        .bytes()
        .map(|b| match b {
            b'-' => "-".to_owned(),
            b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    let quoted = serde_json::to_string(KEY).unwrap();
    vec![
        KEY.to_owned(),
        STANDARD.encode(KEY),
        hex(false),
        percent,
        quoted[1..quoted.len() - 1].to_owned(),
        KEY.chars().rev().collect(),
    ]
}

/// Every place where a run leaves something, as text.
fn everything(world: &World, said: &Said) -> String {
    let run = world.runs()[0].clone();
    let mut all = format!("{}\n{}\n", said.stdout, said.stderr);
    for args in
        [vec!["events", &run, "--format", "json"], vec!["show", &run], vec!["show", &run, "--format", "json"]]
    {
        all.push_str(&world.convoke(&args).exits(0).stdout);
    }
    for task in ["told", "refused"] {
        all.push_str(&world.convoke(&["show", &run, task, "--format", "json"]).stdout);
    }
    gather(&world.state(), &mut all);
    gather(&world.work().join("tape"), &mut all);
    all
}

fn gather(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => gather(&entry.path(), all),
            false => all.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap())),
        }
    }
}

/// An agent that is told the key, one that is refused with it in the message, and a command that looks for it.
fn workflow(url: &str) -> String {
    format!(
        r#"
workflow:
  name: leaky
  entry_point: [told, refused, child]
  runtime:
    provider: {{name: openai, base_url: "{url}", api_key: "${{SERVICE_KEY}}"}}
agents:
  - {{name: told, model: told, prompt: "What is my key?"}}
  - {{name: refused, model: refused, prompt: Go, on_error: [{{class: any, to: $end}}], retry: {{max_attempts: 1}}}}
  - {{name: child, type: script, command: env}}
output: {{told: "{{{{ told.output.result }}}}", child: "{{{{ child.output.stdout }}}}"}}
"#
    )
}

#[test]
fn no_form_of_a_key_is_left_anywhere() {
    let spoken = forms().join(" and ");
    let mut replies = Map::new();
    replies.insert("told".into(), json!({ "say": format!("It is {spoken}.") }));
    replies.insert("refused".into(), json!({ "status": 401, "message": format!("bad key {spoken}") }));
    let model = Model::start(&replies);
    let world = World::with_workflow(&workflow(&model.url()));
    let mut command = world.command(&["run", "w.yaml", "--record", "tape"]);
    let said = Said::from(command.env("SERVICE_KEY", KEY).output().unwrap());
    assert!(said.stdout.contains("It is [secret]"), "what was said is passed on without it\n{said}");
    assert!(said.stderr.contains("bad key "), "an error still says what happened\n{said}");
    assert_eq!(model.asked().len(), 2, "both agents asked with the key");
    let all = everything(&world, &said);
    for form in forms() {
        assert!(!all.contains(&form), "`{form}` was left somewhere");
    }
}
