//! What still runs and is warned of.

use crate::personas::kit::{node, phase, piped, refused, warned};
use convoke_plan::Kind;

#[test]
fn what_is_not_reached_is_left_out_with_a_warning() {
    let text = piped("", &["a", "b", "lost"], &["from: a, to: b", "from: lost, to: b"]);
    let plan = warned(&text, &[("workflow::unreachable", "`lost`")]);
    let b = node(plan.root(), "b");
    assert_eq!((b.needs.len(), b.triggers.len()), (1, 1), "what never runs holds nobody up");
    assert!(!plan.root().nodes.iter().any(|node| &*node.name == "lost"));
}

#[test]
fn a_tool_in_both_lists_is_banned() {
    let both = "x, toolClearance: {allowlist: [read, write], banlist: [WRITE]}";
    let text = piped("mcp_servers: {files: {command: files}}\n", &["a"], &[]).replacen("You lead.", both, 1);
    let plan = warned(&text, &[("workflow::no_effect", "`write`")]);
    let clearance = &phase(plan.root(), "a").clearance;
    assert_eq!(
        (clearance.allow.as_ref().unwrap().len(), clearance.ban.as_slice()),
        (2, &["WRITE".to_owned()][..])
    );
    let Kind::Agent(agent) = &plan.root().node(phase(plan.root(), "a").worker).kind else {
        panic!("a model")
    };
    assert_eq!(agent.settings.tools.as_deref(), Some(&["read".to_owned()][..]));
}

#[test]
fn misspelt_tools_of_a_clearance_are_warned_of_where_all_tools_are_known() {
    let scripts =
        "mcp_servers: {files: {type: scripts, scripts: {read_file: {command: cat}, shell: {command: sh}}}}\n";
    let cleared = |servers: &str, lists: &str| {
        piped(servers, &["a", "b"], &["from: a, to: b"]).replacen(
            "You lead.",
            &format!("x, toolClearance: {{{lists}}}"),
            1,
        )
    };
    let slips =
        "allowlist: [raed_file, files__raed_file, READ_FILE, 'files__*', deploy], banlist: [shel, rm]";
    warned(
        &cleared(scripts, slips),
        &[
            (
                "workflow::no_effect",
                "`raed_file` in `allowlist` stands for no tool of any server did you mean `read_file`?",
            ),
            ("workflow::no_effect", "did you mean `files__read_file`?"),
            (
                "workflow::no_effect",
                "`deploy` in `allowlist` stands for no tool of any server available: read_file, shell",
            ),
            (
                "workflow::no_effect",
                "`shel` in `banlist` stands for no tool of any server did you mean `shell`?",
            ),
        ],
    );
    let listed = "mcp_servers: {files: {command: files, tools: [read_file]}}\n";
    warned(&cleared(listed, "allowlist: [raed_file]"), &[("workflow::no_effect", "`read_file`")]);
    // What this server has is known when it runs; a coding agent has tools that no server lists.
    warned(&cleared("mcp_servers: {files: {command: files}}\n", slips), &[]);
    warned(&cleared("", slips), &[]);
}

#[test]
fn slips_that_still_run_are_warned_of() {
    let actors = "actors: {model_b: {type: agent}}\n";
    warned(
        &piped(actors, &["a"], &[]).replace("actorId: m", "actorId: model_c"),
        &[("workflow::no_effect", "`model_b`")],
    );
    let kinds = piped("topologies: [parallel]\n", &["a topology: {kind: sequential, blockId: x}"], &[]);
    warned(&kinds, &[("workflow::no_effect", "`sequential`")]);
    let name = piped("", &["a", "state"], &["from: a, to: state"]);
    warned(&name, &[("workflow::reserved_name", "`state`")]);
}

#[test]
fn a_service_that_is_probably_misspelt_is_warned_of() {
    let constrained = |model: &str| {
        piped("", &["a"], &[]).replacen("You lead.", &format!("You lead., modelConstraint: '{model}'"), 1)
    };
    warned(&constrained("openia:gpt-5"), &[("workflow::unknown_provider", "did you mean `openai:gpt-5`?")]);
    refused(&constrained("openai:"), &[("workflow::empty_value", "names the service `openai` and no model")]);
    for model in ["openai:gpt-5", "llama3:8b", "llama:8b", "llama:latest", "big"] {
        warned(&constrained(model), &[]);
    }
}

#[test]
fn tries_that_the_process_does_not_grant_are_warned_of_where_they_are_asked_for() {
    let cut = [("workflow::no_effect", "`maxRetries` is 5, and the process allows 2")];
    warned(&piped("", &["a constraints: {maxRetries: 5}"], &[]), &cut);
    let all = "topologyConstraints: {maxDepth: 2, maxRetries: 5}\n";
    warned(&piped(all, &["a", "b"], &["from: a, to: b"]), &cut);
    warned(&piped(all, &["a constraints: {maxRetries: 1}"], &[]), &[]);
    warned(&piped("", &["a constraints: {maxRetries: 2}"], &[]), &[]);
}
