//! Work that a try hands to children.

use super::kit::*;
use convoke_model::{Class, Event, RunStatus};
use convoke_schedule::Scheduler;
use serde_json::{Value, json};

fn hands(children: &[(&str, &str)]) -> Does {
    let children: Vec<Value> =
        children.iter().map(|(persona, task)| json!({"persona": persona, "task": task})).collect();
    says(json!({"status": "success", "payload": {}, "children": children}))
}

fn one() -> std::sync::Arc<convoke_plan::Plan> {
    with("x", &["x personaId: a"], &[], "topologyConstraints: {maxDepth: 3, maxRetries: 0}\n")
}

fn why(script: Script) -> String {
    let (ended, _) = run(&one(), script);
    assert_eq!(ended.status, RunStatus::Failed);
    ended.failure.expect("a reason").message
}

#[test]
fn whoever_puts_together_is_given_every_childs_work_and_result() {
    let mut prompts = Vec::new();
    let script = vec![
        ("x/try[1]", hands(&[("b", "first"), ("b", "second")])),
        ("x/child[1.1]", success(json!({"n": 1}))),
        ("x/child[1.2]", success(json!({"n": 2}))),
    ];
    let mut does = workers(script);
    let (keep, kept) = std::sync::mpsc::channel();
    let listening = Box::new(move |assignment: &convoke_model::Assignment| {
        keep.send((assignment.task.to_string(), prompt(assignment))).unwrap();
        does(assignment)
    });
    convoke_testkit::World::new(one(), json!({}), 4, 1, listening).finish();
    prompts.extend(kept.try_iter());
    let (_, told) = prompts.iter().find(|(task, _)| task == "x/aggregate[1]").expect("it was asked");
    let expected = json!([
        {"persona": "b", "task": "first", "status": "success", "payload": {"n": 1}},
        {"persona": "b", "task": "second", "status": "success", "payload": {"n": 2}},
    ]);
    assert_eq!(json_behind(told, "that you handed out came to"), expected);
    let (_, child) = prompts.iter().find(|(task, _)| task == "x/child[1.2]").expect("it was asked");
    assert!(child.starts_with("second"), "{child}");
}

#[test]
fn limits_of_relationships_are_named() {
    assert!(
        why(vec![("x/try[1]", hands(&[("c", "t")]))])
            .contains("`a` may not hand work to `c` (relationships)")
    );
    assert!(why(vec![("x/try[1]", hands(&[("nobody", "t")]))]).contains("may not hand work to `nobody`"));
    assert!(
        why(vec![("x/try[1]", hands(&[("b", "1"), ("b", "2"), ("b", "3"), ("b", "4")]))])
            .contains("4 children `b`: the limit is 3 (maxChildren)")
    );
    let deep = vec![("x/try[1]", hands(&[("b", "1")])), ("x/child[1.1]", hands(&[("c", "1"), ("c", "2")]))];
    assert!(why(deep).contains("child 1.1 (b): 2 children `c`: the limit is 1 (maxChildren)"));
    let again = vec![("x/try[1]", hands(&[("b", "1")])), ("x/aggregate[1]", hands(&[("b", "2")]))];
    assert!(why(again).contains("hands out no further work"));
}

#[test]
fn the_failure_of_a_child_stops_its_siblings_and_nothing_is_put_together() {
    let script: Script = vec![
        ("x/try[1]", hands(&[("b", "1"), ("b", "2"), ("b", "3")])),
        ("x/child[1.1]", hands(&[("c", "deeper")])),
        ("x/child[1.2]", failed("broken")),
    ];
    let (ended, world) = run(&one(), script.clone());
    let message = ended.failure.as_ref().expect("a reason").message.clone();
    assert!(message.contains("child 1.2 (b): broken"), "{message}");
    assert!(!world.launches.iter().any(|(task, _)| task.0.contains("aggregate")));
    goes_on_after_commits(&one(), &script, &world, 4);
    // With one permit the third was never begun.
    let (_, world) = run_at(&one(), script, 1);
    let third = world.events().find_map(|stamped| match &stamped.event {
        Event::TaskSkipped { task, cause } if task.0.ends_with("child[1.3]") => cause.task.clone(),
        _ => None,
    });
    assert_eq!(third.map(|task| task.to_string()).as_deref(), Some("x/child[1.2]"));
    assert_eq!(world.running(), 0);
}

#[test]
fn a_child_that_is_not_accepted_makes_for_another_try() {
    let plan = manifest("x", &["x personaId: a"], &[]);
    let script = vec![
        ("x/try[1]", hands(&[("b", "1")])),
        ("x/child[1.1]", refused("poor")),
        ("x/try[2]", hands(&[("b", "1")])),
        ("x/child[2.1]", success(json!({}))),
        ("x/aggregate[2]", success(json!({"at": "last"}))),
    ];
    let (ended, world) = run(&plan, script.clone());
    assert_eq!(ended.status, RunStatus::Succeeded);
    let output = ended.output.expect("a report");
    assert_eq!(
        (&output["phases"]["x"]["tries"], &output["phases"]["x"]["payload"]),
        (&json!(2), &json!({"at": "last"}))
    );
    goes_on_everywhere(&plan, &script, &world, 4);
}

#[test]
fn what_children_say_about_the_run_counts_once_all_have_succeeded() {
    let plan = manifest("x", &["x personaId: a", "y"], &["x y event: code_committed"]);
    let child = |key: &str| {
        says(
            json!({"status": "success", "payload": {}, "flags": {key: true}, "events": [{"type": "code_committed"}]}),
        )
    };
    let script = vec![
        (
            "x/try[1]",
            says(json!({
                "status": "success", "payload": {}, "events": [{"type": "tasks_planned"}], "children": [{"persona": "b", "task": 1}, {"persona": "b", "task": 2}],
            })),
        ),
        ("x/child[1.1]", child("one")),
        ("x/child[1.2]", child("two")),
    ];
    let (ended, world) = run(&plan, script.clone());
    let expected = [
        "started",
        "x/try[1] attempted",
        "x tasks_planned",
        "x/child[1.1] attempted",
        "x/child[1.2] attempted",
        "x/aggregate[1] attempted",
        "x changed the state",
        "x validation_passed",
        "x code_committed",
        "x code_committed",
        "y start",
        "y/try[1] attempted",
        "y validation_passed",
        "finished succeeded",
    ];
    assert_eq!(told(&events(&world)), expected);
    assert_eq!(ended.status, RunStatus::Succeeded);
    goes_on_everywhere(&plan, &script, &world, 4);
}

#[test]
fn a_child_is_held_to_the_clearance_of_its_own_persona() {
    let script = vec![("x/try[1]", hands(&[("b", "1")])), ("x/child[1.1]", hands(&[("c", "deep")]))];
    let more = "topologyConstraints: {maxDepth: 3, maxRetries: 0}\nmcp_servers: {fs: {command: fs}}\n";
    let (_, world) = run(&with("x", &["x personaId: a"], &[], more), script);
    let contract = world.events().find_map(|stamped| match &stamped.event {
        Event::ContractResolved { task, contract, .. } if task.0.contains("1.1.1") => Some(contract.clone()),
        _ => None,
    });
    let contract = contract.expect("before its attempt");
    assert_eq!((contract.persona.as_deref(), contract.depth), (Some("c"), 2));
    assert_eq!(contract.allowed_tools, Some(vec!["read".to_owned()]));
}

#[test]
fn what_a_phase_asks_is_paid_by_the_phase_also_by_its_name_alone() {
    let nodes = ["x personaId: a, budget: {tokens: 5000}, labels: {tenant: blue}"];
    let plan = with("x", &nodes, &[], "limits: {budget_tokens: 90000}\n");
    let script = vec![("x/try[1]", hands(&[("b", "1")])), ("x/child[1.1]", hands(&[("c", "deep")]))];
    let (_, world) = run(&plan, script);
    let mut scheduler = Scheduler::new(plan.clone());
    world.events().for_each(|event| scheduler.apply(event).expect("it happened"));
    let by_name = Scheduler::new(plan);
    let mut asked = 0;
    for task in scheduler.tasks() {
        let (id, scopes) = (scheduler.id(task), scheduler.budget_scopes(task));
        let tokens: Vec<_> = scopes.iter().filter_map(|scope| scope.budget.tokens).collect();
        assert_eq!(tokens, [5000, 90000], "{id}");
        let (known, tenant) = by_name.budget_scopes_of(id);
        assert_eq!((known.len(), tenant.as_deref()), (2, Some("blue")), "{id}");
        asked += 1;
    }
    assert_eq!(asked, 6);
}

#[test]
fn a_stop_reaches_children_however_deep() {
    let script =
        vec![("x/try[1]", hands(&[("b", "1"), ("b", "2")])), ("x/child[1.1]", hands(&[("c", "deep")]))];
    let plan = one();
    let mut world = convoke_testkit::World::new(plan, json!({}), 4, 1, workers(script));
    while !world.launches.iter().any(|(task, _)| task.0.contains("1.1.1")) {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    let ended = world.stop(true);
    assert_eq!((ended.status, world.running()), (RunStatus::Cancelled, 0));
    let open = world.events().filter(|stamped| matches!(stamped.event, Event::TaskCancelled { .. })).count();
    assert!(open >= 2, "{open}");
}

#[test]
fn the_project_is_changed_by_the_phase_alone() {
    let patch = json!({"status": "success", "payload": {}, "project": {"globalFlags": {"a": true}}});
    let script = vec![("x/try[1]", hands(&[("b", "1")])), ("x/child[1.1]", says(patch.clone()))];
    assert!(why(script).contains("only the phase itself"));
    let nowhere =
        with("x", &["x"], &[], "project: false\ntopologyConstraints: {maxDepth: 1, maxRetries: 0}\n");
    let (ended, world) = run(&nowhere, vec![("x/try[1]", says(patch))]);
    assert!(ended.failure.expect("refused").message.contains("shares nothing"));
    assert_eq!(world.project.state().revision, 0);
}

#[test]
fn a_project_that_cannot_be_written_fails_the_phase_and_a_resumed_run_writes_it() {
    let patch = json!({"status": "success", "payload": {}, "project": {"globalFlags": {"a": true}}});
    let plan = manifest("x", &["x", "y"], &["x y"]);
    let script = vec![("x/try[1]", says(patch))];
    let mut world = convoke_testkit::World::new(plan.clone(), json!({}), 4, 1, workers(script.clone()));
    world.project.break_down(true);
    let ended = world.finish();
    assert_eq!(
        (ended.status, ended.failure.map(|failure| failure.class)),
        (RunStatus::Failed, Some(Class::Fatal))
    );
    world.project.break_down(false);
    let mut again = convoke_testkit::World::resumed(plan, 4, world.commits.clone(), &world, workers(script));
    let ended = again.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let launched: Vec<_> = again.launches.iter().map(|(task, _)| task.to_string()).collect();
    assert_eq!(launched, ["y/try[1]"]);
    assert_eq!(again.project.state().context.value()["globalFlags"], json!({"a": true}));
}

#[test]
fn a_write_that_was_lost_is_never_a_success_and_nothing_of_its_answer_is_announced() {
    let patch = json!({
        "status": "success", "payload": {}, "project": {"globalFlags": {"a": true}}, "flags": {"done": true},
        "events": [{"type": "code_committed"}],
    });
    // The failure of `x` is taken care of, and another chain is longer: by edges alone it would not count.
    let nodes = ["e", "x", "care", "told", "said", "l1", "l2", "l3"];
    let edges = [
        "e x",
        "x care on: failure",
        "x told event: validation_passed",
        "x said event: code_committed",
        "e l1",
        "l1 l2",
        "l2 l3",
    ];
    let plan = manifest("e", &nodes, &edges);
    let script = vec![("x/try[1]", says(patch))];
    let mut world = convoke_testkit::World::new(plan.clone(), json!({}), 4, 1, workers(script.clone()));
    world.project.break_down(true);
    let ended = world.finish();
    let came = phases(&ended);
    assert_eq!((came["x"].as_str(), came["care"].as_str()), ("failure", "success"));
    assert_eq!((came["told"].as_str(), came["said"].as_str()), ("skipped", "skipped"));
    let of_x = |event: &Event| match event {
        Event::Announced { task, .. } | Event::StateChanged { task, .. } => &*task.0 == "x",
        _ => false,
    };
    assert!(!world.events().any(|stamped| of_x(&stamped.event)), "{:?}", told(&events(&world)));
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
    assert!(ended.failure.expect("a reason").message.contains("cannot be written"));
    world.project.break_down(false);
    let mut again = convoke_testkit::World::resumed(plan, 4, world.commits.clone(), &world, workers(script));
    let ended = again.finish();
    let came = phases(&ended);
    assert_eq!(
        (ended.status, came["care"].as_str(), came["told"].as_str()),
        (RunStatus::Succeeded, "skipped", "success")
    );
}

#[test]
fn who_resumes_under_tighter_bounds_keeps_what_was_handed_out_and_hands_out_no_more() {
    let plan = manifest("x", &["x personaId: a", "y personaId: a"], &["x y"]);
    let three = || hands(&[("b", "1"), ("b", "2"), ("b", "3")]);
    let script =
        vec![("x/try[1]", three()), ("y/try[1]", three()), ("y/try[2]", three()), ("y/try[3]", three())];
    let mut world = convoke_testkit::World::new(plan.clone(), json!({}), 4, 1, workers(script.clone()));
    while world.launches.len() < 4 {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    let mut tighter = (*plan).clone();
    let caps = convoke_plan::compile::Caps { relationship_children: 2, ..Default::default() };
    tighter.bound_by(&caps);
    let left = world.commits.clone();
    let mut again =
        convoke_testkit::World::resumed(std::sync::Arc::new(tighter), 4, left, &world, workers(script));
    let ended = again.finish();
    let came = phases(&ended);
    assert_eq!((came["x"].as_str(), came["y"].as_str()), ("success", "validation_fail"));
    assert!(ended.failure.expect("refused").message.contains("the limit is 2"));
}
