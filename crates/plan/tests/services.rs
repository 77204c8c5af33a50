//! How long the parts of a request may take, as a file states it.

mod world;

use convoke_model::PhaseTimeouts;
use convoke_plan::{Kind, Plan};
use std::time::Duration;
use world::{compiled, shown};

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
