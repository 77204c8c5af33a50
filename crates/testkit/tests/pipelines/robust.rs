//! Mistakes that an engine for pipelines is prone to, each with what shows that it is not made. Those about cost and capacity
//! hold for pipelines as for every run and are shown in `govern` and in the tests of permits.

use super::kit::*;
use convoke_model::{AttemptEnd, Class, Event, JsonText, RunStatus, Usage};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::sync::Arc;

/// Phases one after the other, whatever becomes of the one before.
fn chain(count: usize, more: &str) -> Arc<convoke_plan::Plan> {
    let ids: Vec<String> = (1..=count).map(|n| format!("p{n}")).collect();
    let nodes: Vec<&str> = ids.iter().map(String::as_str).collect();
    let edges: Vec<String> =
        ids.windows(2).map(|pair| format!("{} {} on: always", pair[0], pair[1])).collect();
    with("p1", &nodes, &edges.iter().map(String::as_str).collect::<Vec<_>>(), more)
}

fn hard(code: &str) -> Does {
    says(json!({"status": "failure", "payload": {}, "failure_code": code, "reason": "r"}))
}

const TASKS: [&str; 5] = ["p1/try[1]", "p2/try[1]", "p3/try[1]", "p4/try[1]", "p5/try[1]"];

/// The mistake: words decide whether a failure is hard.
#[test]
fn words_of_a_message_never_make_a_failure_hard() {
    let words = ["timed out", "network unreachable", "403 forbidden", "econnreset", "enotfound 403"];
    let script = TASKS.iter().zip(words).map(|(task, words)| (*task, failed(words))).collect();
    let (ended, world) = run(&chain(5, "hardFailures: 2\n"), script);
    assert_eq!(world.launches.len(), 5);
    assert_eq!(ended.failure.and_then(|failure| failure.reason).as_deref(), Some("pipeline_failed"));
}

#[test]
fn hard_failures_in_a_row_end_the_pipeline_by_their_class() {
    let script: Script = TASKS.iter().map(|task| (*task, hard("permission"))).collect();
    let plan = chain(5, "hardFailures: 3\n");
    let (ended, world) = run(&plan, script.clone());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 3));
    assert_eq!(ended.failure.as_ref().and_then(|failure| failure.reason.as_deref()), Some("hard_failures"));
    assert_eq!(phases(&ended)["p4"], "skipped");
    goes_on_everywhere(&plan, &script, &world, 4);
}

#[test]
fn hard_failures_that_are_not_in_a_row_do_not() {
    let script = vec![
        (TASKS[0], hard("permission")),
        (TASKS[1], hard("permission")),
        (TASKS[3], hard("fatal")),
        (TASKS[4], hard("security_guard")),
    ];
    let (_, world) = run(&chain(5, "hardFailures: 3\n"), script);
    assert_eq!(world.launches.len(), 5);
}

#[test]
fn a_worker_may_say_that_a_failure_is_hard_or_soft() {
    let says_so = |kind: &str, code: &str| {
        says(json!({"status": "failure", "payload": {}, "failure_kind": kind, "failure_code": code}))
    };
    let soft: Script = TASKS.iter().map(|task| (*task, says_so("soft", "permission"))).collect();
    assert_eq!(run(&chain(5, "hardFailures: 2\n"), soft).1.launches.len(), 5);
    let hard: Script = TASKS.iter().map(|task| (*task, says_so("hard", "timeout"))).collect();
    assert_eq!(run(&chain(5, "hardFailures: 2\n"), hard).1.launches.len(), 2);
}

#[test]
fn a_worker_that_only_says_that_it_failed_has_no_fatal_failure_and_is_asked_once() {
    let class_of = |answer: serde_json::Value| {
        let (_, world) = run(&chain(1, ""), vec![(TASKS[0], says(answer))]);
        assert_eq!(world.launches.len(), 1);
        let found = world.events().find_map(|stamped| match &stamped.event {
            Event::TaskFailed { failure, .. } => {
                assert!(!failure.message.contains("()"), "{}", failure.message);
                Some((failure.class, failure.reason.clone()))
            }
            _ => None,
        });
        found.map(|(class, reason)| (class, reason.unwrap_or_default())).expect("it failed")
    };
    let soft = (Class::InvalidOutput, "soft_failure".to_owned());
    assert_eq!(class_of(json!({"status": "failure", "reason": "no"})), soft);
    assert_eq!(class_of(json!({"status": "failure", "failure_kind": "soft"})), soft);
    assert_eq!(class_of(json!({"status": "failure", "failure_code": "E42"})), soft);
    assert_eq!(class_of(json!({"status": "failure", "failure_code": ""})), soft);
    let hard = |class| (class, "hard_failure".to_owned());
    assert_eq!(class_of(json!({"status": "failure", "failure_kind": "hard"})), hard(Class::Fatal));
    assert_eq!(class_of(json!({"status": "failure", "failure_code": "fatal"})), hard(Class::Fatal));
}

#[test]
fn what_was_slow_or_busy_is_tried_again_and_is_not_hard() {
    for class in [Class::Timeout, Class::RateLimit, Class::Transient, Class::Capacity] {
        let script: Script = TASKS.iter().map(|task| (*task, Does::Fails(class))).collect();
        let (ended, world) = run(&chain(5, "hardFailures: 2\n"), script);
        assert!(world.launches.len() >= 10, "{class}: {}", world.launches.len());
        assert_eq!(ended.failure.expect("it failed").class, class);
    }
}

/// The mistake: nodes side by side read, change and write one state.
#[test]
fn flags_of_phases_side_by_side_are_all_kept() {
    let nodes: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
    let mut all: Vec<&str> = vec!["x", "end"];
    all.extend(nodes.iter().map(String::as_str));
    let mut edges: Vec<String> = nodes.iter().map(|node| format!("x {node}")).collect();
    edges.extend(nodes.iter().map(|node| {
        format!(
            "{node} end when: [{}]",
            (0..8)
                .map(|n| format!("{{type: state_flag, key: f{n}, equals: true}}"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    }));
    let plan = manifest("x", &all, &edges.iter().map(String::as_str).collect::<Vec<_>>());
    let workers = Box::new(|assignment: &convoke_model::Assignment| {
        let task = assignment.task.to_string();
        let number = task.chars().nth(1).filter(|_| task.starts_with('n'));
        let flags = number.map_or(json!({}), |number| json!({format!("f{number}"): true}));
        behaviour(says(json!({"status": "success", "payload": {}, "flags": flags})))
    });
    let ended = World::new(plan, json!({}), 8, 1, workers).finish();
    assert_eq!(phases(&ended)["end"], "success");
}

/// The mistake: a second try overwrites the first.
#[test]
fn every_try_stays_in_the_phases_output() {
    let plan = manifest(
        "x",
        &["x", "y"],
        &["x y when: ['x.output.attempts | length == 3 and x.output.attempts[1].reason == \"two\"']"],
    );
    let script = vec![("x/try[1]", refused("one")), ("x/try[2]", refused("two"))];
    let (ended, world) = run(&plan, script.clone());
    assert_eq!(phases(&ended)["y"], "success");
    let kinds: Vec<_> = told(&events(&world)).into_iter().filter(|line| line.starts_with("x v")).collect();
    assert_eq!(kinds, ["x validation_failed", "x validation_failed", "x validation_passed"]);
    goes_on_everywhere(&plan, &script, &world, 4);
}

#[test]
fn tries_are_bounded_and_the_last_reason_is_told() {
    let plan = with(
        "x",
        &["x personaId: c, constraints: {maxRetries: 1}"],
        &[],
        "topologyConstraints: {maxDepth: 1, maxRetries: 2}\n",
    );
    let script =
        vec![("x/try[1]", refused("one")), ("x/try[2]", refused("two")), ("x/try[3]", refused("three"))];
    let (ended, world) = run(&plan, script);
    assert_eq!(world.launches.len(), 2);
    let failure = ended.failure.expect("not accepted");
    assert!(failure.message.contains("not accepted in 2 tries: two"), "{failure}");
    assert_eq!(failure.class, Class::InvalidOutput);
    assert_eq!(phases(&run(&plan, vec![("x/try[1]", refused("one"))]).0)["x"], "success");
}

/// The mistake: no limits of cost.
#[test]
fn money_and_tokens_end_a_pipeline_as_they_end_any_run() {
    for limit in ["budget_tokens: 1000", "budget_usd: 1"] {
        let plan = chain(5, &format!("limits: {{{limit}, budget_mode: enforce}}\n"));
        let spends = Box::new(|_: &convoke_model::Assignment| {
            let usage = Usage { calls: 1, input_tokens: 400, cost_micros: 400_000, ..Usage::default() };
            let output = JsonText::of(&json!({"status": "success", "payload": {}}));
            Behaviour { takes: TICK, end: AttemptEnd::Finished { output, usage } }
        });
        let mut world = World::new(plan, json!({}), 4, 1, spends);
        let ended = world.finish();
        assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 3), "{limit}");
        let failure = ended.failure.as_ref().expect("it is spent");
        assert_eq!((failure.class, failure.limit()), (Class::Budget, limit.split(':').next()), "{failure}");
        assert_eq!(phases(&ended)["p5"], "skipped");
    }
}

#[test]
fn a_number_of_tasks_ends_a_pipeline_as_it_ends_any_run() {
    let plan = chain(5, "limits: {max_tasks: 6}\n");
    let (ended, _) = run(&plan, vec![("p1/try[1]", refused("x"))]);
    assert_eq!(
        ended.failure.and_then(|failure| failure.limit().map(str::to_owned)).as_deref(),
        Some("max_tasks")
    );
}

/// The mistake: conditions can express neither numbers nor outputs; see also `starting`.
#[test]
fn an_answer_that_does_not_fit_is_a_failed_validation_and_changes_nothing() {
    let wrong = [
        json!({"status": "success", "payload": {}, "flags": {"go": true}, "events": [{"type": "no_such_event"}]}),
        json!({"status": "success", "payload": {}, "flags": {"go": "yes"}}),
        json!({"status": "success", "payload": {}, "flags": {"go": true}, "project": {"nonsense": 1}}),
        json!({"status": "success", "payload": {}, "flags": {"go": true}, "children": [{"persona": "b", "task": "t"}]}),
        json!("done"),
    ];
    for answer in wrong {
        let plan = manifest("x", &["x", "y"], &["x y when: [{type: state_flag, key: go, equals: true}]"]);
        let (ended, world) = run(&plan, vec![("x/try[1]", says(answer.clone()))]);
        let phases = phases(&ended);
        assert_eq!((phases["x"].as_str(), phases["y"].as_str()), ("success", "skipped"), "{answer}");
        assert_eq!(world.launches.len(), 2, "{answer}");
        assert!(
            !world.events().any(|stamped| matches!(stamped.event, Event::StateChanged { .. })),
            "{answer}"
        );
    }
}

#[test]
fn an_attempt_without_a_readable_answer_is_tried_again_and_a_stated_failure_is_not() {
    let plan = manifest("x", &["x"], &[]);
    let unreadable: Script = vec![("x/try[1]", Does::Fails(Class::InvalidOutput))];
    assert_eq!(run(&plan, unreadable).1.launches.len(), 2);
    let stated = says(json!({"status": "failure", "payload": {}, "failure_code": "invalid_output"}));
    let (ended, world) = run(&plan, vec![("x/try[1]", stated)]);
    assert_eq!((phases(&ended)["x"].as_str(), world.launches.len()), ("failure", 1));
}

#[test]
fn an_event_of_the_manifest_has_the_shape_that_it_states() {
    let more = "events: [{type: measured, schema: {n: {type: number}}}]\n";
    let plan = with("x", &["x", "y"], &["x y event: measured"], more);
    let said = |n: serde_json::Value| {
        says(
            json!({"status": "success", "payload": {}, "events": [{"type": "measured", "payload": {"n": n}}]}),
        )
    };
    assert_eq!(phases(&run(&plan, vec![("x/try[1]", said(json!(3)))]).0)["y"], "success");
    let (ended, world) = run(&plan, vec![("x/try[1]", said(json!("three")))]);
    assert_eq!((phases(&ended)["y"].as_str(), world.launches.len()), ("skipped", 2));
}

#[test]
fn a_violation_ends_the_pipeline_or_is_a_failed_validation() {
    let violation = || vec![("x/try[1]", Does::Fails(Class::Security))];
    let plan = manifest("x", &["x", "y"], &["x y on: always"]);
    let (ended, world) = run(&plan, violation());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 1));
    assert_eq!(
        (ended.failure.as_ref().map(|failure| failure.class), phases(&ended)["y"].as_str()),
        (Some(Class::Security), "skipped")
    );
    goes_on_everywhere(&plan, &violation(), &world, 4);
    let lenient = with("x", &["x", "y"], &["x y"], "violationMode: validation_fail\n");
    let (ended, world) = run(&lenient, violation());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 3));
}

const VIOLATED: &str = "schemaVersion: '1'
project: false
personas:
  - {id: lead, displayName: Lead, systemPromptTemplate: You lead.}
pipeline:
  entryNodeId: x
  nodes: [{id: x, actorId: m, personaId: lead}]
  edges: []
";

#[test]
fn a_violation_ends_the_run_wherever_the_pipeline_stands() {
    let caught = "workflow: {name: root, entry_point: s}
agents:
  - {name: s, type: workflow, workflow: sub.yaml, on_error: [{class: any, to: t}], routes: [{to: t}]}
  - {name: t, prompt: go on}
";
    let each = "workflow: {name: root, entry_point: g}
agents: []
for_each:
  - {name: g, type: for_each, items: [1, 2, 3], as: k, max_concurrent: 1, failure_mode: continue_on_error, agent: {name: s, type: workflow, workflow: sub.yaml}}
";
    let needed = "workflow: {name: root}
agents:
  - {name: s, type: workflow, workflow: mid.yaml}
  - {name: t, prompt: go on, needs: [{step: s, requires: any}]}
";
    let mid = "workflow: {name: mid, entry_point: s}
agents:
  - {name: s, type: workflow, workflow: sub.yaml, on_error: [{class: any, to: $end}]}
";
    for (root, task) in [(caught, "s/x/try[1]"), (each, "g[0]/x/try[1]"), (needed, "s/s/x/try[1]")] {
        let plan_with = |sub: &str| plan_of(root, &[("mid.yaml", mid), ("sub.yaml", sub)]);
        let plan = plan_with(VIOLATED);
        let script = || vec![(task, Does::Fails(Class::Security))];
        let (ended, world) = run(&plan, script());
        assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 1), "{task}: {ended:?}");
        assert_eq!(ended.failure.map(|failure| failure.class), Some(Class::Security), "{task}");
        goes_on_after_commits(&plan, &script(), &world, 4);
        let lenient = plan_with(&format!("{VIOLATED}violationMode: validation_fail\n"));
        let (ended, _) = run(&lenient, script());
        assert_ne!(ended.status, RunStatus::Failed, "{task}: {ended:?}");
    }
}

/// Several phases that end in one turn are each counted where they end, whatever ends after them.
#[test]
fn the_failure_that_reaches_the_threshold_is_the_one_that_is_named() {
    let wrong = |to: &str| format!("e {to} when: \"e.output.payload.missing.deeper > 1\"");
    let edges = [wrong("a"), wrong("b"), wrong("c")];
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let plan = with("e", &["e", "a", "b", "c"], &edges, "hardFailures: 2\n");
    let (ended, world) = run(&plan, vec![]);
    let ending = world.events().find_map(|stamped| match &stamped.event {
        Event::WorkflowEnding { ending: convoke_model::Ending::Failed { task, .. }, .. } => task.clone(),
        _ => None,
    });
    assert_eq!(ending.map(|task| task.to_string()).as_deref(), Some("b"));
    let failure = ended.failure.expect("too many");
    assert_eq!(failure.reason.as_deref(), Some("hard_failures"));
    assert!(failure.message.starts_with("2 hard failures in a row"), "{failure:?}");
}

#[test]
fn an_answer_that_contradicts_itself_is_not_accepted() {
    let plan = with("x", &["x", "y"], &["x y"], "topologyConstraints: {maxDepth: 1, maxRetries: 0}\n");
    let both = |field: &str, word: &str| {
        let mut said = json!({"status": "success", "payload": {}, "flags": {"set": true}});
        said[field] = word.into();
        let (ended, world) = run(&plan, vec![("x/try[1]", says(said))]);
        assert_eq!(
            (phases(&ended)["x"].as_str(), phases(&ended)["y"].as_str()),
            ("validation_fail", "skipped")
        );
        assert!(!told(&events(&world)).contains(&"x changed the state".to_owned()), "nothing of it counts");
        ended.failure.expect("refused").message
    };
    assert!(both("failure_kind", "hard").contains("`failure_kind` with status success"));
    assert!(both("failureCode", "timeout").contains("`failure_code` with status success"));
    let fine = json!({"status": "success", "payload": {}, "failure_kind": null, "failure_code": "", "reason": "done"});
    assert_eq!(run(&plan, vec![("x/try[1]", says(fine))]).0.status, RunStatus::Succeeded);
}
