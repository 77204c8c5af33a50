//! What the language means, shown on whole workflows in the simulated world.

use convoke_model::{Answer, Class, RunStatus};
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Runs a workflow whose agents answer `{"said": prompt}`; prompts with `!class` fail so.
fn run(text: &str, inputs: Value) -> (Ended, World) {
    let mut world = world(text, &[], inputs, 8);
    (world.finish(), world)
}

fn world(text: &str, others: &[(&str, &str)], inputs: Value, limit: u32) -> World {
    let script = |assignment: &convoke_model::Assignment| {
        let prompt = match &assignment.work {
            convoke_model::Work::Agent(call) => call.prompt.clone(),
            convoke_model::Work::Script(call) => call.command.clone(),
            convoke_model::Work::Tool(call) => call.tool.clone(),
            convoke_model::Work::Program(call) => call.agent.prompt.clone(),
            convoke_model::Work::Probe(_) => "probe".to_owned(),
        };
        let takes = prompt.split("~").nth(1).and_then(|n| n.parse::<u32>().ok()).unwrap_or(10) * MS;
        match prompt.split('!').nth(1).and_then(|word| Class::from_word(word.trim())) {
            Some(class) => Behaviour::fails(takes, class),
            None => Behaviour::gives(takes, json!({ "said": prompt })),
        }
    };
    World::new(plan_of(text, others), inputs, limit, 7, Box::new(script))
}

fn output(text: &str, inputs: Value) -> Value {
    let (ended, _) = run(text, inputs);
    assert_eq!(ended.failure, None, "{ended:?}");
    ended.output.expect("the workflow has an output")
}

#[test]
fn a_chain_hands_its_outputs_on() {
    let text = "
workflow: {name: chain, entry_point: a}
agents:
  - {name: a, prompt: 'one', routes: [{to: b}]}
  - {name: b, prompt: 'two after {{ a.output.said }}'}
output: {all: '{{ b.output.said }} ({{ context.history | join(\">\") }})'}
";
    assert_eq!(output(text, json!({})), json!({"all": "two after one (a>b)"}));
}

#[test]
fn needs_make_a_diamond_without_waves() {
    let text = "
workflow: {name: diamond}
agents:
  - {name: top, prompt: 'top'}
  - {name: quick, prompt: 'quick ~10', needs: [top]}
  - {name: slow, prompt: 'slow ~500', needs: [top]}
  - {name: after, prompt: 'after {{ quick.output.said }} ~10', needs: [quick]}
  - {name: join, prompt: '{{ slow.output.said }}+{{ after.output.said }}', needs: [slow, after]}
output: {all: '{{ join.output.said }}'}
";
    let (ended, world) = run(text, json!({}));
    assert_eq!(ended.output, Some(json!({"all": "slow ~500+after quick ~10 ~10"})));
    assert_eq!(ended.took, Duration::from_millis(520), "`after` does not wait for `slow`");
    assert_eq!(world.peak, 2);
}

#[test]
fn the_first_success_wins_and_the_rest_is_cancelled() {
    let text = "
workflow: {name: race}
agents:
  - {name: a, prompt: 'a ~900'}
  - {name: b, prompt: 'b ~50'}
  - {name: c, prompt: 'c !fatal', retry: {max_attempts: 1}}
  - {name: pick, prompt: '{{ b.output.said if b is defined else a.output.said }}', needs: [a, b, c], join: first_success}
output: {won: '{{ pick.output.said }}'}
";
    let (ended, world) = run(text, json!({}));
    assert_eq!(ended.output, Some(json!({"won": "b ~50"})), "{ended:?}");
    assert!(ended.took <= Duration::from_millis(100), "{:?}", ended.took);
    assert_eq!(world.running(), 0);
}

#[test]
fn a_quorum_needs_only_so_many() {
    let text = "
workflow: {name: quorum, entry_point: g}
parallel:
  - {name: g, agents: [a, b, c], failure_mode: quorum, min: 2}
agents:
  - {name: a, prompt: 'a'}
  - {name: b, prompt: 'b !fatal'}
  - {name: c, prompt: 'c'}
output: {n: '{{ g.outputs | length }}', bad: '{{ g.errors.b.error }} {{ g.errors.b.agent }}'}
";
    assert_eq!(output(text, json!({})), json!({"n": 2, "bad": "ProviderError b"}));
}

#[test]
fn an_error_goes_to_its_route() {
    let text = "
workflow: {name: errors, entry_point: a}
agents:
  - name: a
    prompt: 'a !timeout'
    retry: {max_attempts: 2, delay_seconds: 1, backoff: fixed}
    on_error: [{class: [timeout], to: rescue}, {class: any, to: $end}]
  - {name: rescue, prompt: '{{ error.class }} of {{ error.step }}: {{ error.message }}'}
output: {said: '{{ rescue.output.said }}'}
";
    let (ended, world) = run(text, json!({}));
    assert_eq!(ended.output, Some(json!({"said": "timeout of a: simulated timeout"})));
    assert_eq!(world.launches.len(), 3, "two attempts and the rescue");
    assert!(ended.took >= Duration::from_secs(1), "the stated delay is a minimum");
}

#[test]
fn groups_nest_and_any_step_may_stand_in_them() {
    let text = "
workflow: {name: nest, entry_point: outer, input: {items: {type: array}}}
parallel:
  - {name: pair, agents: [left, right]}
for_each:
  - {name: outer, type: for_each, source: workflow.input.items, as: it, run: pair, max_concurrent: 2}
agents:
  - {name: left, type: set, value: '{{ it }}{{ _index }}', output_type: string}
  - {name: right, prompt: '{{ it }}!', needs: [left]}
output: {all: '{{ outer.outputs | json }}'}
";
    let all = output(text, json!({"items": ["x", "y"]}));
    let item = |l: &str, r: &str| json!({"type": "parallel", "outputs": {"left": l, "right": {"said": r}}, "errors": {}});
    assert_eq!(all, json!({"all": [item("x0", "x!"), item("y1", "y!")]}));
}

#[test]
fn a_gate_inside_a_group_parks_and_holds_nothing() {
    let text = "
workflow: {name: gates, entry_point: g}
parallel:
  - {name: g, agents: [ask, work, more], max_concurrent: 1}
agents:
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Yes, value: y}, {label: No, value: n}]}
  - {name: work, prompt: 'w'}
  - {name: more, prompt: 'm'}
output: {chose: '{{ g.outputs.ask.selected }}', n: '{{ g.outputs | length }}'}
";
    let mut world = world(text, &[], json!({}), 1);
    assert_eq!(world.finish().status, RunStatus::Parked);
    assert_eq!(world.launches.len(), 2, "the siblings went on");
    let mut world = self::world(text, &[], json!({}), 1);
    world.answers.insert("ask".into(), Answer::Choice { value: "n".into(), input: Default::default() });
    assert_eq!(world.finish().output, Some(json!({"chose": "n", "n": 3})));
}

#[test]
fn sub_workflows_run_at_concurrency_one_at_any_depth() {
    let child = "
workflow: {name: child, entry_point: c, input: {n: {type: number}}}
agents:
  - {name: c, prompt: 'c{{ workflow.input.n }}', routes: [{to: deeper, when: 'workflow.input.n > 0'}, {to: $end}]}
  - {name: deeper, type: workflow, workflow: leaf.yaml, input_mapping: {n: '{{ workflow.input.n }}'}}
output: {said: '{{ c.output.said }}{{ deeper.output.said if deeper is defined else \"\" }}'}
";
    let leaf = "
workflow: {name: leaf, entry_point: l, input: {n: {type: number}}}
agents: [{name: l, prompt: '-l{{ workflow.input.n }}'}]
output: {said: '{{ l.output.said }}'}
";
    let text = "
workflow: {name: top, entry_point: each, input: {ns: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.ns, as: n, agent: {name: call, type: workflow, workflow: child.yaml, input_mapping: {n: '{{ n }}'}}}
agents: []
output: {all: '{{ each.outputs | map(attribute=\"said\") | join(\" \") }}'}
";
    let mut world = world(text, &[("child.yaml", child), ("leaf.yaml", leaf)], json!({"ns": [0, 1, 2]}), 1);
    let ended = world.finish();
    assert_eq!(ended.output, Some(json!({"all": "c0 c1-l1 c2-l2"})), "{ended:?}");
    assert_eq!(world.peak, 1);
}

#[test]
fn a_stop_reaches_everything() {
    let text = "
workflow: {name: stop, entry_point: g}
parallel: [{name: g, agents: [a, b]}]
agents:
  - {name: a, prompt: 'a ~5000'}
  - {name: b, prompt: 'b ~5000'}
";
    let mut world = world(text, &[], json!({}), 4);
    world.run(2);
    assert_eq!(world.running(), 2);
    let ended = world.stop(true);
    assert_eq!(ended.status, RunStatus::Cancelled);
    assert!(ended.took < Duration::from_millis(50), "{:?}", ended.took);
    assert_eq!(world.running(), 0);
}

#[test]
fn a_loop_ends_at_its_limit() {
    let text = "
workflow: {name: lim, entry_point: a}
agents: [{name: a, prompt: x, routes: [{to: a}]}]
";
    let (ended, world) = run(text, json!({}));
    assert_eq!(world.launches.len(), 10);
    let failure = ended.failure.expect("the limit");
    assert_eq!(failure.limit(), Some("max_iterations"));
    assert!(failure.message.contains("visited step `a` 10 times"), "{failure}");
}

#[test]
fn a_step_that_is_skipped_for_a_failure_makes_the_run_partial() {
    let text = "
workflow: {name: partial}
agents:
  - {name: a, prompt: 'a !fatal', on_error: [{class: any, to: note}]}
  - {name: note, type: set, value: noted}
  - {name: b, prompt: b, needs: [a]}
  - {name: c, prompt: c}
output: {c: '{{ c.output.said }}', note: '{{ note.output }}'}
";
    let (ended, _) = run(text, json!({}));
    assert_eq!((ended.status, ended.output), (RunStatus::Partial, Some(json!({"c": "c", "note": "noted"}))));
}

#[test]
fn completed_is_enough_where_the_edge_says_so() {
    let text = "
workflow: {name: done}
agents:
  - {name: a, prompt: 'a !fatal'}
  - {name: b, prompt: '{{ a.error.class }}', needs: [{step: a, requires: completed}]}
output: {b: '{{ b.output.said }}'}
";
    assert_eq!(output(text, json!({})), json!({"b": "fatal"}));
}

#[test]
fn a_task_timeout_is_final_whatever_the_retries() {
    let text = "
workflow: {name: late, entry_point: a}
agents: [{name: a, prompt: 'a ~9000', timeout_seconds: 2, retry: {max_attempts: 5, delay_seconds: 0}}]
";
    let (ended, world) = run(text, json!({}));
    assert_eq!(world.launches.len(), 1);
    assert_eq!(ended.failure.map(|f| f.class), Some(Class::Timeout));
    assert!(ended.took < Duration::from_millis(2100), "{:?}", ended.took);
}
