//! Resuming a run that has ended: what failed runs again, what finished does not.

use convoke_model::{Assignment, Class, Event, RunStatus, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Agents answer with their prompt; those whose prompt holds `word` fail.
fn failing(word: &'static str) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only agents here") };
        match !word.is_empty() && call.prompt.contains(word) {
            true => Behaviour::fails(Duration::from_millis(5), Class::Fatal),
            false => Behaviour::gives(Duration::from_millis(5), json!({ "said": call.prompt })),
        }
    })
}

/// Runs with a failing word, then resumes without it: how it failed, how it ended, and what ran the second time.
fn twice(plan: Arc<Plan>, inputs: Value, word: &'static str) -> (Ended, Ended, Vec<String>) {
    let mut first = World::new(plan.clone(), inputs, 2, 1, failing(word));
    let failed = first.finish();
    let mut second = World::resumed(plan, 2, first.commits.clone(), &first, failing(""));
    let ended = second.finish();
    (failed, ended, second.launches.iter().map(|(task, attempt)| format!("{task} {attempt}")).collect())
}

#[test]
fn only_the_failed_item_runs_again_with_the_next_attempt_number() {
    let text = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, failure_mode: all_or_nothing, agent: {name: a, prompt: '{{ it }}'}, routes: [{to: after}]}
agents: [{name: after, prompt: 'after {{ each.count }}'}]
output: {all: '{{ each.outputs | map(attribute=\"said\") | join(\" \") }}'}
";
    let (failed, ended, launches) = twice(plan_of(text, &[]), json!({"items": ["x", "bad", "z"]}), "bad");
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!((ended.status, ended.output), (RunStatus::Succeeded, Some(json!({"all": "x bad z"}))));
    assert_eq!(launches, ["each[1] 2", "after 1"]);
}

#[test]
fn what_fail_fast_cut_off_is_open_again() {
    let text = "
workflow: {name: w, entry_point: g}
parallel: [{name: g, agents: [ok, bad, cut], max_concurrent: 2}]
agents:
  - {name: ok, prompt: ok}
  - {name: bad, prompt: bad}
  - {name: cut, prompt: cut}
output: {n: '{{ g.outputs | length }}'}
";
    let (failed, ended, launches) = twice(plan_of(text, &[]), json!({}), "bad");
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(ended.output, Some(json!({"n": 3})), "{ended:?}");
    assert!(!launches.iter().any(|launch| launch.starts_with("g/ok")), "{launches:?}");
}

#[test]
fn a_sub_workflow_goes_on_inside() {
    let child = "
workflow: {name: child, entry_point: one, input: {n: {type: string}}}
agents:
  - {name: one, prompt: 'one {{ workflow.input.n }}', routes: [{to: two}]}
  - {name: two, prompt: 'two {{ workflow.input.n }}'}
output: {said: '{{ two.output.said }}'}
";
    let text = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, failure_mode: all_or_nothing, agent: {name: c, type: workflow, workflow: child.yaml, input_mapping: {n: '{{ it }}'}}}
agents: []
output: {all: '{{ each.outputs | map(attribute=\"said\") | join(\",\") }}'}
";
    let plan = plan_of(text, &[("child.yaml", child)]);
    let (failed, ended, launches) = twice(plan, json!({"items": ["a", "b"]}), "two b");
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(ended.output, Some(json!({"all": "two a,two b"})), "{ended:?}");
    assert_eq!(launches, ["each[1]/two 2"]);
}

#[test]
fn what_was_skipped_for_a_failure_gets_its_turn() {
    let text = "
workflow: {name: w}
agents:
  - {name: a, prompt: bad}
  - {name: b, prompt: b, needs: [a]}
  - {name: c, prompt: c}
  - {name: d, prompt: d, needs: [b, c]}
output: {d: '{{ d.output.said }}'}
";
    let (failed, ended, launches) = twice(plan_of(text, &[]), json!({}), "bad");
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(ended.output, Some(json!({"d": "d"})));
    assert_eq!(launches.first().map(String::as_str), Some("a 2"));
    assert!(launches.iter().filter(|launch| launch.starts_with("d ")).count() == 1, "{launches:?}");
}

#[test]
fn a_stopped_run_goes_on() {
    let text = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: a, routes: [{to: b}]}
  - {name: b, prompt: b}
output: {all: '{{ a.output.said }}{{ b.output.said }}'}
";
    let plan = plan_of(text, &[]);
    let mut first = World::new(plan.clone(), json!({}), 1, 1, failing(""));
    first.run(3);
    assert_eq!(first.stop(true).status, RunStatus::Cancelled);
    let mut second = World::resumed(plan, 1, first.commits.clone(), &first, failing(""));
    assert_eq!(second.finish().output, Some(json!({"all": "ab"})));
    assert_eq!(second.launches.len(), 1, "`a` was done: {:?}", second.launches);
}

#[test]
fn a_run_can_fail_and_be_resumed_many_times() {
    let text = "
workflow: {name: w, entry_point: a}
agents: [{name: a, prompt: bad, retry: {max_attempts: 2, delay_seconds: 0, retry_on: [provider_error]}}]
output: {a: '{{ a.output.said }}'}
";
    let plan = plan_of(text, &[]);
    let mut world = World::new(plan.clone(), json!({}), 1, 1, failing("bad"));
    assert_eq!(world.finish().status, RunStatus::Failed);
    for _ in 0..3 {
        let mut again = World::resumed(plan.clone(), 1, world.commits.clone(), &world, failing("bad"));
        assert_eq!(again.finish().status, RunStatus::Failed);
        world = again;
    }
    let mut last = World::resumed(plan, 1, world.commits.clone(), &world, failing(""));
    assert_eq!(last.finish().output, Some(json!({"a": "bad"})));
    assert_eq!(last.launches[0].1, 5, "attempt numbers go on");
}

#[test]
fn an_accepted_change_runs_again_what_changed_and_what_depends_on_it() {
    let text = |right: &str| {
        format!(
            "
workflow: {{name: w, entry_point: g}}
parallel: [{{name: g, agents: [left, right], routes: [{{to: after}}]}}]
agents:
  - {{name: left, prompt: left}}
  - {{name: right, prompt: {right}}}
  - {{name: after, prompt: 'after {{{{ g.outputs.right.said }}}}', routes: [{{to: last}}]}}
  - {{name: last, prompt: bad}}
output: {{last: '{{{{ after.output.said }}}}'}}
"
        )
    };
    let (before, now) = (plan_of(&text("right"), &[]), plan_of(&text("other"), &[]));
    let mut first = World::new(before.clone(), json!({}), 2, 1, failing("bad"));
    assert_eq!(first.finish().status, RunStatus::Failed);
    let mut second = World::changed(before, now, 2, &first, failing(""));
    assert_eq!(second.finish().output, Some(json!({"last": "after other"})));
    let launches: Vec<_> = second.launches.iter().map(|(task, _)| &*task.0).collect();
    assert_eq!(launches, ["g/right", "after", "last"], "`left` did not change");
}

/// The events alone say which questions are open again.
#[test]
fn a_run_that_goes_on_says_who_waits_for_a_person() {
    let text = "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [gate, bad]}]
agents:
  - {name: gate, type: human_gate, prompt: 'go on?', options: [{label: 'Yes', value: 'yes'}]}
  - {name: bad, prompt: bad}
output: {n: '{{ both.outputs | length }}'}
";
    let plan = plan_of(text, &[]);
    let mut first = World::new(plan.clone(), json!({}), 2, 1, failing("bad"));
    assert_eq!(first.finish().status, RunStatus::Failed);
    let mut second = World::resumed(plan, 2, first.commits.clone(), &first, failing(""));
    assert_eq!(second.finish().status, RunStatus::Parked);
    let told = second.events().find_map(|stamped| match &stamped.event {
        Event::RunReopened(reopened) => Some(reopened.asking.clone()),
        _ => None,
    });
    assert_eq!(told.unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(), ["both/gate"]);
}
