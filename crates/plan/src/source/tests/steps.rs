//! Which keys go with which type of step, and what steps require.

use super::super::keys::step::{STEP_KEYS, StepType};
use super::{assert_one, good_step, step_findings};
use crate::diagnostic::Severity;

/// The least that each type needs.
fn least(kind: StepType) -> &'static str {
    match kind {
        StepType::Agent => "type: agent",
        StepType::Goal => "type: goal, goal: g",
        StepType::HumanGate => "type: human_gate, prompt: p, options: [{label: l, value: v}]",
        StepType::Questions => "type: questions, questions: [{text: t}]",
        StepType::Reduce => "type: reduce",
        StepType::Script => "type: script, command: c",
        StepType::Set => "type: set, value: v",
        StepType::Terminate => "type: terminate, status: failed, reason: r",
        StepType::Tool => "type: tool, tool: t",
        StepType::Verify => "type: verify",
        StepType::Wait => "type: wait, duration: 1",
        StepType::Workflow => "type: workflow, workflow: w.yaml",
    }
}

/// Rejected per type, from the appendix of the compatibility specification, without what every type has here.
const REJECTED: &[(&str, &str)] = &[
    ("abort_route", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("allow_abort", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("allow_back", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("allow_skip", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("allow_skip_all", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("approve", "human_gate questions reduce script set terminate tool verify wait workflow"),
    ("ensure", "human_gate questions set terminate wait"),
    ("protect", "human_gate questions reduce set terminate verify wait"),
    ("args", "goal reduce set terminate tool verify wait"),
    ("arguments", "agent goal human_gate questions reduce script set terminate verify wait workflow"),
    ("assessor", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("backoff", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("budget", "human_gate questions script set terminate tool wait workflow"),
    ("capabilities", "human_gate questions script set terminate tool verify wait workflow"),
    ("command", "goal reduce set terminate tool verify wait workflow"),
    ("constraints", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("context", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("context_tier", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("context_window", "human_gate questions script set terminate tool wait workflow"),
    ("deadline", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("default", "agent goal questions reduce script set terminate tool verify wait workflow"),
    ("dependency_outputs", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("dialog", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("duration", "agent goal human_gate questions reduce script set terminate tool verify workflow"),
    ("env", "goal reduce set terminate tool verify wait"),
    ("goal", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("group_tokens", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("input_mapping", "agent goal human_gate questions reduce script set terminate tool verify wait"),
    ("instructions", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("max_agent_iterations", "reduce script set terminate tool verify wait workflow"),
    ("max_children", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("max_depth", "agent human_gate questions reduce script set terminate tool verify wait"),
    ("max_recoveries", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("max_rounds", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("max_session_seconds", "script set terminate tool wait workflow"),
    ("max_subagents", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("max_tasks", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("max_tokens", "human_gate questions script set terminate tool wait workflow"),
    ("merge", "human_gate questions reduce set terminate tool verify wait"),
    ("min_sources", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("model", "questions script set terminate tool wait workflow"),
    ("models", "human_gate questions script set terminate tool wait workflow"),
    ("of", "agent goal human_gate questions script set terminate tool wait workflow"),
    ("on_timeout", "agent goal reduce script set terminate tool verify wait workflow"),
    ("options", "goal questions reduce script set terminate tool verify wait workflow"),
    ("output", "goal questions terminate verify wait"),
    ("output_mode", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("output_template", "agent goal human_gate questions reduce script set tool verify wait workflow"),
    ("output_type", "agent goal human_gate questions reduce script terminate tool verify wait workflow"),
    ("plan", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("policy", "human_gate questions reduce script set terminate tool verify wait workflow"),
    ("ports", "human_gate questions reduce set terminate tool verify wait"),
    ("results", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("plan_only", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("plugins", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("policies", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("probe", "agent goal human_gate questions reduce set terminate verify wait workflow"),
    ("prompt", "goal script set terminate tool verify wait workflow"),
    ("provider", "questions script set terminate tool wait workflow"),
    ("query", "agent goal human_gate questions script set terminate tool wait workflow"),
    ("questions", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("ratio", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("reason", "agent goal human_gate questions reduce script set tool verify workflow"),
    ("reasoning", "human_gate questions script set terminate tool wait workflow"),
    ("repair_model", "human_gate questions script set terminate tool wait workflow"),
    ("repairer", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("resources", "goal human_gate questions reduce set terminate verify wait workflow"),
    ("rlm", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("role", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("roles", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("rounds", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("routes", "terminate"),
    ("sandbox", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("secrets", "goal human_gate questions reduce set terminate tool verify wait workflow"),
    ("server", "agent goal human_gate questions reduce script set terminate verify wait workflow"),
    ("session_key", "goal human_gate questions reduce script set terminate tool verify wait workflow"),
    ("severity", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("skills", "human_gate questions script set terminate tool verify wait workflow"),
    ("skip_threshold", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("source", "agent goal human_gate reduce script set terminate tool verify wait workflow"),
    ("spawn", "agent human_gate questions reduce script set terminate tool verify wait workflow"),
    ("status", "agent goal human_gate questions reduce script set tool verify wait workflow"),
    ("stdin", "agent goal human_gate questions reduce set terminate tool verify wait workflow"),
    ("strategy", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("success_criteria", "goal human_gate questions script set terminate tool verify wait workflow"),
    ("survive", "agent goal human_gate questions reduce set terminate tool verify wait workflow"),
    ("system_prompt", "script set terminate tool verify wait workflow"),
    ("temperature", "human_gate questions script set terminate tool wait workflow"),
    ("timeout_seconds", "goal reduce script set terminate tool verify wait workflow"),
    ("timeouts", "human_gate questions set terminate tool wait workflow"),
    ("tool", "agent goal human_gate questions reduce script set terminate verify wait workflow"),
    ("tools", "questions reduce script set terminate tool verify wait workflow"),
    ("validator", "goal human_gate questions script set terminate tool verify wait workflow"),
    ("value", "agent goal human_gate questions reduce script terminate tool verify wait workflow"),
    ("values", "agent goal human_gate questions reduce script terminate tool verify wait workflow"),
    ("vote", "agent goal human_gate questions script set terminate tool verify wait workflow"),
    ("when_open", "agent goal human_gate questions reduce script set terminate tool wait workflow"),
    ("workflow", "goal reduce set terminate tool verify wait"),
    ("working_dir", "human_gate questions reduce set terminate tool verify wait workflow"),
    ("workspace", "human_gate questions reduce set terminate tool verify wait"),
];

#[test]
fn the_least_of_each_type_is_enough() {
    StepType::ALL.into_iter().for_each(|kind| drop(good_step(least(kind))));
}

#[test]
fn keys_of_other_types_are_rejected_as_in_the_original() {
    for row in STEP_KEYS.iter() {
        let rejected = REJECTED.iter().find(|(key, _)| *key == row.key.name).map_or("", |(_, types)| types);
        for kind in StepType::ALL {
            let allowed = row.is_used_by(kind) || row.is_ignored_by(kind);
            let expected = !rejected.split(' ').any(|word| word == kind.word());
            assert_eq!(allowed, expected, "`{}` on {}", row.key.name, kind.word());
        }
    }
}

#[test]
fn a_rejected_key_says_who_owns_it_or_what_to_use() {
    let cases: &[(StepType, &str, &[&str])] = &[
        (StepType::Script, "timeout_seconds: 3", &["`timeout_seconds`", "script", "agent", "use `timeout`"]),
        (StepType::Questions, "options: [x]", &["human_gate", "`choices` inside each question"]),
        (StepType::Terminate, "output: {x: y}", &["`output_template`"]),
        (StepType::Terminate, "routes: [{to: x}]", &["ends the workflow"]),
        (StepType::Wait, "prompt: x", &["`prompt`", "agent, human_gate, questions"]),
        (StepType::Set, "command: x", &["script"]),
        (
            StepType::Verify,
            "prompt: x",
            &["a verify step has `query`, and `prompt` in `assessor` and `repairer`; a goal has `goal`"],
        ),
        (StepType::Verify, "system_prompt: x", &["agent, goal, reduce"]),
        (StepType::Agent, "strategy: flat", &["`strategy` belongs to steps of type reduce"]),
    ];
    for (kind, key, words) in cases {
        let findings = step_findings(&format!("{}, {key}", least(*kind)));
        let found: Vec<_> = findings.into_iter().filter(|f| f.code == "workflow::not_allowed_here").collect();
        assert_one(&found, "workflow::not_allowed_here", words, key);
    }
}

#[test]
fn a_key_without_effect_is_a_warning() {
    for (kind, key) in
        [(StepType::Agent, "command: x"), (StepType::HumanGate, "model: x"), (StepType::Set, "output: {}")]
    {
        let findings = step_findings(&format!("{}, {key}", least(kind)));
        assert_eq!(findings.len(), 1, "{key}: {}", super::messages(&findings));
        assert_eq!((findings[0].code, findings[0].severity), ("workflow::no_effect", Severity::Warning));
    }
}

#[test]
fn what_a_type_requires_is_missed() {
    for (kind, key) in [
        (StepType::HumanGate, "prompt"),
        (StepType::HumanGate, "options"),
        (StepType::Script, "command"),
        (StepType::Terminate, "status"),
        (StepType::Terminate, "reason"),
        (StepType::Tool, "tool"),
        (StepType::Wait, "duration"),
        (StepType::Workflow, "workflow"),
    ] {
        let findings = step_findings(&format!("type: {}", kind.word()));
        let wanted = format!("has no `{key}`");
        assert!(
            findings.iter().any(|f| f.message.contains(&wanted)),
            "{key}: {}",
            super::messages(&findings)
        );
    }
}

#[test]
fn single_rules_of_the_types_hold() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "prompt: x, output_mode: raw, output: {n: {type: string}}",
            "workflow::excludes",
            &["output_mode", "output"],
        ),
        ("prompt: x, timeout: 3, timeout_seconds: 3", "workflow::excludes", &["timeout_seconds"]),
        ("prompt: x, session_key: \"{{ x }}\"", "workflow::empty_value", &["session_key", "template"]),
        ("prompt: x, session_key: \"\"", "workflow::empty_value", &["session_key", "empty"]),
        ("prompt: x, models: []", "workflow::empty_value", &["models", "empty"]),
        ("prompt: x, models: [\"{{ m }}\"]", "workflow::empty_value", &["models", "template"]),
        ("prompt: x, model: a, models: [b]", "workflow::excludes", &["model", "models"]),
        ("prompt: x, validator: {criteria: \" \"}", "workflow::empty_value", &["criteria"]),
        ("prompt: x, validator: {}", "workflow::missing_key", &["criteria"]),
        (
            "prompt: x, validator: {criteria: c, max_retries: 2}",
            "workflow::out_of_range",
            &["max_retries", "0 and 1"],
        ),
        (
            "prompt: x, reasoning: {effort: hihg}",
            "workflow::unknown_value",
            &["effort", "did you mean `high`?"],
        ),
        ("prompt: x, context_tier: huge", "workflow::unknown_value", &["context_tier", "long_context"]),
        ("prompt: x, dialog: {}", "workflow::missing_key", &["trigger_prompt"]),
        ("prompt: x, plugins: [p, {name: p}]", "workflow::duplicate", &["`p`"]),
        ("prompt: x, retry: {max_attempts: 11}", "workflow::out_of_range", &["max_attempts", "1 and 10"]),
        ("prompt: x, retry: {delay_seconds: 301}", "workflow::out_of_range", &["delay_seconds", "0 and 300"]),
        ("prompt: x, retry: {backoff: linear}", "workflow::unknown_value", &["backoff", "exponential"]),
        (
            "prompt: x, retry: {retry_on: [timeouts]}",
            "workflow::unknown_value",
            &["retry_on", "did you mean `timeout`?"],
        ),
        ("prompt: x, timeout_seconds: 0.5", "workflow::out_of_range", &["timeout_seconds", "at least 1"]),
        ("prompt: x, timeout: soon", "workflow::bad_duration", &["`timeout`", "soon"]),
        ("prompt: x, routes: [{to: \"\"}]", "workflow::empty_value", &["`to`", "route 1 of step `a`"]),
        ("prompt: x, routes: {to: b}", "workflow::wrong_type", &["`routes`", "a list"]),
        ("prompt: x, routes: [{when: y}]", "workflow::missing_key", &["route 1 of step `a`", "`to`"]),
        ("prompt: x, routes: [{to: b, whne: y}]", "workflow::unknown_key", &["did you mean `when`?"]),
        ("prompt: x, needs: b", "workflow::wrong_type", &["`needs`", "a list"]),
        (
            "prompt: x, needs: [{step: b, requires: done}]",
            "workflow::unknown_value",
            &["requires", "completed"],
        ),
        ("prompt: x, join: most", "workflow::unknown_value", &["join", "first_success"]),
        ("prompt: x, join: {quorum: 0}", "workflow::out_of_range", &["quorum", "at least 1"]),
        (
            "prompt: x, on_error: [{class: timeuot, to: b}]",
            "workflow::unknown_value",
            &["class", "did you mean `timeout`?"],
        ),
        ("prompt: x, on_error: [{class: any}]", "workflow::missing_key", &["`to`"]),
        ("prompt: x, labels: {priorty: high}", "workflow::unknown_key", &["did you mean `priority`?"]),
        ("prompt: x, tools: search", "workflow::wrong_type", &["`tools`", "a list"]),
        ("prompt: x, provider: opnai", "workflow::unknown_provider", &["`opnai`", "`openai`"]),
        ("prompt: x, max_agent_iterations: 501", "workflow::out_of_range", &["1 and 500"]),
        ("type: for_each", "workflow::unknown_value", &["group", "`for_each`"]),
        ("type: human_gate, prompt: p, options: []", "workflow::empty_value", &["options"]),
        (
            "type: human_gate, prompt: p, options: [{label: l}]",
            "workflow::missing_key",
            &["option 1", "`value`"],
        ),
        ("type: questions", "workflow::missing_key", &["`questions`", "`source`"]),
        ("type: questions, questions: [], source: a.b.c", "workflow::excludes", &["both"]),
        ("type: questions, source: a.b", "workflow::bad_source", &["a.b", "three"]),
        ("type: questions, questions: [{text: t}], abort_route: b", "workflow::needs_key", &["allow_abort"]),
        (
            "type: questions, questions: [{text: t, allow_free_text: false}]",
            "workflow::bad_question",
            &["choices"],
        ),
        ("type: questions, questions: [{id: x, text: t}, {id: x, text: u}]", "workflow::duplicate", &["`x`"]),
        ("type: questions, questions: [{text: t, choices: [a, a]}]", "workflow::duplicate", &["choice `a`"]),
        ("type: terminate, status: ok, reason: r", "workflow::unknown_value", &["status", "success, failed"]),
        ("type: terminate, status: failed, reason: \" \"", "workflow::empty_value", &["reason"]),
        (
            "type: workflow, workflow: review@team",
            "workflow::registry_reference",
            &["review@team", "registr"],
        ),
        (
            "type: workflow, workflow: c.yaml, max_depth: 11",
            "workflow::out_of_range",
            &["max_depth", "1 and 10"],
        ),
        ("type: script, command: c, env: [x]", "workflow::wrong_type", &["`env`", "a mapping"]),
        ("type: script, command: c, args: [1]", "workflow::wrong_type", &["`args`", "text", "\"1\""]),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
}

#[test]
fn rules_of_tools_and_conversations_hold() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("type: tool, tool: \"{{ t }}\"", "workflow::empty_value", &["`tool`", "fixed", "template"]),
        ("type: tool, tool: t, server: \" \"", "workflow::empty_value", &["`server`", "empty"]),
        ("type: tool, tool: t, arguments: [x]", "workflow::wrong_type", &["`arguments`", "a mapping"]),
        ("type: tool, tool: t, argument: {}", "workflow::unknown_key", &["did you mean `arguments`?"]),
        (
            "prompt: x, success_criteria: \"{{ c }}\"",
            "workflow::empty_value",
            &["success_criteria", "template"],
        ),
        ("prompt: x, success_criteria: {}", "workflow::missing_key", &["`criteria`"]),
        (
            "prompt: x, success_criteria: {criteria: c, max_retries: 11}",
            "workflow::out_of_range",
            &["0 and 10"],
        ),
        ("prompt: x, repair_model: \"\"", "workflow::empty_value", &["repair_model"]),
        ("prompt: x, temperature: 3", "workflow::out_of_range", &["temperature", "0 and 2"]),
        ("prompt: x, context_window: 10", "workflow::out_of_range", &["context_window", "at least 1000"]),
        ("prompt: x, capabilities: {stuck_lop: false}", "workflow::unknown_key", &["`stuck_loop`"]),
        ("prompt: x, capabilities: {stuck_loop: 3}", "workflow::wrong_type", &["stuck_loop", "a mapping"]),
        (
            "prompt: x, capabilities: {stuck_loop: {action: stop}}",
            "workflow::unknown_value",
            &["action", "warn, fail"],
        ),
        ("prompt: x, capabilities: {tool_output: 9}", "workflow::out_of_range", &["tool_output", "1000"]),
        ("prompt: x, capabilities: {context_warnings: 9}", "workflow::wrong_type", &["percents"]),
        ("prompt: x, capabilities: {context_warnings: [0]}", "workflow::out_of_range", &["1 and 100"]),
        ("prompt: x, capabilities: {compaction: {at: 0}}", "workflow::out_of_range", &["`at`", "1 and 100"]),
        (
            "prompt: x, max_agent_iterations: 3, capabilities: {max_iterations: 3}",
            "workflow::excludes",
            &["max_agent_iterations", "max_iterations"],
        ),
        (
            "prompt: x, provider: {name: acp, command: c, permissions: yes}",
            "workflow::unknown_value",
            &["permissions", "ask, allow, deny"],
        ),
        (
            "prompt: x, provider: {name: acp, base_url: 'http://u'}",
            "workflow::not_allowed_here",
            &["base_url", "acp"],
        ),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
}

#[test]
fn budgets_and_resources_are_strict() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("prompt: x, budget: {}", "workflow::missing_key", &["`usd`", "`tokens`"]),
        ("prompt: x, budget: {usd: 0}", "workflow::out_of_range", &["greater than 0"]),
        ("prompt: x, budget: {tokens: -1}", "workflow::out_of_range", &["at least 1"]),
        ("prompt: x, budget: {usd: 1, when_spent: degrade}", "workflow::needs_key", &["degrade_to"]),
        ("prompt: x, budget: {usd: 1, degrade_to: m}", "workflow::needs_key", &["when_spent: degrade"]),
        ("prompt: x, budget: {usd: 1, mode: audit}", "workflow::unknown_key", &["known keys"]),
        ("type: script, command: ls, budget: {usd: 1}", "workflow::not_allowed_here", &["type agent"]),
        ("prompt: x, resources: {gpu: 0}", "workflow::out_of_range", &["`gpu`", "between 1 and 1000000000"]),
        ("prompt: x, resources: {gpu: 1.5}", "workflow::wrong_type", &["whole number"]),
        ("prompt: x, resources: {gpu: 2000000000}", "workflow::out_of_range", &["`gpu`"]),
        ("prompt: x, resources: {two words: 1}", "workflow::bad_name", &["two words"]),
        ("prompt: x, resources: [gpu]", "workflow::wrong_type", &["a mapping"]),
        ("type: set, value: x, resources: {gpu: 1}", "workflow::not_allowed_here", &["agent, script, tool"]),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
}
