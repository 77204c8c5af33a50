//! Questions in every kind of nesting, answered in random order, with a crash after every commit.

use super::kit::{Asked, OPTIONS};
use convoke_model::{
    Answer, Ask, AskOption, Assignment, AttemptEnd, Event, JsonText, Payload, RunStatus, TaskId, Usage,
    WaitsFor,
};
use convoke_testkit::{Behaviour, Ended};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

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

/// Each attempt of a worker asks once, and goes on with what it was told.
fn asks_first(done: fn(&str, &str) -> Value) -> impl FnMut(&Assignment) -> Behaviour {
    move |assignment| {
        let task = assignment.task.to_string();
        if let Some(Answer::Choice { input, .. }) = &assignment.answer {
            return Behaviour::gives(Duration::from_millis(1), done(&task, &input["note"]));
        }
        let option = AskOption {
            label: "Y".into(),
            value: "y".into(),
            prompt_for: Some("note".into()),
            multiline: false,
        };
        let ask = Ask::Choice { prompt: "may I?".into(), options: vec![option], default: None };
        let end = AttemptEnd::Suspended {
            state: JsonText::of(&json!({})),
            waits_for: WaitsFor::Gate(JsonText::of(&ask)),
            usage: Usage::default(),
        };
        Behaviour { takes: Duration::from_millis(1), end }
    }
}

/// Two phases, of which the first has a second try and hands out work.
const PIPELINE: &str = "schemaVersion: '1'
name: small
topologies: [sequential, parallel, hierarchical, retry-unrolled]
personas:
  - {id: a, displayName: A, systemPromptTemplate: You are a.}
  - {id: b, displayName: B, systemPromptTemplate: You are b.}
  - {id: c, displayName: C, systemPromptTemplate: You are c.}
relationships:
  - {parentPersonaId: a, childPersonaId: b, constraints: {maxDepth: 2, maxChildren: 3}}
topologyConstraints: {maxRetries: 1}
pipeline:
  entryNodeId: x
  nodes:
    - {id: x, actorId: model, personaId: a}
    - {id: y, actorId: model, personaId: c}
    - {id: z, actorId: model, personaId: c}
  edges:
    - {from: x, to: y}
    - {from: x, to: z}
";

fn pipeline() -> Asked {
    Asked::with(PIPELINE, &[], json!({}), || {
        Box::new(asks_first(|task, note| match task {
            "x/try[1]" => {
                json!({"status": "validation_fail", "payload": {"note": note}, "reason": "not yet"})
            }
            "x/try[2]" => {
                json!({"status": "success", "payload": {"note": note}, "children": [{"persona": "b", "task": "t"}]})
            }
            _ => json!({"status": "success", "payload": {"note": note}}),
        }))
    })
}

/// A goal whose plan a person approves, with two tasks that ask.
fn goal() -> Asked {
    let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted}}
agents: [{name: g, type: goal, goal: 'write the report', approve: true}]
output: {answer: '{{ g.output | json }}'}
";
    Asked::with(text, &[], json!({}), || {
        let mut asks = asks_first(
            |_, note| json!({"result": note, "summary": "there", "goal_achieved": true, "reason": "seen"}),
        );
        Box::new(move |assignment| {
            let task = assignment.task.to_string();
            let item = |id: &str| json!({"id": id, "description": format!("do {id}"), "inputs": [], "skip_probability": 0});
            let planned = json!({"tasks": [item("a"), item("b")]});
            let ended = json!({"message": "all is there", "next_steps": "", "issues": "", "reason": "seen"});
            match &task {
                task if task.contains("/plan") => Behaviour::gives(Duration::from_millis(1), planned),
                task if task.contains("/execute") => asks(assignment),
                _ => Behaviour::gives(Duration::from_millis(1), ended),
            }
        })
    })
}

/// Answers whatever is open in the order of a seed; a plan is approved as it is.
fn drive_front_end(run: &mut Asked, seed: &mut u64) -> Ended {
    loop {
        let ended = run.finish();
        if ended.status != RunStatus::Parked {
            return ended;
        }
        let open = run.open();
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let gate = &open[(*seed >> 33) as usize % open.len()];
        match gate.as_str() {
            "g~1" => run.world.answer(&TaskId("g".into()), Answer::Plan { plan: APPROVED.into() }),
            gate => run.answer(gate),
        }
    }
}

const APPROVED: &str = "- {id: a, description: do a}\n- {id: b, description: do b}\n";

/// Each question has an id of its own, each answer reaches the attempt that asked, and a crash after any commit changes neither.
fn each_has_its_id(make: fn() -> Asked, ids: &[&str]) {
    for seed in 1..=3 {
        let mut whole = make();
        let ended = drive_front_end(&mut whole, &mut { seed });
        assert_eq!(ended.status, RunStatus::Succeeded, "seed {seed}: {ended:?}");
        let (record, commits) = (whole.record(), whole.world.commits.len());
        assert_eq!(record.keys().map(String::as_str).collect::<Vec<_>>(), ids, "seed {seed}");
        assert!(record.values().all(|counts| *counts == (1, 1)), "seed {seed}: {record:?}");
        let notes = |run: &Asked| {
            let outputs = run.events().into_iter().filter_map(|stamped| match stamped.event {
                Event::AttemptFinished { task, output: Payload::Inline(text), .. } => {
                    Some((task.to_string(), text.as_str().to_owned()))
                }
                _ => None,
            });
            outputs.filter(|(task, _)| record.contains_key(&format!("{task}~1"))).collect::<BTreeMap<_, _>>()
        };
        let told = notes(&whole);
        for (task, output) in &told {
            assert!(output.contains(&format!("{task}~1")), "seed {seed}: {task} was told {output}");
        }
        for crash in 1..commits {
            let mut run = make();
            drive_front_end(&mut run, &mut { seed });
            run.crash_after(crash);
            let ended = drive_front_end(&mut run, &mut { seed + crash as u64 });
            assert_eq!(ended.status, RunStatus::Succeeded, "seed {seed}, crash after commit {crash}");
            assert_eq!(run.record(), record, "seed {seed}, crash after commit {crash}");
            assert_eq!(notes(&run), told, "seed {seed}, crash after commit {crash}");
        }
    }
}

#[test]
fn questions_in_tries_and_handed_out_work_of_a_pipeline_have_ids_of_their_own() {
    each_has_its_id(
        pipeline,
        &["x/aggregate[2]~1", "x/child[2.1]~1", "x/try[1]~1", "x/try[2]~1", "y/try[1]~1", "z/try[1]~1"],
    );
}

#[test]
fn questions_of_a_goal_and_of_its_tasks_have_ids_of_their_own() {
    each_has_its_id(goal, &["g/1/execute[1]~1", "g/2/execute[1]~1", "g~1"]);
}
