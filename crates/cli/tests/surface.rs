//! Attacks on other surfaces than the shell and HTTP: each case of the corpus has a row, and each test that a row names is there.

use crate::support::World;
use serde_json::{Value, json};
use std::path::Path;

const ROWS: &str = include_str!("../../../docs/design/012-surface-attacks.md");

#[test]
#[allow(clippy::print_stderr, reason = "a test that cannot run must say so")]
fn every_case_has_a_row_and_every_named_test_is_there() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rows: Vec<Vec<&str>> = ROWS
        .lines()
        .filter(|line| line.starts_with("| SUR-"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    for row in &rows {
        let tests = row.get(2).map_or("", |cell| cell.trim_matches(['|', ' ', '`']));
        if tests.is_empty() {
            assert!(row[1].contains("no surface"), "{row:?}");
            continue;
        }
        for test in tests.split("`, `") {
            let (file, name) = test.split_once("::").expect("a file and a test");
            let text =
                std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {name}(")), "there is no test `{test}`");
        }
    }
    let shared = std::env::var("CONVOKE_SHARED").unwrap_or_else(|_| "../../../shared".to_owned());
    let Ok(corpus) = std::fs::read_to_string(format!("{shared}/corpus/surface-attacks.json")) else {
        return eprintln!("skipped: the corpus is not here");
    };
    let corpus: Vec<Value> = serde_json::from_str(&corpus).unwrap();
    let others = corpus.iter().filter(|case| case["kind"] != "http").map(|case| case["id"].as_str().unwrap());
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), others.collect::<Vec<_>>());
}

#[test]
fn a_switch_that_a_tool_does_not_have_is_refused() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: coder, runtime: {provider: {name: scripted, file: replies.yaml}}}\n\
         agents: [{name: coder, prompt: Do it., tools: [files, shell]}]\noutput: {said: '{{ coder.output.result }}'}\n",
    );
    let call =
        |tool: &str, arguments: Value| json!({"name": format!("convoke__{tool}"), "arguments": arguments});
    let calls = [
        call("shell", json!({"command": "touch made", "dangerously_disable_sandbox": true})),
        call("shell", json!({"command": "touch made", "cwd": "/"})),
        call("write_file", json!({"path": "made", "content": "x", "root": "/"})),
    ];
    world.write("replies.yaml", json!({"replies": {"coder": [{"tool_calls": calls}, "Done."]}}).to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    let shown = world.convoke(&["show", &world.run(), "coder", "--full"]).exits(0).stdout;
    assert!(!world.work().join("made").exists(), "{shown}");
    for name in ["dangerously_disable_sandbox", "cwd", "root"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
}
