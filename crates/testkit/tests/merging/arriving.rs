//! Merging what arrives: progress, deadlines, too few.

use crate::merging::kit::{TICK, answer, many, run, words, world};
use convoke_model::{Assignment, CauseKind, Event, RunStatus};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn outputs_are_merged_as_they_arrive() {
    let text = "
workflow: {name: w, runtime: {provider: scripted}}
for_each:
  - {name: a, type: for_each, items: [0, 1, 2, 3, 4, 5], as: n, max_concurrent: 2, agent: {name: one, prompt: 'say {{ n }}'}}
agents:
  - {name: s, type: reduce, needs: [a], strategy: progressive}
output: {answer: '{{ s.output | json }}'}
";
    let plan = plan_of(text, &[]);
    let (ended, world) = run(&plan, json!({}), 60, words);
    let first = world.launches.iter().position(|(task, _)| task.to_string().starts_with("s/")).unwrap();
    assert!(first < 6, "the first merge began before the last agent: {:?}", world.launches);
    assert_eq!(answer(&ended)["sources"].as_array().unwrap().len(), 6);
    // Agents take three ticks, two at once; one merge is left after the last of them.
    assert_eq!(ended.took, TICK * 4, "{:?}", world.launches);
    // What arrives when differs after a crash; what is merged does not.
    for cut in 1..world.commits.len() {
        let left = world.commits[..cut].to_vec();
        let mut again = World::resumed(plan.clone(), 60, left, &world, self::world(words));
        let again = again.finish();
        let merged = answer(&again)["sources"].as_array().unwrap().len();
        assert_eq!((again.status, merged), (RunStatus::Succeeded, 6), "cut after {cut}");
    }
}

#[test]
fn at_its_deadline_a_merge_begins_with_what_is_there() {
    let text = "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: quick, prompt: quick}
  - {name: slow, prompt: slow}
  - {name: s, type: reduce, needs: [quick, slow], strategy: flat, deadline: 1s}
output: {answer: '{{ s.output | json }}'}
";
    let plan = plan_of(&text.replace("name: w,", "name: w, entry_point: [quick, slow],"), &[]);
    let script = |assignment: &Assignment| {
        let takes = if assignment.task.to_string() == "slow" { Duration::from_secs(60) } else { TICK };
        Behaviour::gives(takes, json!({ "result": assignment.task.to_string() }))
    };
    let mut world = World::new(plan, json!({}), 4, 1, Box::new(script));
    let ended = world.finish();
    assert_eq!((ended.status, ended.took), (RunStatus::Partial, Duration::from_millis(1001)), "{ended:?}");
    let answer = answer(&ended);
    assert_eq!(answer["result"], json!("quick"));
    assert_eq!(answer["missing"], json!([{ "task": "slow", "cause": "late" }]));
    let events: Vec<_> = world.commits.iter().flatten().map(|stamped| stamped.event.clone()).collect();
    let stopped = events.iter().find_map(|event| match event {
        Event::TaskCancelled { task, cause } if task.to_string() == "slow" => Some(cause.kind),
        _ => None,
    });
    assert_eq!(stopped, Some(CauseKind::DeadlinePassed));
    let said = "its deadline has passed; it goes on with 1 of 2 outputs, without slow";
    assert!(events.iter().any(|event| matches!(event, Event::Noted { message, .. } if message == said)));
}

#[test]
fn too_few_outputs_are_a_failure() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("a[") && task != "a[0]" { None } else { words(task, prompt) }
    }
    let (ended, _) = run(&many(3, "strategy: flat, min_sources: 2"), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Failed);
    let message = ended.failure.unwrap().message;
    assert!(
        message.contains("1 of 3 outputs are there, and it needs 2 (min_sources): a[1] failed: "),
        "{message}"
    );
    fn dead(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("a[") { None } else { words(task, prompt) }
    }
    let (ended, _) = run(&many(5, "strategy: flat"), json!({}), 60, dead);
    let message = ended.failure.unwrap().message;
    let begins = "reduce step `s`: none of the 5 outputs that it merges is there: a[0] failed: ";
    assert!(message.starts_with(begins) && message.ends_with(", and 2 more"), "{message}");
}

#[test]
fn a_progressive_merge_takes_what_is_there_when_it_begins_and_ends_with_its_needs() {
    for (needs, of) in
        [("[a]", ""), ("[a, b]", ""), ("[a, b]", ", of: [a]"), ("[a, {step: c, requires: any}]", ", of: [a]")]
    {
        let text = format!(
            "
workflow: {{name: w, runtime: {{provider: scripted}}, entry_point: [a, b]}}
agents:
  - {{name: a, prompt: a}}
  - {{name: b, prompt: b, routes: [{{to: c, when: 'output.result == \"never\"'}}, {{to: $end}}]}}
  - {{name: c, prompt: c}}
  - {{name: s, type: reduce, needs: {needs}{of}, strategy: progressive}}
  - {{name: z, prompt: 'z {{{{ a.output.result }}}}', needs: [s]}}
output: {{answer: '{{{{ s.output | json }}}}'}}
"
        );
        let (ended, _) = run(&plan_of(&text, &[]), json!({}), 60, words);
        assert!(ended.output.is_some(), "needs {needs}{of}: {ended:?}");
        assert_eq!(answer(&ended)["missing"], json!([]), "{needs}{of}");
    }
}

#[test]
fn items_that_were_never_begun_are_missing_at_a_deadline() {
    let text = "
workflow: {name: w, runtime: {provider: scripted}}
for_each:
  - {name: a, type: for_each, items: [0, 1, 2, 3, 4], as: n, max_concurrent: 1, agent: {name: one, prompt: 'say {{ n }}'}}
agents:
  - {name: s, type: reduce, needs: [{step: a, requires: any}], strategy: flat, deadline: 1s}
output: {answer: '{{ s.output | json }}'}
";
    let script = |_: &Assignment| Behaviour::gives(Duration::from_millis(600), json!({ "result": "x" }));
    let mut world = World::new(plan_of(text, &[]), json!({}), 4, 1, Box::new(script));
    let ended = world.finish();
    let missing: Vec<_> =
        answer(&ended)["missing"].as_array().unwrap().iter().map(|m| m["task"].clone()).collect();
    assert_eq!(missing, ["a[1]", "a[2]", "a[3]", "a[4]"], "{ended:?}");
}
