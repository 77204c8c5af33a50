//! `convoke doctor` as a caller sees it.

use crate::common;

use common::World;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// A service that lists models to each request, as long as the test lives.
fn service(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let head = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            assert!(head.count() > 0);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    address
}

#[test]
fn a_provider_that_answers_is_shown_with_its_models() {
    let world = World::new();
    let address = service(r#"{"data": [{"id": "tiny"}, {"id": "small"}]}"#);
    world.write("convoke.toml", format!("[providers.mine]\nbase_url = \"{address}\"\nmodel = \"tiny\"\n"));
    let said = world.run(&["doctor", "-p", "mine", "-p", "anthropic"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(lines[0], "mine              answers          2 models: tiny, small (default: tiny)");
    assert!(lines[1].starts_with("anthropic         is not set up    "), "{}", said.stdout);
    assert!(lines[1].contains("`ANTHROPIC_API_KEY` is not set"), "{}", said.stdout);
}

#[test]
fn where_none_answers_it_says_what_to_set() {
    let said = World::new().run(&["doctor", "-p", "openai", "-p", "gemini", "--format", "json"]);
    assert_eq!(said.code, 1);
    for word in ["no provider answers", "OPENAI_API_KEY", "-p ollama", "-p scripted"] {
        assert!(said.stderr.contains(word), "no {word} in {}", said.stderr);
    }
    let record: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((&record["answers"], &record["providers"][1]["name"]), (&false.into(), &"gemini".into()));
    assert_eq!(record["providers"][1]["advice"], "set GEMINI_API_KEY");
    assert!(record["advice"].as_array().is_some_and(|lines| lines.len() > 3));
}

#[test]
fn a_name_that_nobody_knows_is_told_from_one_without_a_key() {
    let said = World::new().run(&["doctor", "-p", "copilot"]);
    assert!(said.code == 1 && said.stdout.contains("provider `copilot` is not available"), "{}", said.stdout);
}

#[test]
fn a_service_that_answers_with_an_error_is_not_told_to_be_set_up() {
    let world = World::new();
    let address = service("no list");
    world.write("convoke.toml", format!("[providers.mine]\nname = \"gemini\"\nbase_url = \"{address}\"\n"));
    let said = world.run(&["doctor", "-p", "mine"]);
    assert!(
        said.code == 1 && said.stdout.starts_with("mine              does not answer  "),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains("GEMINI_API_KEY"), "{}", said.stdout);
}

#[test]
fn a_service_that_cannot_be_reached_is_not_told_to_need_a_key() {
    let world = World::new();
    let mut command = world.command(&["doctor", "-p", "openai"]);
    world
        .write("convoke.toml", "[providers.openai]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"x\"\n");
    let said = world.said(command.output().expect("the program runs"));
    assert!(said.code == 1 && said.stdout.contains("does not answer"), "{}", said.stdout);
    assert!(!said.stdout.contains("OPENAI_API_KEY"), "{}", said.stdout);
}

#[test]
fn a_coding_agent_that_is_the_default_is_looked_for() {
    let world = World::new();
    world
        .write("convoke.toml", "[provider]\nname = \"cli\"\ncommand = \"sh\"\nargs = [\"-c\", \"exit 1\"]\n");
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let last = said.stdout.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "cli               is there         a command; whether it answers shows when a step asks it"
    );
    world.write("convoke.toml", "[provider]\nname = \"cli\"\ncommand = \"no-such-agent\"\n");
    let said = world.run(&["doctor", "-p", "cli"]);
    let words = "cli               does not answer  provider cli: program `no-such-agent` was not found";
    assert!(said.code == 1 && said.stdout.starts_with(words), "{}", said.stdout);
    world.write("convoke.toml", "[provider]\nname = \"acp\"\ncommand = \"no-such-agent\"\n");
    assert!(world.run(&["doctor"]).stdout.contains("acp               does not answer  "));
}

#[test]
fn certificates_that_cannot_be_used_are_said() {
    let world = World::with(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x, retry: {max_attempts: 1}}\n",
    );
    world.write("empty.pem", "");
    let said = |path: &str, args: &[&str]| {
        let output = world.command(args).env("SSL_CERT_FILE", path).output().expect("the binary starts");
        String::from_utf8(output.stderr).expect("text")
    };
    let words = "SSL_CERT_FILE: `empty.pem` holds no certificate";
    assert!(said("empty.pem", &["doctor", "-p", "scripted"]).contains(words));
    let unreadable = said("gone.pem", &["doctor", "-p", "scripted"]);
    assert!(unreadable.contains("`gone.pem` cannot be read: No such file"), "{unreadable}");
    assert!(said("", &["doctor", "-p", "scripted"]).contains("SSL_CERT_FILE is set and names no file"));
    world.write("convoke.toml", "[provider]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n");
    let run = said("empty.pem", &["run", "w.yaml"]);
    assert!(run.contains(words), "a run that asks a service says it\n{run}");
    assert!(!said("empty.pem", &["run", "w.yaml", "-p", "scripted"]).contains(words), "nothing is reached");
}

#[test]
fn a_key_in_a_file_that_others_can_read_is_refused() {
    let world = World::with(
        "workflow: {name: a, entry_point: a, runtime: {provider: {name: anthropic, api_key_file: key}, default_model: m}}\nagents:\n  - {name: a, prompt: hi}\n",
    );
    world.write("key", "sk-open-to-all\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(world.path("key"), mode).expect("a mode");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 3);
    assert!(
        said.stderr.contains("can be read by others") && said.stderr.contains("chmod 600"),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("sk-open-to-all"));
}
