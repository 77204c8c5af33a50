//! What is said about a manifest is said in its own words: it has personas, nodes, actors and edges, and no steps or routes.

use crate::personas::kit::{piped, warned};
use crate::personas::world::{compiled, shown};

/// Words for parts of a workflow file.
const OF_WORKFLOWS: &[&str] = &["step", "steps", "route", "routes", "need", "needs", "agent", "sub-workflow"];

/// The messages and the advice about a manifest, none of them in words of workflows.
fn said(text: &str) -> Vec<String> {
    let result = compiled(text);
    let all = shown(&result);
    let said: Vec<String> = result
        .diagnostics
        .iter()
        .map(|found| format!("{} ({})", found.message, found.help.as_deref().unwrap_or_default()))
        .collect();
    assert!(!said.is_empty(), "nothing is wrong with {text}");
    for word in said.iter().flat_map(|said| said.split(|c: char| !c.is_alphanumeric() && c != '-')) {
        assert!(!OF_WORKFLOWS.contains(&word), "`{word}`: {all}");
    }
    said
}

fn only(text: &str, expected: &str) {
    let said = said(text);
    assert!(said.len() == 1 && said[0].contains(expected), "expected {expected}: {said:#?}");
}

#[test]
fn a_text_of_a_persona_is_told_with_the_persona_and_once() {
    let with = |text: &str| piped("", &["a", "b"], &["from: a, to: b"]).replacen("You lead.", text, 1);
    only(&with("'You {{ nobody }}'"), "persona `lead`: systemPromptTemplate refers to `nobody`");
    only(&with("'You {{ attempt'"), "persona `lead`: the template of systemPromptTemplate cannot be read");
    only(&with("x, modelConstraint: '{{ nobody }}'"), "persona `lead`: modelConstraint refers to `nobody`");
    // It plays both nodes, and one of them is the first.
    let early = said(&with("'After {{ a.output }}'"));
    assert!(early[0].contains("persona `lead`") && early[0].contains("a node has no output"), "{early:?}");
    let late = said(&with("'After {{ b.output }}'"));
    assert!(late[0].contains("no edge leads from it to `a`"), "{late:?}");
}

#[test]
fn a_text_of_a_role_below_a_phase_is_told_with_its_persona() {
    let below = "relationships: [{parentPersonaId: lead, childPersonaId: coder}]\n";
    let text = piped(below, &["a"], &[]).replacen("You code.", "'You {{ nobody }}'", 1);
    only(&text, "persona `coder`: systemPromptTemplate refers to `nobody`");
}

#[test]
fn what_actors_and_nodes_say_is_told_with_the_node() {
    let actor = |keys: &str| {
        let actors = format!("actors: {{m: {{type: agent, {keys}}}}}\n");
        piped(&actors, &["a", "b"], &["from: a, to: b"])
    };
    only(&actor("capabilities: {compaction: {at: 50, to: 60}}"), "node `a`: `compaction` begins at 50");
    only(&actor("timeouts: {idle: 900s}"), "node `a`: `timeouts.idle` of 900 s");
    only(&actor("model: '{{ nobody }}'"), "node `a`: model refers to `nobody`");
    let script = |timeouts: &str| {
        let actors =
            format!("actors: {{m: {{type: script, command: work, timeout: 9s, timeouts: {timeouts}}}}}\n");
        piped(&actors, &["a", "b"], &["from: a, to: b"])
    };
    only(&script("{connect: 5s}"), "node `a`: `timeouts.connect` is for requests to a model");
    only(&script("{idle: 9s}"), "node `a`: `timeouts.idle` is not shorter than the whole may take");
    let tasks = |text: &str| piped("", &[&format!("a task: '{text}'"), "b-1"], &["from: a, to: b-1"]);
    only(&tasks("{{ b.x }}"), "templates read `b-1` as a subtraction; call the node `b_1`");
    let budget = "limits: {budget_usd: 1, budget_mode: enforce}\n";
    only(&piped(budget, &["a budget: {usd: 3}"], &[]), "`budget.usd` of `a` is 3, more than");
}

#[test]
fn servers_stand_where_manifests_have_them() {
    let said = said(&piped("tools: [read]\n", &["a"], &[]));
    assert!(
        said[0].contains("the manifest declares no MCP server (servers stand in `mcp_servers`"),
        "{said:?}"
    );
}

#[test]
fn the_clearance_of_a_coding_agent_has_an_effect() {
    let own = "provider: {name: acp, command: coder}\n";
    let cleared = "x, toolClearance: {allowlist: [read, edit], banlist: [execute]}";
    warned(&piped(own, &["a"], &[]).replacen("You lead.", cleared, 1), &[]);
    let scripts = "mcp_servers: {files: {type: scripts, scripts: {reed: {command: cat}}}}\n";
    let both = piped(&format!("{own}{scripts}"), &["a"], &[]).replacen("You lead.", cleared, 1);
    warned(&both, &[("workflow::no_effect", "MCP server `files` has no effect")]);
}
