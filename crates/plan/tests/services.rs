//! What a file says about services, servers and coding agents, as far as it can be judged before anything starts.

use crate::world;

use convoke_model::PhaseTimeouts;
use convoke_plan::compile::Compiled;
use convoke_plan::{Kind, Plan, Severity};
use std::time::Duration;
use world::{World, compiled, shown};

fn workflow(runtime: &str, agent: &str) -> String {
    format!(
        "workflow:\n  name: w\n  entry_point: a\n  runtime: {{{runtime}}}\nagents:\n  - {{name: a, prompt: x{agent}}}\n"
    )
}

fn timeouts(plan: &Plan) -> PhaseTimeouts {
    let Kind::Agent(agent) = &plan.root().nodes[0].kind else { panic!("an agent") };
    agent.settings.phase_timeouts
}

#[test]
fn bounds_of_an_agent_go_over_those_of_the_runtime_one_by_one() {
    let of = |runtime: &str, agent: &str| {
        let result = compiled(&workflow(runtime, agent));
        assert!(result.diagnostics.is_empty(), "{}", shown(&result));
        timeouts(&result.plan.expect("no finding, so a plan"))
    };
    assert_eq!(of("", ""), PhaseTimeouts::default());
    let millis = |count| Some(Duration::from_millis(count));
    let expected = PhaseTimeouts { connect: millis(500), first_token: millis(60_000), idle: millis(3000) };
    let both = of("timeouts: {connect: 500ms, idle: 20}", ", timeouts: {first_token: 1m, idle: 3s}");
    assert_eq!(both, expected);
}

/// Severity, code and underlined text of every finding.
fn told(result: &Compiled) -> Vec<(Severity, &'static str, String)> {
    let one = |found: &convoke_plan::Diagnostic| {
        let span = &found.labels[0].span;
        (found.severity, found.code, span.file.text[span.range.clone()].to_owned())
    };
    result.diagnostics.iter().map(one).collect()
}

fn error(code: &'static str, place: &str) -> Vec<(Severity, &'static str, String)> {
    vec![(Severity::Error, code, place.to_owned())]
}

/// Things that are written and do nothing.
fn idle(places: &[&str]) -> Vec<(Severity, &'static str, String)> {
    places.iter().map(|&place| (Severity::Warning, "workflow::no_effect", place.to_owned())).collect()
}

#[test]
fn an_address_is_judged_as_it_is_meant_and_shown_as_it_is_written() {
    let of = |base: &str, url: &str| {
        let text = workflow(
            &format!(
                "provider: {{name: openai, base_url: '{base}'}}, mcp_servers: {{s: {{type: http, url: '{url}'}}}}"
            ),
            "",
        );
        World::default().file("main.yaml", &text).env("HOST", "h.test").env("BAD", "not it").compile()
    };
    assert_eq!(told(&of("http://${HOST}/v1", "https://${HOST}/mcp")), []);
    assert_eq!(told(&of("h.test:80", "http://h")), error("workflow::bad_address", "'h.test:80'"));
    assert_eq!(told(&of("${HOST}:80", "http://h")), [], "where it runs, the variable may be another");
    let bad = of("http://h", "${BAD}");
    assert_eq!(told(&bad), error("workflow::bad_address", "'${BAD}'"));
    assert!(!shown(&bad).contains("not it"), "{}", shown(&bad));
    let unset = of("http://h", "${NOT_SET}");
    assert!(unset.plan.is_some() && unset.diagnostics[0].code == "env::unset_secret", "{}", shown(&unset));
}

#[test]
fn keys_of_the_other_transport_do_nothing() {
    let of = |server: &str| told(&compiled(&workflow(&format!("mcp_servers: {{s: {{{server}}}}}"), "")));
    assert_eq!(of("command: c, url: 'http://h', headers: {A: b}"), idle(&["url", "headers"]));
    let http = "type: http, url: 'http://h', command: c, args: [x], env: {A: b}, working_dir: d";
    assert_eq!(of(http), idle(&["command", "args", "env", "working_dir"]));
    assert_eq!(of("command: c, args: [x], env: {A: b}, working_dir: d"), []);
}

#[test]
fn a_tool_that_its_server_leaves_out_is_said() {
    let of = |servers: &str, tools: &str| {
        told(&compiled(&workflow(&format!("mcp_servers: {{{servers}}}"), &format!(", tools: [{tools}]"))))
    };
    let closed = "fs: {command: c, tools: [read, list]}";
    assert_eq!(of(closed, "read, fs__list, fs.read, 'fs__*', '*'"), []);
    assert_eq!(of(closed, "write, fs__write, 'web__*'"), idle(&["write", "fs__write", "'web__*'"]));
    let open = "fs: {command: c, tools: [read, list]}, web: {command: d}";
    assert_eq!(of(open, "write, web__write, fs__read"), []);
    assert_eq!(of(open, "fs__write"), idle(&["fs__write"]));
}

#[test]
fn places_in_arguments_stand_for_something() {
    let of = |args: &str| {
        let provider = format!(", provider: {{name: cli, command: c, args: [{args}]}}");
        World::default().file("main.yaml", &workflow("", &provider)).env("x", "1").compile()
    };
    assert_eq!(told(&of("'{prompt}', '--m={model}', '{}', '${x}', '{\"a\": 1}', '{{x}}', 'f() { g; }'")), []);
    let slip = of("'-p', '{promt}'");
    assert_eq!(told(&slip), idle(&["'{promt}'"]));
    assert!(shown(&slip).contains("did you mean `{prompt}`?"), "{}", shown(&slip));
}

#[test]
fn a_model_has_one_turn() {
    assert_eq!(told(&compiled(&workflow("models: [m, n]", ", models: [a, b, a]"))), idle(&["a"]));
    assert_eq!(told(&compiled(&workflow("models: [m, m]", ""))), idle(&["m"]));
}

#[test]
fn coding_agents_bring_their_own_tools() {
    let of = |runtime: &str, agent: &str| told(&compiled(&workflow(runtime, agent)));
    let coder = ", provider: {name: acp, command: c}";
    let servers = "mcp_servers: {s: {command: d}}";
    assert_eq!(of(servers, ""), []);
    assert_eq!(of("", coder), []);
    assert_eq!(of(servers, coder), idle(&["s"]));
    assert_eq!(of(servers, &format!("{coder}, tools: [read]")), idle(&["s", "read"]));
    let mixed = workflow(servers, coder) + "  - {name: b, prompt: y, needs: [a]}\n";
    assert_eq!(told(&compiled(&mixed)), []);
    let called = workflow(servers, coder) + "  - {name: b, type: tool, tool: t, needs: [a]}\n";
    assert_eq!(told(&compiled(&called)), []);
}

#[test]
fn a_file_whose_servers_are_its_callers_can_be_checked_alone() {
    let part =
        "workflow: {name: p, entry_point: t}\nagents:\n  - {name: t, type: tool, server: s, tool: read}\n";
    let alone = compiled(part);
    assert_eq!(told(&alone), [(Severity::Warning, "workflow::unknown_server", "s".to_owned())]);
    assert!(alone.plan.is_some());
    let main = "workflow:\n  name: w\n  entry_point: c\n  runtime: {mcp_servers: {s: {command: d}}}\nagents:\n  - {name: c, type: workflow, workflow: part.yaml}\n";
    let whole = World::default().file("main.yaml", main).file("part.yaml", part).compile();
    assert_eq!(told(&whole), []);
}

#[test]
fn a_bound_must_be_a_time_and_is_void_beyond_the_whole_request() {
    let found = |runtime: &str, agent: &str| {
        let result = compiled(&workflow(runtime, agent));
        let finding = result.diagnostics.first().unwrap_or_else(|| panic!("nothing: {runtime} {agent}"));
        let span = &finding.labels[0].span;
        (finding.code, span.file.text[span.range.clone()].to_owned(), result.plan.is_some())
    };
    assert_eq!(found("timeouts: {idle: soon}", ""), ("workflow::bad_duration", "soon".into(), false));
    assert_eq!(found("", ", timeouts: {connect: 0}"), ("workflow::out_of_range", "0".into(), false));
    assert_eq!(found("", ", timeouts: {total: 5}"), ("workflow::unknown_key", "total".into(), false));
    assert_eq!(found("timeouts: 5", ""), ("workflow::wrong_type", "5".into(), false));
    assert_eq!(found("timeouts: {idle: 11m}", ""), ("workflow::no_effect", "11m".into(), true));
    let over_own = found("timeout: 5", ", timeouts: {first_token: 6s}");
    assert_eq!(over_own, ("workflow::no_effect", "6s".into(), true));
}

#[test]
fn times_leave_a_node_what_it_is() {
    let hash = |agent: &str| compiled(&workflow("", agent)).plan.expect("a plan").root().nodes[0].hash;
    assert_eq!(hash(""), hash(", timeouts: {idle: 5s}"));
}

fn script(keys: &str) -> Compiled {
    compiled(&format!(
        "workflow: {{name: w, entry_point: s}}\nagents:\n  - {{name: s, type: script, command: c{keys}}}\n"
    ))
}

#[test]
fn a_script_is_bounded_in_its_silence() {
    let idle = |keys: &str| {
        let result = script(keys);
        assert!(result.diagnostics.is_empty(), "{}", shown(&result));
        let plan = result.plan.expect("no finding, so a plan");
        let node = &plan.root().nodes[0];
        let Kind::Script(script) = &node.kind else { panic!("a script") };
        (script.idle, node.hash)
    };
    let (none, stated) = (idle(""), idle(", timeout: 60, timeouts: {idle: 30s}"));
    assert_eq!((none.0, stated.0), (None, Some(Duration::from_secs(30))));
    assert_eq!(idle(", timeouts: {idle: 5}").1, none.1, "a bound leaves a node what it is");
}

#[test]
fn a_bound_that_a_script_cannot_have_is_shown_with_its_place() {
    let found = |keys: &str| {
        let result = script(keys);
        let finding = result.diagnostics.first().unwrap_or_else(|| panic!("nothing: {keys}"));
        let span = &finding.labels[0].span;
        (finding.code, span.file.text[span.range.clone()].to_owned(), result.plan.is_some())
    };
    assert_eq!(found(", timeouts: {connect: 5s}"), ("workflow::no_effect", "5s".into(), true));
    assert_eq!(found(", timeout: 5, timeouts: {idle: 5s}"), ("workflow::no_effect", "5s".into(), true));
    assert_eq!(found(", timeouts: {idle: soon}"), ("workflow::bad_duration", "soon".into(), false));
}
