//! What starts a phase, and what a worker is told.

use super::kit::*;
use convoke_model::{Event, PhaseChoice, PhaseDecided, RunStatus};
use convoke_testkit::World;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// Runs it and keeps what workers were told, as far as it is JSON behind a heading.
fn heard(plan: &std::sync::Arc<convoke_plan::Plan>, script: Script) -> Vec<(String, String)> {
    let prompts: Rc<RefCell<Vec<(String, String)>>> = Rc::default();
    let (keep, mut does) = (prompts.clone(), workers(script));
    let listening = Box::new(move |assignment: &convoke_model::Assignment| {
        keep.borrow_mut().push((assignment.task.to_string(), prompt(assignment)));
        does(assignment)
    });
    World::new(plan.clone(), json!({}), 8, 1, listening).finish();
    prompts.take()
}

/// The JSON that a worker was told behind some words.
fn behind(prompts: &[(String, String)], task: &str, words: &str) -> Value {
    let (_, prompt) =
        prompts.iter().find(|(id, _)| id == task).unwrap_or_else(|| panic!("{task} was not asked"));
    json_behind(prompt, words)
}

const HANDED: &str = "each with its status and payload:";

#[test]
fn every_status_takes_its_own_edges() {
    let edges = ["x ok on: success", "x no on: validation_fail", "x bad on: failure", "x any on: always"];
    let plan = with(
        "x",
        &["x", "ok", "no", "bad", "any"],
        &edges,
        "topologyConstraints: {maxDepth: 1, maxRetries: 0}\n",
    );
    for (does, taken) in [(success(json!({})), "ok"), (refused("r"), "no"), (failed("f"), "bad")] {
        let (ended, _) = run(&plan, vec![("x/try[1]", does)]);
        let phases = phases(&ended);
        for id in ["ok", "no", "bad", "any"] {
            let expected = if id == taken || id == "any" { "success" } else { "skipped" };
            assert_eq!(phases[id], expected, "{taken}: {id}");
        }
    }
}

#[test]
fn what_was_skipped_starts_nothing_not_even_always() {
    let plan = manifest("x", &["x", "y", "z"], &["x y on: failure", "y z on: always"]);
    let (ended, world) = run(&plan, vec![]);
    assert_eq!(phases(&ended)["z"], "skipped");
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 1));
}

#[test]
fn the_decision_and_its_reason_are_recorded() {
    let plan = manifest(
        "x",
        &["x", "y", "z"],
        &["x y event: tasks_planned", "x z when: [{type: state_flag, key: go, equals: true}]"],
    );
    let script = vec![(
        "x/try[1]",
        says(json!({"status": "success", "payload": {}, "events": [{"type": "tasks_planned"}]})),
    )];
    let (_, world) = run(&plan, script);
    let decided: Vec<_> = world
        .events()
        .filter_map(|stamped| match &stamped.event {
            Event::PhaseDecided(decided) => {
                let PhaseDecided { task, chosen, reason, from } = decided;
                Some((task.to_string(), *chosen, reason.clone(), from.len()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("y", PhaseChoice::Start, "`x` event tasks_planned", 1),
        ("z", PhaseChoice::Skip, "`x` flag go is false", 0),
    ];
    assert_eq!(
        decided,
        expected.map(|(task, chosen, reason, from)| (task.into(), chosen, reason.into(), from))
    );
}

#[test]
fn a_file_is_looked_for_when_nothing_else_decides() {
    let when = "when: [{type: file_exists, path: there.txt}]";
    let plan = manifest("x", &["x", "y"], &[&format!("x y {when}")]);
    for there in [true, false] {
        let mut world = World::new(plan.clone(), json!({}), 2, 1, workers(vec![]));
        world.files.extend(there.then(|| "there.txt".to_owned()));
        let ended = world.finish();
        assert_eq!(phases(&ended)["y"], if there { "success" } else { "skipped" });
        let looked =
            world.events().filter(|stamped| matches!(stamped.event, Event::FilesSeen { .. })).count();
        assert_eq!(looked, 1);
        goes_on_everywhere(&plan, &vec![], &world, 2);
    }
}

#[test]
fn an_expression_sees_numbers_outputs_events_and_the_project() {
    let text = "not state.flags.late and state.metadata.n >= 2 and output.payload.size > 10 and x.output.payload.size < 20 \
                and 'tasks_planned' in events and project.globalFlags.open and events | length == 2";
    let plan = manifest("x", &["x", "y"], &[&format!("x y when: [\"{text}\"]")]);
    let said = |size: u32| {
        says(json!({
            "status": "success", "payload": {"size": size}, "metadata": {"n": 2}, "flags": {"late": false},
            "events": [{"type": "tasks_planned"}], "project": {"globalFlags": {"open": true}},
        }))
    };
    assert_eq!(phases(&run(&plan, vec![("x/try[1]", said(12))]).0)["y"], "success");
    assert_eq!(phases(&run(&plan, vec![("x/try[1]", said(9))]).0)["y"], "skipped");
}

#[test]
fn a_flag_that_nobody_has_set_is_false_in_the_project_as_in_the_run() {
    let edges = [
        "x y when: ['project.globalFlags.outside']",
        "x z when: ['not project.globalFlags.outside and not state.flags.outside']",
    ];
    let plan = manifest("x", &["x", "y", "z"], &edges);
    let (ended, _) = run(&plan, vec![]);
    assert_eq!((phases(&ended)["y"].as_str(), phases(&ended)["z"].as_str()), ("skipped", "success"));
}

#[test]
fn an_edge_whose_expression_cannot_be_evaluated_fails_its_phase() {
    let plan = manifest("x", &["x", "y"], &["x y when: ['output.payload.a.b.c > 1']"]);
    let (ended, _) = run(&plan, vec![]);
    assert_eq!((ended.status, phases(&ended)["y"].as_str()), (RunStatus::Failed, "failure"));
}

#[test]
fn a_fan_in_keeps_the_payload_of_every_predecessor() {
    let plan = manifest(
        "x",
        &["x", "l", "r", "f", "s", "all"],
        &["x l", "x r", "x f", "x s on: failure", "l all", "r all", "f all on: always", "s all"],
    );
    let script = vec![
        ("l/try[1]", success(json!({"side": "left"}))),
        ("r/try[1]", success(json!({"side": "right"}))),
        ("f/try[1]", says(json!({"status": "failure", "payload": {"half": 1}, "reason": "no"}))),
    ];
    let handed = behind(&heard(&plan, script), "all/try[1]", HANDED);
    let expected = json!([
        {"node": "l", "status": "success", "payload": {"side": "left"}},
        {"node": "r", "status": "success", "payload": {"side": "right"}},
        {"node": "f", "status": "failure", "payload": {"half": 1}},
    ]);
    assert_eq!(handed["from"], expected);
    assert_eq!(handed["trigger"]["from"], json!(["l", "r", "f"]));
}

#[test]
fn a_try_is_told_of_every_one_before_it() {
    let plan = manifest("x", &["x"], &[]);
    let script = vec![("x/try[1]", refused("too short")), ("x/try[2]", refused("too long"))];
    let prompts = heard(&plan, script);
    let previous = behind(&prompts, "x/try[3]", "what they gave and why:");
    let expected = json!([
        {"try": 1, "status": "validation_fail", "payload": {"refused": "too short"}, "reason": "too short"},
        {"try": 2, "status": "validation_fail", "payload": {"refused": "too long"}, "reason": "too long"},
    ]);
    assert_eq!(previous, expected);
    assert!(!prompts[0].1.contains("Earlier tries"));
}

#[test]
fn state_reaches_later_phases_and_nothing_of_a_conversation_does() {
    let plan = manifest("x", &["x", "y"], &["x y"]);
    let said = json!({"status": "success", "payload": {}, "flags": {"go": true}, "metadata": {"k": [1]}, "reason": "private words"});
    let prompts = heard(&plan, vec![("x/try[1]", says(said))]);
    let state = behind(&prompts, "y/try[1]", "# State of the run");
    assert_eq!((&state["flags"], &state["metadata"]), (&json!({"go": true}), &json!({"k": [1]})));
    assert_eq!(state["history"][0]["event"], "validation_passed");
    let said_to_x = &prompts[0].1;
    assert!(!prompts[1].1.contains(said_to_x.lines().next().unwrap()));
}

#[test]
fn workers_are_told_of_the_newest_events_and_conditions_of_all() {
    let many: Vec<Value> = (0..150).map(|n| json!({"type": "code_committed", "payload": {"n": n}})).collect();
    let plan = manifest("x", &["x", "y"], &["x y when: ['state.history | length == 151']"]);
    let prompts =
        heard(&plan, vec![("x/try[1]", says(json!({"status": "success", "payload": {}, "events": many})))]);
    let history = behind(&prompts, "y/try[1]", "# State of the run")["history"].clone();
    let history = history.as_array().expect("a list");
    assert_eq!((history.len(), &history[99]["payload"]["n"]), (100, &json!(149)));
}

#[test]
fn members_of_a_sequential_block_run_one_after_the_other_and_others_side_by_side() {
    let block = "personaId: c, topology: {kind: sequential, blockId: s}";
    let nodes = ["x", &format!("a1 {block}"), &format!("a2 {block}"), &format!("a3 {block}"), "b1", "b2"];
    let plan = manifest("x", &nodes, &["x a1", "x a2", "x a3", "x b1", "x b2"]);
    let (ended, world) = run_at(&plan, vec![], 16);
    assert_eq!((ended.status, world.peak), (RunStatus::Succeeded, 3));
    assert_eq!(ended.took, TICK * 4);
}

#[test]
fn there_are_no_barriers_between_blocks() {
    // `slow` is in one block with `quick`; what follows `quick` does not wait for it.
    let block = "personaId: c, topology: {kind: parallel, blockId: p}";
    let nodes = ["x", &format!("quick {block}"), &format!("slow {block}"), "after"];
    let plan = manifest("x", &nodes, &["x quick", "x slow", "quick after"]);
    let script = vec![("slow/try[1]", refused("again"))];
    let (_, world) = run(&plan, script);
    let told = told(&events(&world));
    let at =
        |line: &str| told.iter().position(|told| told == line).unwrap_or_else(|| panic!("{line}: {told:#?}"));
    assert!(at("after/try[1] attempted") < at("slow validation_passed"));
}

#[test]
fn a_phase_that_did_not_start_says_what_its_edges_waited_for() {
    let edges = ["x y event: tasks_planned", "x z event: tasks_planned, on: failure", "y z"];
    let plan = manifest("x", &["x", "y", "z"], &edges);
    let (ended, _) = run(&plan, vec![]);
    assert_eq!(ended.status, RunStatus::Succeeded);
    let told = &ended.output.expect("a report")["phases"];
    assert_eq!(told["y"]["reason"], "`x` did not announce tasks_planned");
    assert_eq!(told["z"]["reason"], "`x` ended in success, not in failure; `y` did not run");
    assert_eq!(told["x"].get("reason"), None);
}

#[test]
fn workers_are_told_the_shapes_that_what_they_announce_is_held_to() {
    let events = "events: [deployed, {type: billed, schema: {amount: {type: number}}}]\n";
    let prompts = heard(&with("x", &["x"], &[], events), vec![]);
    let (_, prompt) = &prompts[0];
    let amount: Value = json_behind(prompt, "Also `billed`; its payload fits ");
    assert_eq!(amount["properties"]["amount"]["type"], "number");
    assert_eq!(amount["required"], json!(["amount"]));
    for words in [
        "taskQueue: {upsert: [{taskId, status,",
        "`code_committed`",
        "`summary`, `errorCode`",
        "`deployed`; its payload is any object",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
}
