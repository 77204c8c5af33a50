//! Manifests in which an agent fails, waits for a part, or comes in batches.

use crate::merging::kit::{Says, TICK, given, resumes_everywhere, run};
use convoke_model::{Assignment, RunStatus};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};

#[test]
fn steps_that_stand_side_by_side_are_no_iterations() {
    let agents: String = (0..11).map(|n| format!("  - {{id: a{n}, task: t}}\n")).collect();
    let plan = plan_of(
        &format!(
            "provider: scripted\nagents:\n{agents}  - {{id: p, task: '{{{{ partition }}}}', partitions: [x, y]}}\nsynthesis: flat\n"
        ),
        &[],
    );
    let (ended, _) = run(&plan, given(), 60, |task, _| Some(json!({ "result": task })));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let listed: String = (0..11).map(|n| format!("  - {{name: a{n}, prompt: t}}\n")).collect();
    let written = plan_of(
        &format!(
            "workflow: {{name: w, runtime: {{provider: scripted}}}}\nfor_each:\n  - {{name: p, type: for_each, items: [1], as: n, needs: [a0], agent: {{name: one, prompt: '{{{{ n }}}}'}}}}\nagents:\n{listed}"
        ),
        &[],
    );
    let (ended, _) = run(&written, json!({}), 60, |task, _| Some(json!({ "result": task })));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

/// A manifest in which an agent fails, what its run ends as and what it says is missing.
fn missing(manifest: &str, says: Says) -> (RunStatus, Vec<String>) {
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, _) = run(&plan, given(), 60, says);
    resumes_everywhere(&plan, given(), 60, says, &ended);
    let listed = ended.output.as_ref().map(|output| output["missing"].clone()).unwrap_or_default();
    let tasks = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    (ended.status, tasks.iter().map(|missing| missing["task"].as_str().unwrap().to_owned()).collect())
}

fn all_but_b(task: &str, _: &str) -> Option<Value> {
    (!task.contains('b')).then(|| json!({ "result": task }))
}

#[test]
fn an_agent_that_fails_is_never_hidden() {
    let partial =
        |names: &[&str]| (RunStatus::Partial, names.iter().map(|name| (*name).to_owned()).collect());
    let unmerged = "agents: [{id: a, task: t}, {id: b, task: t}]\nsynthesis: {of: [a]}\n";
    assert_eq!(missing(unmerged, all_but_b), partial(&["b"]));
    let before = "agents:\n  - {id: a, task: '{{ partition }}', partitions: [x, b]}\n  - {id: c, task: t, depends_on: [a]}\nsynthesis: {of: [c]}\n";
    assert_eq!(missing(before, all_but_b), partial(&["a[b]"]));
    let whole = "agents: [{id: a, task: t}, {id: c, task: t}]\nsynthesis: {of: [a]}\n";
    assert_eq!(missing(whole, all_but_b), (RunStatus::Succeeded, Vec::new()));
    let skipped = "agents: [{id: a, task: t}, {id: b, task: t}, {id: c, task: t, depends_on: [b]}]\n";
    assert_eq!(missing(skipped, all_but_b), partial(&["b", "c"]));
}

#[test]
fn a_side_that_fails_in_a_later_round_is_missed_and_the_judge_is_told() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "sides#2/con" => None,
            "judge" => Some(
                json!({ "result": if prompt.contains("absent in this round") { "told" } else { "not told" } }),
            ),
            _ => Some(json!({ "result": "words" })),
        }
    }
    let manifest = "query: q\ncoordination_protocol: debate\nagents: [{id: pro}, {id: con}, {id: judge}]\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, world) = run(&plan, given(), 60, says);
    let tasks: Vec<String> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    assert_eq!(ended.status, RunStatus::Partial, "{tasks:?}");
    let output = ended.output.unwrap();
    assert_eq!(
        (output["answer"].clone(), output["missing"][0]["task"].clone()),
        (json!("told"), json!("sides#2/con"))
    );
}

#[test]
fn a_group_that_failed_is_no_source() {
    fn says(task: &str, _: &str) -> Option<Value> {
        (task != "h[y]").then(|| json!({ "result": task }))
    }
    let manifest = "agents:\n  - {id: h, task: '{{ partition }}', partitions: [x, y], failure_mode: quorum, min: 2}\n  - {id: e, task: t}\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, _) = run(&plan, given(), 60, says);
    assert_eq!(ended.status, RunStatus::Partial);
    let output = ended.output.unwrap();
    assert_eq!(output["answer"], json!("e"));
    assert_eq!(output["missing"][0]["task"], json!("h"));
    let cause = output["missing"][0]["cause"].as_str().unwrap();
    assert!(!cause.trim_end().ends_with(';'), "{cause}");
}

#[test]
fn a_dependency_on_one_partition_waits_for_that_one_alone() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "a[bad]" => None,
            "after" => Some(json!({ "result": prompt })),
            _ => Some(json!({ "result": task })),
        }
    }
    let manifest = "agents:\n  - {id: a, task: '{{ partition }}', partitions: [good, bad]}\n  - {id: after, task: t, depends_on: ['a:good']}\n  - {id: never, task: t, depends_on: ['a:bad']}\n  - {id: all, task: '{{ a.outputs.good.result }}', depends_on: [a]}\nsynthesis: flat\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, world) = run(&plan, given(), 60, says);
    resumes_everywhere(&plan, given(), 60, says, &ended);
    let tasks: Vec<String> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    assert!(!tasks.contains(&"never".to_owned()) && tasks.contains(&"all".to_owned()), "{tasks:?}");
    let answer = ended.output.as_ref().unwrap()["answer"].as_str().unwrap().to_owned();
    assert!(answer.contains("### a [good]\n\na[good]") && !answer.contains("### a [bad]"), "{answer}");
    let listed: Vec<&str> = ended.output.as_ref().unwrap()["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gone| gone["task"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["a[bad]", "never"]);
}

#[test]
fn partitions_by_path_are_known_by_their_names() {
    let plan = plan_of(
        "provider: scripted\ninputs: {topics: {type: array}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n  - {id: b, task: t}\n",
        &[],
    );
    let says: Says = |task, _| Some(json!({ "result": task }));
    let (ended, _) = run(&plan, json!({ "topics": ["sun", "wind"], "query": "", "context": "" }), 60, says);
    let output = ended.output.unwrap();
    assert_eq!(output["waves"], json!([["a:sun", "a:wind", "b"]]));
    assert_eq!((output["mode"].clone(), output["agent_count"].clone()), (json!("parallel"), json!(3)));
    assert_eq!((output["parallelism_ratio"].clone(), output["wave_count"].clone()), (json!(3.0), json!(1)));
    let sources: Vec<&str> =
        output["sources"].as_array().unwrap().iter().map(|source| source["task"].as_str().unwrap()).collect();
    assert_eq!(sources, ["a[sun]", "a[wind]", "b"]);
    assert!(output["answer"].as_str().unwrap().contains("## a [wind]"));
}

#[test]
fn a_batch_ends_before_the_next_one_begins() {
    let plan = plan_of(
        "provider: scripted\nbarrier: true\nbatch_size: 2\nagents:\n  - {id: p, task: '{{ partition }}', partitions: [slow, b, c, d, e]}\n  - {id: q, task: t}\n",
        &[],
    );
    let mut world = World::new(
        plan,
        given(),
        60,
        1,
        Box::new(|assignment: &Assignment| {
            let ticks = if assignment.task.to_string() == "p[slow]" { 5 } else { 1 };
            Behaviour::gives(TICK * ticks, json!({ "result": "x" }))
        }),
    );
    let ended = world.finish();
    let begun: Vec<(String, u64)> = world
        .commits
        .iter()
        .flatten()
        .filter_map(|stamped| match &stamped.event {
            convoke_model::Event::AttemptStarted { task, .. } => Some((task.to_string(), stamped.at.0)),
            _ => None,
        })
        .collect();
    let first = begun[0].1;
    let begun: Vec<(String, u64)> = begun.into_iter().map(|(task, at)| (task, (at - first) / 1000)).collect();
    let expected = [("p[slow]", 0), ("p[b]", 0), ("p[c]", 250), ("p[d]", 250), ("p[e]", 300), ("q", 350)];
    assert_eq!(
        begun.iter().map(|(task, at)| (task.as_str(), *at)).collect::<Vec<_>>(),
        expected,
        "{ended:?}"
    );
}
