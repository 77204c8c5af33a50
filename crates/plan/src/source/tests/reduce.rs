//! Reduce and verify steps, models that are asked on the way, stated items.

use std::time::Duration;

use super::super::workflow::{ReduceStep, StepKind, VerifyStep, VoteWord};
use super::{HEADER, assert_one, good, good_kind, good_step, messages, read, step_findings};
use crate::diagnostic::Severity;
use crate::plan::{Severity as Weight, Strategy, Tie};

fn reduce(body: &str) -> ReduceStep {
    match good_kind(&format!("type: reduce, {body}")) {
        StepKind::Reduce(reduce) => *reduce,
        other => panic!("{other:?}"),
    }
}

fn verify(body: &str) -> VerifyStep {
    match good_kind(&format!("type: verify, {body}")) {
        StepKind::Verify(verify) => *verify,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_of_a_reduce_step_is_read() {
    let step = reduce(
        "of: [x, y], strategy: rlm, ratio: 5, group_tokens: 900, query: q, instructions: i, model: m, \
         provider: scripted, system_prompt: s, temperature: 0.5, max_tokens: 77, output: {a: {type: string}}, \
         success_criteria: c, min_sources: 3, deadline: 90s, timeouts: {idle: 5}, reasoning: {effort: high}, \
         rlm: {max_turns: 4, max_depth: 0, max_calls: 9, time: 10s, memory_mb: 64, metadata_chars: 1000, model: r}",
    );
    let names: Vec<&str> = step.of.iter().map(|name| name.value.as_str()).collect();
    assert_eq!((names, step.strategy.value), (vec!["x", "y"], Strategy::Rlm));
    assert_eq!((step.ratio.unwrap().value, step.group_tokens.unwrap().value), (5, 900));
    assert_eq!((step.query.unwrap().value, step.instructions.unwrap().value), ("q".into(), "i".into()));
    assert_eq!((step.min_sources.unwrap().value, step.deadline.unwrap().value), (3, Duration::from_secs(90)));
    let agent = step.agent;
    assert_eq!(agent.model.unwrap().value, "m");
    assert_eq!(agent.provider.unwrap().name.value, "scripted");
    assert_eq!(agent.system_prompt.unwrap().value, "s");
    assert_eq!((agent.temperature.unwrap().value, agent.max_tokens.unwrap().value), (0.5, 77));
    assert!(agent.output.unwrap().fields.contains_key("a"));
    assert_eq!(agent.success_criteria.unwrap().criteria.value, "c");
    assert_eq!(agent.timeouts.idle.unwrap().value, Duration::from_secs(5));
    assert_eq!(agent.reasoning_effort.unwrap().value, "high");
    let rlm = step.rlm.unwrap();
    assert_eq!((rlm.max_turns.unwrap().value, rlm.max_depth.unwrap().value), (4, 0));
    assert_eq!((rlm.max_calls.unwrap().value, rlm.time.unwrap().value), (9, Duration::from_secs(10)));
    assert_eq!((rlm.memory_mb.unwrap().value, rlm.metadata_chars.unwrap().value), (64, 1000));
    assert_eq!(rlm.model.unwrap().value, "r");
}

#[test]
fn a_vote_has_its_rule() {
    let step = reduce(
        "strategy: vote, vote: {method: threshold, threshold: 0.75, field: choice, options: [yes, no], tie: first, quorum: 2}",
    );
    let vote = step.vote.unwrap();
    assert_eq!(vote.method.unwrap().value, VoteWord::Threshold);
    assert_eq!((vote.threshold.unwrap().value, vote.field.unwrap().value.as_str()), (0.75, "choice"));
    let options: Vec<&str> = vote.options.iter().map(|option| option.value.as_str()).collect();
    assert_eq!(options, ["yes", "no"]);
    assert_eq!((vote.tie.unwrap().value, vote.quorum.unwrap().value), (Tie::First, 2));
}

#[test]
fn nothing_said_means_auto_and_everything_it_needs() {
    let step = reduce("needs: [b]");
    assert_eq!(step.strategy.value, Strategy::Auto);
    assert!(step.of.is_empty() && step.vote.is_none() && step.rlm.is_none());
    assert_eq!(reduce("of: x").of[0].value, "x", "one name may stand alone");
}

#[test]
fn what_a_verify_step_says_holds_for_both_unless_a_block_says_more() {
    let step = verify(
        "of: x, query: q, constraints: c, rounds: 3, severity: high, when_open: fail, provider: scripted, \
         model: m, temperature: 0.1, timeouts: {idle: 9, connect: 8}, \
         assessor: {model: big, system_prompt: strict, timeouts: {idle: 4}}, repairer: {models: [p, q]}",
    );
    assert_eq!((step.of.unwrap().value.as_str(), step.rounds.unwrap().value), ("x", 3));
    assert_eq!((step.severity.unwrap().value, step.fail_when_open), (Weight::High, true));
    let (assessor, repairer) = (step.assessor, step.repairer);
    assert_eq!(assessor.model.unwrap().value, "big");
    assert_eq!(assessor.system_prompt.unwrap().value, "strict");
    assert_eq!(assessor.temperature.unwrap().value, 0.1);
    assert_eq!(assessor.timeouts.idle.unwrap().value, Duration::from_secs(4));
    assert_eq!(assessor.timeouts.connect.unwrap().value, Duration::from_secs(8));
    assert!(repairer.model.is_none(), "a chain of its own replaces the common model");
    assert_eq!(repairer.models.unwrap().len(), 2);
    assert_eq!(repairer.provider.unwrap().name.value, "scripted");
    assert!(repairer.system_prompt.is_none());
}

#[test]
fn numbers_and_words_have_bounds() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("type: reduce, ratio: 1", "workflow::out_of_range", &["between 2 and 100"]),
        ("type: reduce, ratio: 101", "workflow::out_of_range", &["between 2 and 100"]),
        ("type: reduce, deadline: 0", "workflow::out_of_range", &["greater than 0"]),
        ("type: reduce, strategy: hierarchic", "workflow::unknown_value", &["did you mean `hierarchical`?"]),
        (
            "type: reduce, strategy: vote, vote: {method: threshold, threshold: 0}",
            "workflow::out_of_range",
            &["greater than 0 and at most 1"],
        ),
        (
            "type: reduce, strategy: vote, vote: {method: threshold, threshold: 1.1}",
            "workflow::out_of_range",
            &["greater than 0 and at most 1"],
        ),
        (
            "type: reduce, strategy: vote, vote: {threshold: 0.5}",
            "workflow::needs_key",
            &["goes with `method: threshold` only"],
        ),
        (
            "type: reduce, strategy: vote, vote: {options: [a, b, a]}",
            "workflow::duplicate",
            &["option `a` stands twice"],
        ),
        ("type: reduce, strategy: vote, vote: {rule: x}", "workflow::unknown_key", &["`vote` of step `a`"]),
        ("type: reduce, rlm: {time: 0}", "workflow::out_of_range", &["greater than 0"]),
        ("type: verify, rounds: 11", "workflow::out_of_range", &["between 0 and 10"]),
        ("type: verify, of: [x]", "workflow::wrong_type", &["`of` of step `a` must be text"]),
        ("type: verify, assessor: {tools: [x]}", "workflow::unknown_key", &["`assessor` of step `a`"]),
        ("type: verify, when_open: ignore", "workflow::unknown_value", &["report, fail"]),
        ("dependency_outputs: 0", "workflow::out_of_range", &["between 1 and"]),
        ("dependency_outputs: [x]", "workflow::wrong_type", &["a whole number"]),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
}

#[test]
fn what_a_strategy_makes_no_use_of_is_warned_of() {
    let cases = [
        ("strategy: vote, model: m", "`model`"),
        ("strategy: flat, ratio: 3", "`ratio`"),
        ("strategy: flat, vote: {method: majority}", "`vote`"),
        ("strategy: vote, min_sources: 2", "`min_sources`"),
        ("strategy: tournament, ratio: 4", "`ratio`"),
        ("strategy: hierarchical, rlm: {max_turns: 3}", "`rlm`"),
        ("strategy: judge, output: {x: {type: string}}", "`output`"),
    ];
    for (body, key) in cases {
        let findings = step_findings(&format!("type: reduce, {body}"));
        assert_eq!(findings.len(), 1, "{body}: {}", messages(&findings));
        assert_eq!((findings[0].code, findings[0].severity), ("workflow::no_effect", Severity::Warning));
        assert!(findings[0].message.starts_with(key), "{}", findings[0].message);
    }
    let findings = step_findings("type: verify, rounds: 0, repairer: {model: m}");
    assert_eq!(findings[0].code, "workflow::no_effect", "{}", messages(&findings));
}

#[test]
fn outputs_of_dependencies_are_switched_or_measured() {
    let tokens = |body: &str| match good_kind(body) {
        StepKind::Agent(agent) => agent.dependency_outputs.map(|tokens| tokens.value),
        other => panic!("{other:?}"),
    };
    assert_eq!(tokens("dependency_outputs: true"), Some(2_000));
    assert_eq!(tokens("dependency_outputs: 500"), Some(500));
    assert_eq!(tokens("dependency_outputs: false"), None);
    assert_eq!(tokens("prompt: x"), None);
}

#[test]
fn a_step_says_what_it_expects_and_who_repairs() {
    let common = good_step(
        "type: script, command: c, expects: {x: {n: {type: number}}}, repair_input: {model: m, provider: scripted}",
    )
    .common;
    assert!(common.expects["x"].value.fields.contains_key("n"));
    assert_eq!(common.repair_input.unwrap().model.unwrap().value, "m");
    assert!(good_step("expects: {x: {n: {type: number}}}, repair_input: true").common.repair_input.is_some());
    assert!(
        good_step("expects: {x: {n: {type: number}}}, repair_input: false").common.repair_input.is_none()
    );
    let cases: &[(&str, &str, &[&str])] = &[
        ("repair_input: true", "workflow::needs_key", &["goes with `expects` only"]),
        ("expects: {x: {}}", "workflow::empty_value", &["names no field"]),
        ("expects: {x: y}", "workflow::wrong_type", &["must be a mapping of fields"]),
        ("expects: {x: {n: {type: int}}}", "workflow::unknown_value", &["field `n`"]),
        (
            "expects: {x: {n: {type: number}}}, repair_input: 3",
            "workflow::wrong_type",
            &["true, false or a mapping"],
        ),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
}

#[test]
fn a_fan_out_states_its_items_or_says_where_they_are() {
    let group = |keys: &str| {
        format!(
            "{HEADER}for_each:\n  - {{name: a, type: for_each, {keys}, as: it, agent: {{name: b, prompt: x}}}}\nagents: []\n"
        )
    };
    let file = good(&group("items: [one, {id: 2}, 3], key_by: ."));
    let items = &file.for_each[0].items.as_ref().unwrap().value;
    assert_eq!(serde_json::json!(items), serde_json::json!(["one", {"id": 2}, 3]));
    assert!(file.for_each[0].source.value.is_empty());
    let both = read(&group("items: [x], source: workflow.input.x")).1;
    assert_one(&both, "workflow::excludes", &["`source`", "`items`"], "both");
    assert_one(
        &read(&group("max_concurrent: 2")).1,
        "workflow::missing_key",
        &["no `source` and no `items`"],
        "none",
    );
    assert_one(&read(&group("items: x")).1, "workflow::wrong_type", &["a list"], "no list");
    let template = read(&group("items: ['{{ x }}']")).1;
    assert_eq!((template.len(), template[0].code), (1, "workflow::no_effect"));
}
