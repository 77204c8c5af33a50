//! A coding agent's permission request is a gate: the run parks, a person answers, and the agent goes on.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::support;

use serde_json::json;
use std::process::{Command, Stdio};
use support::World;

fn world(permissions: &str) -> Option<World> {
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        eprintln!("skipped: python3 is not here");
        return None;
    }
    let world = World::with_workflow(&format!(
        r#"
workflow: {{name: coder, entry_point: fix}}
agents:
  - name: fix
    provider: {{name: acp, command: python3, args: [agent.py], permissions: {permissions}}}
    prompt: Write a report.
output: {{said: "{{{{ fix.output.result }}}}"}}
"#
    ));
    world.write("agent.py", include_str!("conversation/agent.py"));
    Some(world)
}

#[test]
fn a_permission_request_waits_for_a_person_in_whatever_process() {
    let Some(world) = world("ask") else { return };
    let parked = world.convoke(&["run", "w.yaml"]).exits(5);
    parked.mentions(&["Write report.txt", "convoke answer"]);
    assert_eq!(world.read("report.txt"), "", "nothing is done before somebody agrees");
    let run = world.run();
    let said = world.convoke(&["answer", &run, "fix", "yes", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({ "said": "I wrote report.txt." }));
    assert_eq!(world.read("report.txt"), "written\n");
    let shown = world.convoke(&["show", &run, "fix", "--format", "json"]).exits(0).json();
    assert_eq!(shown["answer"]["choice"]["value"], json!("yes"), "{shown}");
}

#[test]
fn a_refusal_reaches_the_agent() {
    let Some(world) = world("ask") else { return };
    world.convoke(&["run", "w.yaml"]).exits(5);
    let said = world.convoke(&["answer", &world.run(), "fix", "no", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({ "said": "I left it alone." }));
    assert_eq!(world.read("report.txt"), "");
}

#[test]
fn a_run_that_failed_over_a_refusal_asks_again_when_it_is_resumed() {
    let Some(world) = world("ask") else { return };
    world.write("stubborn", "");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let said = world.convoke(&["answer", &run, "fix", "no", "--resume"]);
    assert_eq!(said.code, Some(1), "{said}");
    said.mentions(&["it may not edit: Write report.txt"]);
    world.convoke(&["resume", &run]).exits(5).mentions(&["Write report.txt"]);
    let said = world.convoke(&["answer", &run, "fix", "yes", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({ "said": "I wrote report.txt." }));
}

#[test]
fn skipping_gates_is_no_permission() {
    let Some(world) = world("ask") else { return };
    world.convoke(&["run", "w.yaml", "--skip-gates"]).exits(5);
    let said = world.convoke(&["resume", &world.run(), "--skip-gates"]);
    assert_ne!(said.code, Some(0), "{said}");
    assert_eq!(world.read("report.txt"), "");
}

#[test]
fn where_a_file_decides_nobody_is_asked() {
    for (permissions, said) in [("allow", "I wrote report.txt."), ("deny", "I left it alone.")] {
        let Some(world) = world(permissions) else { return };
        assert_eq!(world.convoke(&["run", "w.yaml"]).exits(0).json(), json!({ "said": said }));
    }
}

#[test]
fn an_answer_in_time_goes_on_in_the_same_process_and_session() {
    let Some(world) = world("ask") else { return };
    // A second branch keeps the run alive while the request waits.
    let text = world.read("w.yaml").replace("entry_point: fix", "entry_point: [fix, hold]");
    let hold = "agents:\n  - {name: hold, type: script, command: sh, args: [-c, 'while [ ! -e report.txt ]; do sleep 0.01; done']}\n";
    world.write("w.yaml", text.replace("agents:\n", hold));
    let process = world.start(&["run", "w.yaml"]);
    support::process::until("the request is known", || world.read("witness").contains("prompt"));
    let run = world.run();
    support::process::until("the gate is open", || {
        world.convoke(&["show", &run, "fix", "--format", "json"]).stdout.contains("Write report.txt")
    });
    world.convoke(&["answer", &run, "fix", "yes"]).exits(0);
    let said = process.wait();
    assert_eq!(said.exits(0).json(), json!({ "said": "I wrote report.txt." }));
    assert_eq!(world.read("witness").matches("prompt").count(), 1, "the agent was asked once");
}

#[test]
fn tools_that_a_coding_agent_is_not_held_to_are_noted() {
    let Some(world) = world("allow") else { return };
    world.convoke(&["run", "w.yaml"]).exits(0);
    let code = "clearance_unenforced";
    assert!(!world.convoke(&["show", &world.run()]).exits(0).stdout.contains(code), "nothing was stated");
    let stated = world.read("w.yaml").replace("    prompt:", "    tools: []\n    prompt:");
    world.write("w.yaml", stated);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = &world.runs()[0];
    assert!(world.convoke(&["show", run]).exits(0).stdout.contains(code));
    let shown = world.convoke(&["show", run, "fix", "--format", "json"]).exits(0).json();
    assert_eq!(shown["notes"][0]["code"], json!(code), "{shown}");
}

/// A step that knows a secret, and an agent that has us read a file with that secret in it and writes it back.
fn reading(listed: &str) -> Option<World> {
    let world = world("allow")?.env("SHOP_TOKEN", SECRET);
    let text = world.read("w.yaml").replace("entry_point: fix", "entry_point: [fix, child]");
    let child = "  - {name: child, type: script, command: sh, args: [-c, 'true'], env: {TOKEN: '${SHOP_TOKEN}'}}\noutput:";
    world.write(
        "w.yaml",
        text.replace("output:", child).replace("    prompt:", &format!("{listed}    prompt:")),
    );
    world.write("shop.env", format!("TOKEN={SECRET}\nNAME=shop\n"));
    world.write("reads", "shop.env");
    Some(world)
}

const SECRET: &str = "canary-shop-token-1234";

/// What a coding agent has us read is masked like its prompt, and it cannot overwrite what it was not shown.
#[test]
fn a_file_that_is_read_for_an_agent_holds_no_secret() {
    let Some(world) = reading("") else { return };
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(said.json(), json!({ "said": "refused" }));
    let witness = world.read("witness");
    assert!(witness.contains("read TOKEN=[secret]\nNAME=shop") && !witness.contains(SECRET), "{witness}");
    assert_eq!(world.read("shop.env"), format!("TOKEN={SECRET}\nNAME=shop\n"), "nothing is lost");
    world.write("shop.env", "NAME=shop\n");
    assert_eq!(world.convoke(&["run", "w.yaml"]).exits(0).json(), json!({ "said": "written" }));
    assert_eq!(world.read("shop.env"), "NAME=shop\nmore\n");
}

#[test]
fn an_agent_that_may_see_a_secret_reads_and_writes_it() {
    let Some(world) = reading("    secrets: [SHOP_TOKEN]\n") else { return };
    assert_eq!(world.convoke(&["run", "w.yaml"]).exits(0).json(), json!({ "said": "written" }));
    assert_eq!(world.read("shop.env"), format!("TOKEN={SECRET}\nNAME=shop\nmore\n"));
}
