//! Questions in every kind of nesting, answered in random order, with a crash after every commit.

use super::kit::{Asked, OPTIONS};
use convoke_model::RunStatus;
use convoke_testkit::Ended;
use serde_json::json;

const LOOP: &str = "
workflow: {name: looping, entry_point: ask, limits: {max_iterations: 20}}
agents:
  - {name: ask, type: human_gate, prompt: 'again?', options: [{label: Y, value: y, route: think, prompt_for: note}]}
  - {name: think, prompt: 'think', routes: [{to: $end, when: '{{ context.iteration >= 6 }}'}, {to: ask}]}
output: {last: '{{ ask.output.additional_input.note }}'}
";

fn everywhere() -> Asked {
    let item = format!(
        "
workflow: {{name: item, entry_point: both, input: {{it: {{type: string}}}}}}
parallel: [{{name: both, agents: [p, q]}}]
agents:
  - {{name: p, type: human_gate, prompt: 'p {{{{ workflow.input.it }}}}?', {OPTIONS}}}
  - {{name: q, type: human_gate, prompt: 'q {{{{ workflow.input.it }}}}?', {OPTIONS}}}
output:
  said: '{{{{ both.outputs.p.additional_input.note }}}} {{{{ both.outputs.q.additional_input.note }}}}'
"
    );
    let text = format!(
        "
workflow: {{name: w, entry_point: outer, limits: {{max_iterations: 1000}}}}
parallel:
  - {{name: outer, agents: [g, form, inner, each, talk, slow]}}
  - {{name: inner, agents: [h, k]}}
for_each:
  - {{name: each, type: for_each, items: [a, b], as: it, agent: {{name: c, type: workflow, workflow: item.yaml, input_mapping: {{it: '{{{{ it }}}}'}}}}}}
agents:
  - {{name: g, type: human_gate, prompt: 'g?', {OPTIONS}}}
  - {{name: form, type: questions, questions: [{{id: q, text: 'q?', required: true}}]}}
  - {{name: h, type: human_gate, prompt: 'h?', {OPTIONS}}}
  - {{name: k, needs: [h], type: human_gate, prompt: 'k?', {OPTIONS}}}
  - {{name: talk, type: workflow, workflow: loop.yaml}}
  - {{name: slow, prompt: 'sssssssssssssssssssssssss'}}
output:
  g: '{{{{ outer.outputs.g.additional_input.note }}}}'
  form: '{{{{ outer.outputs.form.answers.q }}}}'
  inner: '{{{{ outer.outputs.inner.outputs.h.additional_input.note }}}} {{{{ outer.outputs.inner.outputs.k.additional_input.note }}}}'
  each: '{{{{ outer.outputs.each.outputs | map(attribute=\"said\") | join(\" \") }}}}'
  talk: '{{{{ outer.outputs.talk.last }}}}'
"
    );
    Asked::new(&text, &[("item.yaml", &item), ("loop.yaml", LOOP)], json!({}))
}

/// Answers whatever is open, one at a time, in an order that the seed gives.
fn drive(run: &mut Asked, seed: &mut u64) -> Ended {
    loop {
        let ended = run.finish();
        if ended.status != RunStatus::Parked {
            return ended;
        }
        let open = run.open();
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let gate = &open[(*seed >> 33) as usize % open.len()];
        match gate.contains("form") {
            true => run.fill_in(gate),
            false => run.answer(gate),
        }
    }
}

#[test]
fn each_answer_reaches_its_own_gate_wherever_the_run_crashes() {
    for seed in 1..=5 {
        let mut whole = everywhere();
        let ended = drive(&mut whole, &mut { seed });
        let said = json!({
            "g": "outer/g~1",
            "form": "outer/form~1",
            "inner": "outer/inner/h~1 outer/inner/k~1",
            "each": "outer/each[0]/both/p~1 outer/each[0]/both/q~1 outer/each[1]/both/p~1 outer/each[1]/both/q~1",
            "talk": "outer/talk/ask#3~1",
        });
        assert_eq!((ended.status, ended.output), (RunStatus::Succeeded, Some(said.clone())), "seed {seed}");
        let (record, commits) = (whole.record(), whole.world.commits.len());
        assert!(record.values().all(|counts| *counts == (1, 1)), "seed {seed}: {record:?}");
        for crash in 1..commits {
            let mut run = everywhere();
            drive(&mut run, &mut { seed });
            run.crash_after(crash);
            // Another order than the first owner's.
            let ended = drive(&mut run, &mut { seed + crash as u64 });
            assert_eq!(
                ended.output,
                Some(said.clone()),
                "seed {seed}, crash after commit {crash}: {ended:?}"
            );
            assert_eq!(run.record(), record, "seed {seed}, crash after commit {crash}");
        }
    }
}

#[test]
fn a_number_is_not_given_again_after_the_plan_has_changed() {
    let text = |prompt: &str| {
        format!(
            "
workflow: {{name: w, entry_point: both}}
parallel: [{{name: both, agents: [changed, kept]}}]
agents:
  - {{name: changed, type: human_gate, prompt: '{prompt}', {OPTIONS}}}
  - {{name: kept, type: human_gate, prompt: 'kept?', {OPTIONS}}}
output: {{n: '{{{{ both.outputs | length }}}}'}}
"
        )
    };
    let plans = ["before?", "now?"].map(|prompt| convoke_testkit::plan_of(&text(prompt), &[]));
    let mut first = convoke_testkit::World::new(plans[0].clone(), json!({}), 2, 1, super::kit::echo());
    assert_eq!(first.finish().status, RunStatus::Parked);
    let [before, now] = plans;
    let mut second = convoke_testkit::World::changed(before, now, 2, &first, super::kit::echo());
    assert_eq!(second.finish().status, RunStatus::Parked);
    let open: Vec<String> =
        super::kit::open(&second.commits.concat()).into_values().map(|id| id.to_string()).collect();
    assert_eq!(open, ["both/changed~2", "both/kept~1"]);
}
