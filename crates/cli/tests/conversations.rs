//! `convoke show RUN TASK`: what an agent and its tools said to each other.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::support;

use std::process::{Command, Stdio};
use support::World;

const WORKFLOW: &str = r#"
workflow:
  name: reading
  entry_point: reader
  runtime:
    provider: {name: scripted, file: replies.yaml}
    mcp_servers: {bulk: {command: python3, args: [server.py]}}
agents:
  - {name: reader, prompt: Read both pages.}
output: {said: "{{ reader.output.result }}"}
"#;

const REPLIES: &str = r#"
replies:
  reader:
    - {tool_calls: [{name: bulk__fetch, arguments: {n: 1}}], say: I begin.}
    - {tool_calls: [{name: bulk__fetch, arguments: {n: 2}}]}
    - I have read them.
"#;

#[test]
fn turns_calls_results_and_unknown_outcomes_are_shown() {
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: python3 is not here");
    }
    let world = World::with_workflow(WORKFLOW);
    world.write("replies.yaml", REPLIES);
    world.write("server.py", include_str!("conversation/server.py"));
    // The second call has its effect, and its result is lost.
    world.write("kills", "2 after");
    assert_ne!(world.convoke(&["run", "w.yaml"]).code, Some(0));
    let run = world.run();
    let lost = world.convoke(&["show", &run, "reader"]).exits(0).stdout;
    assert!(lost.contains("  turn 2:\n    calls bulk__fetch {\"n\":2}\n"), "{lost}");
    world.convoke(&["resume", &run]).exits(0);

    let shown = world.convoke(&["show", &run, "reader"]).exits(0).stdout;
    let wanted = [
        "conversation:\n  turn 1:\n    I begin.\n    calls bulk__fetch {\"n\":1}\n",
        "    bulk__fetch gave:\n      page 1 begins\n",
        "    bulk__fetch has an unknown outcome:\n",
        "--full shows all\n",
        "--kept r1 shows one whole\n",
    ];
    for words in wanted {
        assert!(shown.contains(words), "{words:?} is missing:\n{shown}");
    }
    assert!(!shown.contains("1 failed"), "what nobody knows did not fail:\n{shown}");
    let events = world.convoke(&["events", &run]).exits(0).stdout;
    assert!(events.contains("the outcome of a call of `bulk__fetch` is unknown"), "{events}");

    let full = world.convoke(&["show", &run, "reader", "--full"]).exits(0).stdout;
    assert!(full.len() > shown.len() && !full.contains("--full"), "{} bytes", full.len());
    let kept = world.convoke(&["show", &run, "reader", "--kept", "r1"]).exits(0).stdout;
    assert!(kept.len() > 1_900_000 && kept.ends_with("page 1 ends\n"), "{} bytes", kept.len());
    world.convoke(&["show", &run, "reader", "--kept", "r9"]).exits(2).mentions(&["it has r1"]);
    let data = world.convoke(&["show", &run, "reader", "--format", "json"]).exits(0).json();
    let messages = &data["conversations"][0]["messages"];
    assert_eq!(messages[0]["tool_calls"][0]["arguments"]["n"], 1, "{messages}");
    assert_eq!(messages[3]["result_of"]["unknown"], true, "{messages}");
}
