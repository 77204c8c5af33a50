//! Goals: their keys, the roles over them, policies and plans that stand in the file; scripts that are tools.

use std::time::Duration;

use super::super::workflow::{ErrorClass, GoalStep, StepKind};
use super::{HEADER, assert_one, good, good_kind, line, messages, read, step_findings};
use crate::diagnostic::{Diagnostic, Severity};
use crate::goal_plan::Terms;
use crate::plan::Action;
use crate::source::check_plan;
use convoke_model::Role;

fn goal(body: &str) -> GoalStep {
    match good_kind(&format!("type: goal, goal: g, {body}")) {
        StepKind::Goal(goal) => *goal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_of_a_goal_is_read() {
    let step = goal(
        "context: c, max_depth: 2, max_children: 3, max_tasks: 9, max_rounds: 1, max_recoveries: 0, skip_threshold: 50, \
         spawn: {tokens: 10, seconds: 20, tools: 3}, backoff: 2s, approve: true, plan: '- description: look'",
    );
    assert_eq!(step.context.unwrap().value, "c");
    let numbers = [step.max_depth, step.max_children, step.max_tasks, step.max_rounds, step.max_recoveries];
    assert_eq!(numbers.map(|number| number.unwrap().value), [2, 3, 9, 1, 0]);
    assert_eq!(
        (step.skip_threshold.unwrap().value, step.backoff.unwrap().value),
        (50, Duration::from_secs(2))
    );
    assert_eq!(step.spawn.tokens.unwrap().value, 10);
    assert!(step.approve && !step.plan_only);
    assert_eq!(step.plan.unwrap().value, "- description: look");
}

#[test]
fn a_role_stands_over_what_the_step_says_for_all() {
    let step = goal(
        "model: all, temperature: 0.5, tools: [t], working_dir: d, system_prompt: s, \
         roles: {plan: {model: planner, prompt: 'plan {{ goal }}'}, finalise: {system_prompt: f}}",
    );
    let of = |role: Role| &step.roles[&role];
    let model = |role: Role| of(role).model.as_ref().unwrap().value.as_str();
    assert_eq!((model(Role::Plan), model(Role::Execute)), ("planner", "all"));
    assert_eq!(of(Role::Plan).temperature.as_ref().unwrap().value, 0.5);
    assert_eq!(of(Role::Plan).prompt.as_ref().unwrap().value, "plan {{ goal }}");
    let system = |role: Role| of(role).system_prompt.as_ref().unwrap().value.as_str();
    assert_eq!((system(Role::Finalise), system(Role::Recover)), ("f", "s"));
    // Only workers of tasks have a folder.
    assert!(of(Role::Execute).working_dir.is_some() && of(Role::Plan).working_dir.is_none());
}

#[test]
fn who_recovers_a_task_has_half_of_what_the_step_allows_unless_its_role_says_more() {
    let limits = "max_tokens: 1000, max_session_seconds: 60, working_dir: d";
    let of = |more: &str, role: Role| {
        let step = goal(&format!("{limits}{more}"));
        let asked = &step.roles[&role];
        (asked.max_tokens.as_ref().unwrap().value, asked.max_session.as_ref().unwrap().value.as_secs())
    };
    assert_eq!(of("", Role::Execute), (1000, 60));
    assert_eq!(of("", Role::Rescue), (500, 30));
    assert_eq!(of(", roles: {rescue: {max_tokens: 3000}}", Role::Rescue), (3000, 30));
    assert!(goal(limits).roles[&Role::Rescue].working_dir.is_some(), "it works where the task was tried");
}

#[test]
fn policies_are_lines_by_class() {
    let step = goal("policies: {timeout: [retry, decompose], any: [fail]}");
    let line: Vec<_> =
        step.policies.by_class[&ErrorClass::Timeout].iter().map(|action| action.value).collect();
    assert_eq!(line, [Action::Retry, Action::Decompose]);
    assert_eq!(step.policies.other.unwrap()[0].value, Action::Fail);
}

#[test]
fn a_plan_may_stand_in_the_file_and_is_taken_as_it_stands() {
    let step = goal("plan: [{id: 1, description: 'look at {{ this }}', inputs: []}]");
    let text = step.plan.unwrap().value;
    assert!(text.contains("{{ '{{' }} this }}"), "{text}");
    let step =
        goal("plan: {tasks: [{description: look, skip_probability: 80, skip_reason: no}], complete: false}");
    assert!(step.plan.unwrap().value.contains("\"complete\":false"));
}

#[test]
fn what_is_wrong_with_a_goal_is_found_where_it_stands() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("type: goal", "workflow::missing_key", &["step `a`", "`goal`"]),
        ("type: goal, goal: ' '", "workflow::empty_value", &["`goal` of step `a` is empty"]),
        ("type: goal, goal: g, max_depht: 1", "workflow::unknown_key", &["did you mean `max_depth`?"]),
        ("type: goal, goal: g, max_depth: 11", "workflow::out_of_range", &["max_depth"]),
        ("type: goal, goal: g, skip_threshold: 0", "workflow::out_of_range", &["skip_threshold"]),
        (
            "type: goal, goal: g, policies: {timeuot: [retry]}",
            "workflow::unknown_key",
            &["did you mean `timeout`?"],
        ),
        (
            "type: goal, goal: g, policies: {timeout: [retyr]}",
            "workflow::unknown_value",
            &["did you mean `retry`?"],
        ),
        (
            "type: goal, goal: g, policies: {any: [skip, skip]}",
            "workflow::duplicate",
            &["`skip` stands twice"],
        ),
        (
            "type: goal, goal: g, roles: {planner: {}}",
            "workflow::unknown_key",
            &["known keys: plan, analyse"],
        ),
        (
            "type: goal, goal: g, roles: {plan: {modle: m}}",
            "workflow::unknown_key",
            &["did you mean `model`?"],
        ),
        ("type: goal, goal: g, spawn: {token: 1}", "workflow::unknown_key", &["did you mean `tokens`?"]),
        (
            "type: goal, goal: g, plan: [{descripton: x, description: y}]",
            "workflow::unknown_key",
            &["`description`"],
        ),
        (
            "type: goal, goal: g, plan: {task: [], tasks: [{description: x}]}",
            "workflow::unknown_key",
            &["did you mean `tasks`?"],
        ),
        ("type: goal, goal: g, plan: 'tasks: []'", "workflow::empty_value", &["`plan` of", "has no tasks"]),
        ("type: goal, goal: g, plan: [{id: x}]", "workflow::missing_key", &["`description`"]),
        ("type: goal, prompt: p, goal: g", "workflow::not_allowed_here", &["a goal has `goal`"]),
        ("type: agent, goal: g", "workflow::not_allowed_here", &["`goal` belongs to steps of type goal"]),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(body), code, words, body);
    }
    let text = format!(
        "{HEADER}agents:\n  - name: a\n    type: goal\n    goal: g\n    policies:\n      tiemout: [retry]\n"
    );
    assert_eq!(line(&read(&text).1[0]), 7);
}

#[test]
fn approving_a_plan_that_is_not_carried_out_is_of_no_use() {
    let findings = step_findings("type: goal, goal: g, approve: true, plan_only: true");
    assert_eq!((findings.len(), findings[0].severity), (1, Severity::Warning), "{}", messages(&findings));
}

#[test]
fn scripts_are_tools_with_a_schema() {
    let text = "workflow:
  name: w
  entry_point: a
  runtime:
    mcp_servers:
      s: {type: scripts, env: {A: b}, scripts: {n: {command: wc, args: [-w], input: {type: object}, idempotent: true}}}
agents: [{name: a, prompt: p}]
";
    let workflow = good(text);
    let server = &workflow.runtime.mcp_servers["s"].value;
    let script = &server.scripts["n"].value;
    assert_eq!(script.command.as_ref().unwrap().value, "wc");
    assert_eq!((script.input.clone().unwrap()["type"].as_str(), script.idempotent), (Some("object"), true));
    let wrong = |from: &str, to: &str| read(&text.replace(from, to)).1;
    assert_one(&wrong("command: wc, ", ""), "workflow::missing_key", &["`command`"], "no command");
    assert_one(
        &wrong("command: wc", "command: wc, comand: x"),
        "workflow::unknown_key",
        &["`command`"],
        "a slip",
    );
    assert_one(
        &wrong("input: {type: object}", "input: text"),
        "workflow::wrong_type",
        &["`input`"],
        "no schema",
    );
    let unusable = wrong("input: {type: object}", "input: {type: object, properties: {n: {type: nubmer}}}");
    assert_one(&unusable, "workflow::bad_schema", &["`input`", "nubmer"], "a type that is none");
    let place = unusable[0].labels[0].span.clone();
    assert_eq!(&place.file.text[place.range], "nubmer");
}

/// What is found in a plan, each with its code, its line and its column.
fn found_in(plan: &str) -> Vec<(String, String, (usize, usize))> {
    let found = check_plan("plan.yaml", plan, &Terms::for_a_person(3, 70));
    let told = |one: &Diagnostic| format!("{} {}", one.message, one.help.as_deref().unwrap_or(""));
    found.iter().map(|one| (one.code.to_owned(), told(one), one.labels[0].span.line_column())).collect()
}

#[test]
fn a_plan_of_its_own_is_judged_where_it_stands() {
    let task = |rest: &str| format!("- id: a\n  description: look\n  {rest}\n");
    let cases: &[(&str, &str, &str, (usize, usize))] = &[
        ("", "file::empty", "the plan `plan.yaml` is empty", (1, 1)),
        ("# nothing yet\n", "file::empty", "is empty", (1, 1)),
        ("tasks: []\n", "workflow::empty_value", "has no tasks", (1, 1)),
        ("[]\n", "workflow::empty_value", "has no tasks", (1, 1)),
        ("whatever\n", "workflow::wrong_type", "must be a list of tasks", (1, 1)),
        ("tasks: [\n", "yaml::syntax", "unclosed", (1, 8)),
        ("task: [{description: a}]\n", "workflow::unknown_key", "did you mean `tasks`?", (1, 1)),
        ("words: []\n", "workflow::missing_key", "has no `tasks`", (1, 1)),
        (&task("input: []"), "workflow::unknown_key", "did you mean `inputs`?", (3, 3)),
        (&task("priorty: 1"), "workflow::unknown_key", "did you mean `priority`?", (3, 3)),
        (&task("inputs: a"), "workflow::wrong_type", "must be a list", (3, 11)),
        (&task("inputs: [aa]"), "workflow::unknown_task", "did you mean `a`?", (3, 12)),
        (&task("inputs: [a]"), "workflow::task_cycle", "a → a", (3, 12)),
        (&task("skip_probability: 101"), "workflow::wrong_type", "between 0 and 100", (3, 21)),
        (&task("skip_probability: 70"), "workflow::needs_key", "`skip_reason`", (3, 21)),
        (&task("estimated_tokens: -1"), "workflow::wrong_type", "from 0 on", (3, 21)),
        ("- description: ' '\n", "workflow::empty_value", "`description` of task 1", (1, 16)),
        ("- look\n", "workflow::wrong_type", "task 1 of the plan must be a mapping", (1, 3)),
        ("- description: 3\n", "workflow::wrong_type", "a text", (1, 16)),
        ("- description: a\n- description: A\n", "workflow::duplicate", "the description `a`", (2, 16)),
        (
            "- {id: x, description: a}\n- {id: x, description: b}\n",
            "workflow::duplicate",
            "the id `x`",
            (2, 8),
        ),
        (
            "- description: a\n- description: b\n- description: c\n- description: d\n",
            "workflow::out_of_range",
            "4 tasks, and at most 3",
            (4, 3),
        ),
        (
            "- {id: a, description: a, inputs: [c]}\n- {id: b, description: b, inputs: [a]}\n- {id: c, description: c, inputs: [b]}\n",
            "workflow::task_cycle",
            "a → c → b → a",
            (1, 36),
        ),
    ];
    for (plan, code, words, place) in cases {
        let found = found_in(plan);
        let first = found.iter().find(|one| one.0 == *code).unwrap_or_else(|| panic!("{plan:?}: {found:?}"));
        assert!(first.1.contains(words), "{plan:?}: {}", first.1);
        assert_eq!(first.2, *place, "{plan:?}: {found:?}");
        assert_eq!(found.len(), if *code == "workflow::missing_key" { 2 } else { 1 }, "{plan:?}: {found:?}");
    }
}

#[test]
fn everything_that_is_wrong_with_a_plan_is_told_at_once() {
    let found = found_in("- {id: a, description: x, input: []}\n- {id: a, description: X, inputs: [z]}\n");
    let codes: Vec<_> = found.iter().map(|one| one.0.trim_start_matches("workflow::")).collect();
    assert_eq!(codes, ["unknown_key", "duplicate", "duplicate", "unknown_task"], "{found:?}");
}

#[test]
fn a_plan_says_what_it_says_whatever_it_looks_like() {
    let plan = "# mine\ntasks:\n- {id: 1, description: 'cost of ${HOME} in {{ it }}'}\n- {id: b, description: c, inputs: [1]}\ncomplete: false\n";
    assert!(found_in(plan).is_empty(), "{:?}", found_in(plan));
}

/// A run reads a plan as a text that a template may have made, with bounds of its own.
#[test]
fn a_plan_that_the_run_could_not_read_is_refused() {
    let tools: Vec<String> = (0..2000).map(|n| format!("t{n}")).collect();
    let first = format!("- {{description: do, tools: &all [{}]}}\n", tools.join(", "));
    let others = (1..=100).map(|n| format!("- {{description: do {n}, tools: *all}}\n"));
    let large: String = std::iter::once(first).chain(others).collect();
    let found = check_plan("plan.yaml", &large, &Terms::for_a_person(200, 70));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].code, found[0].labels[0].span.line_column().0), ("workflow::wrong_type", 1));
    assert!(found[0].message.contains("the plan cannot be taken: a plan is a list of tasks"), "{found:?}");
}

#[test]
fn a_task_that_is_no_task_is_told_and_nothing_is_said_to_be_missing_because_of_it() {
    let found =
        found_in("- look\n- {id: b, description: b, inputs: [a, 1]}\n- {description: 'c', id: 2}\n- x\n");
    let codes: Vec<_> = found.iter().map(|one| one.0.trim_start_matches("workflow::")).collect();
    assert_eq!(codes, ["wrong_type", "wrong_type", "out_of_range"], "{found:?}");
}

#[test]
fn nothing_can_be_made_up_for_before_anything_was_done() {
    let found = found_in("- {id: a, description: a, replaces: [b, 3]}\n");
    let places: Vec<_> = found.iter().map(|one| (one.0.as_str(), one.2)).collect();
    assert_eq!(
        places,
        [("workflow::unknown_task", (1, 38)), ("workflow::unknown_task", (1, 41))],
        "{found:?}"
    );
}
