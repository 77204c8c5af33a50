//! Agents of a manifest: failures, order, partitions, the query.

use crate::manifests::kit::{attempts, prompt, run, scripted, shown, task};
use crate::support::World;
use crate::support::model::Model;
use serde_json::json;

#[test]
fn a_failure_skips_its_dependents_and_the_answer_says_what_is_missing() {
    let world = scripted(
        "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t}\n",
        "replies: {a: {fail: fatal, message: broke}, c: fine}\n",
    );
    let said = run(&world).exits(1);
    let result = said.json();
    assert_eq!(result["answer"], "fine");
    assert_eq!(result["missing"][0]["task"], "a");
    assert_eq!(result["missing"][1], json!({"task": "b", "cause": "skipped: something it needs failed (a)"}));
    assert_eq!(world.status(), "partial");
    assert_eq!(attempts(&shown(&world), "c"), 1);
    world.convoke(&["run", "w.yaml", "--silent", "--allow-partial"]).exits(0);
}

#[test]
fn a_failure_that_only_the_synthesis_sees_is_partial_too_and_all_are_a_failure() {
    let manifest = "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, max_retries: 0}\n";
    let one = scripted(manifest, "replies: {a: {fail: fatal}, b: fine}\n");
    assert_eq!(run(&one).exits(1).json()["missing"][0]["task"], "a");
    assert_eq!(one.status(), "partial");
    let all = scripted(manifest, "replies: {a: {fail: fatal}, b: {fail: fatal}}\n");
    run(&all).exits(1).prints_nothing();
    assert_eq!(all.status(), "failed");
}

#[test]
fn fan_in_after_fan_out_sees_every_partition_in_order() {
    let world = scripted(
        "agents:\n  - {id: r, task: 'on {{partition}}', partitions: [z, a]}\n  - {id: sum, task: add up, depends_on: [r]}\n",
        "match:\n  - {pattern: 'on z', replies: [Z]}\n  - {pattern: 'on a', replies: [A]}\n  - {pattern: 'add up', replies: [both]}\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!(result["waves"], json!([["r:z", "r:a"], ["sum"]]));
    let asked = prompt(&world, "sum");
    let block = asked.split_once("## DEPENDENCY OUTPUTS").expect("a block").1;
    assert_eq!(block.trim(), "### r [z]\n\nZ\n\n### r [a]\n\nA");
}

#[test]
fn replies_of_a_fan_out_go_by_its_name() {
    let world = scripted(
        "agents:\n  - {id: r, task: 'on {{partition}}', partitions: [a]}\n",
        "replies: {r: found}\n",
    );
    assert_eq!(run(&world).exits(0).json()["answer"], "found");
}

#[test]
fn order_alone_passes_nothing_on() {
    let world = scripted(
        "mode: sequential\nagents:\n  - {id: a, task: t}\n  - {id: b, task: t}\n  - {id: c, task: t, depends_on: [a]}\n",
        "replies: {a: from a, b: from b, c: from c}\n",
    );
    run(&world).exits(0);
    let started: Vec<String> = shown(&world)["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|task| Some(task["task"].as_str()?.to_owned()))
        .collect();
    assert_eq!(started[..3], ["a", "b", "c"]);
    let asked = prompt(&world, "c");
    assert!(asked.contains("from a") && !asked.contains("from b"), "{asked}");
    assert!(!prompt(&world, "b").contains("DEPENDENCY"));
}

#[test]
fn sixty_agents_run_at_once() {
    let replies = json!({"m": {"say": "done", "at_once": 60}});
    let model = Model::start(replies.as_object().unwrap());
    let agents: String = (0..60).map(|number| format!("  - {{id: a{number}, task: t}}\n")).collect();
    let world = World::with_workflow(&format!(
        "provider: {{name: openai, base_url: '{}', api_key: none}}\nmodel: m\nsynthesis: flat\nagents:\n{agents}",
        model.url()
    ));
    run(&world).exits(0);
    assert_eq!((model.asked().len(), model.most_at_once()), (60, 60), "waves of 25 would never come to this");
}

#[test]
fn the_query_can_be_given_and_must_be_where_nobody_stated_it() {
    let world = scripted(
        "agents:\n  - {id: a}\n  - {id: b, task: 'say {{ query }} and {{ context }}'}\n",
        "default: [ok]\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["input `query` is required"]);
    world.convoke(&["run", "w.yaml", "-s", "-i", "query=why {{ x }}?", "-i", "context=facts"]).exits(0);
    assert_eq!(prompt(&world, "a"), "why {{ x }}?\n\nContext:\nfacts");
    assert_eq!(prompt(&world, "b"), "say why {{ x }}? and facts");
}

#[test]
fn a_manifest_that_is_wrong_is_refused_with_places() {
    let world = World::with_workflow(
        "agents:\n  - {id: a, taks: t, depends_on: [b]}\n  - {id: b, depends_on: [a]}\nsynthesis: {ratio: 1}\n",
    );
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&[
        "unknown key `taks` in agent `a`",
        "did you mean `task`?",
        "needs go in a circle: a → b → a",
        "`ratio` of `synthesis` of the manifest must be between 2 and 100",
        "w.yaml:2",
    ]);
}

#[test]
fn many_agents_beside_a_partitioned_one_are_an_ordinary_run() {
    let agents: String = (1..=11).map(|number| format!("  - {{id: a{number}}}\n")).collect();
    let world = scripted(
        &format!("query: q\nsynthesis: flat\nagents:\n{agents}  - {{id: p, partitions: [x, y]}}\n"),
        "default: [done]\n",
    );
    assert_eq!(run(&world).exits(0).json()["agent_count"], 13);
}

#[test]
fn naming_one_partition_changes_nothing_about_its_agent() {
    let world = scripted(
        "query: q\nagents:\n  - {id: a, partitions: [x, y]}\n  - {id: b, depends_on: ['a:x']}\n  - {id: c, task: '{{ a.outputs | length }}', depends_on: [a]}\n",
        "replies: {a: from a, b: from b, c: from c}\n",
    );
    let result = run(&world).exits(0).json();
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("## a [x]\n\nfrom a") && answer.contains("## a [y]"), "{answer}");
    assert_eq!(task(&shown(&world), "a[x]")["status"], "succeeded");
    let asked = prompt(&world, "b");
    assert!(asked.contains("### a [x]") && !asked.contains("### a [y]"), "{asked}");
    assert_eq!(prompt(&world, "c").lines().next(), Some("2"));
}

#[test]
fn lists_that_are_given_name_their_partitions_and_are_checked_before_the_run() {
    let world = scripted(
        "query: q\ninputs: {topics: {type: array}}\nagents:\n  - {id: a, partitions: workflow.input.topics}\n  - {id: b, depends_on: [a]}\n",
        "replies: {a: from a, b: from b}\n",
    );
    let given =
        |topics: &str| world.convoke(&["run", "w.yaml", "--silent", "-i", &format!("topics={topics}")]);
    for refused in ["[]", r#"["x", "x"]"#, r#"[""]"#] {
        given(refused).exits(3);
    }
    let result = given(r#"["sun", "wind"]"#).exits(0).json();
    assert_eq!(result["waves"], json!([["a:sun", "a:wind"], ["b"]]));
    assert_eq!((&result["mode"], &result["agent_count"]), (&json!("wave"), &json!(3)));
    world.convoke(&["show", &world.runs()[0], "a:wind"]).exits(0);
}

#[test]
fn an_empty_query_is_refused_where_somebody_is_asked_it() {
    let world = scripted("query: what?\nagents: [{id: a}]\n", "default: [done]\n");
    world.convoke(&["run", "w.yaml", "--silent", "-i", "query="]).exits(3);
    assert!(world.runs().is_empty(), "nothing was begun");
}
