//! What users of other engines reported about several questions at once, one test for each distinct bug. The process dies after
//! every answer here: none of the bugs may come back by a resume.

use super::kit::{Asked, OPTIONS};
use convoke_model::{Event, JsonText, Payload, RunStatus};
use serde_json::json;

fn two_gates() -> Asked {
    let text = format!(
        "
workflow: {{name: w, entry_point: both}}
parallel: [{{name: both, agents: [left, right], routes: [{{to: after}}]}}]
agents:
  - {{name: left, type: human_gate, prompt: 'left?', {OPTIONS}}}
  - {{name: right, type: human_gate, prompt: 'right?', {OPTIONS}}}
  - {{name: after, prompt: 'after'}}
output:
  left: '{{{{ both.outputs.left.additional_input.note }}}}'
  right: '{{{{ both.outputs.right.additional_input.note }}}}'
"
    );
    Asked::new(&text, &[], json!({}))
}

/// mastra#6418: of two suspended branches one is resumed, and the block counts as complete.
#[test]
fn a_group_is_not_complete_before_each_of_its_gates_is_answered() {
    let mut run = two_gates();
    assert_eq!(run.park(), ["both/left~1", "both/right~1"]);
    run.answer("both/left~1");
    run.crash();
    assert_eq!(run.park(), ["both/right~1"], "the other one waits");
    assert!(!run.launched().iter().any(|launch| launch.starts_with("after")));
    run.answer("both/right~1");
    run.crash();
    let ended = run.finish();
    assert_eq!(ended.output, Some(json!({"left": "both/left~1", "right": "both/right~1"})), "{ended:?}");
}

/// mastra#9288: branches that had succeeded are suspended again when a later one is resumed while others run.
#[test]
fn an_answered_branch_stays_answered_while_others_suspend_later() {
    let text = format!(
        "
workflow: {{name: w, entry_point: all}}
parallel: [{{name: all, agents: [slow1, slow2, slow3, g1, g2, g3], routes: [{{to: after}}]}}]
agents:
  - {{name: slow1, prompt: '1'}}
  - {{name: slow2, prompt: '2222222222'}}
  - {{name: slow3, prompt: '33333333333333333333333333333333'}}
  - {{name: g1, needs: [slow1], type: human_gate, prompt: '1?', {OPTIONS}}}
  - {{name: g2, needs: [slow2], type: human_gate, prompt: '2?', {OPTIONS}}}
  - {{name: g3, needs: [slow3], type: human_gate, prompt: '3?', {OPTIONS}}}
  - {{name: after, prompt: 'after'}}
output: {{said: '{{{{ after.output.said }}}}'}}
"
    );
    let mut run = Asked::new(&text, &[], json!({}));
    for gate in ["all/g1~1", "all/g2~1", "all/g3~1"] {
        // Others still run when the question is there.
        while !run.open().contains(&gate.to_owned()) {
            let next = run.world.commits.len() + 1;
            run.world.run(next);
        }
        run.answer(gate);
        run.crash();
    }
    let ended = run.finish();
    assert_eq!(
        (ended.status, ended.output.clone()),
        (RunStatus::Succeeded, Some(json!({"said": "after"}))),
        "{ended:?}"
    );
    assert!(run.record().values().all(|counts| *counts == (1, 1)), "{:?}", run.record());
}

/// mastra#10746: a branch that asks in a loop is lost when another branch ends during its second round.
#[test]
fn a_loop_of_questions_outlives_the_end_of_another_branch() {
    let looping = "
workflow: {name: looping, entry_point: ask, limits: {max_iterations: 20}}
agents:
  - {name: ask, type: human_gate, prompt: 'more?', options: [{label: Yes, value: y, route: think, prompt_for: note}]}
  - {name: think, prompt: 'xxxxxxxxxxxxxxxxxxxx', routes: [{to: $end, when: '{{ context.iteration >= 6 }}'}, {to: ask}]}
output: {last: '{{ ask.output.additional_input.note }}'}
";
    let text = "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [heavy, talk]}]
agents:
  - {name: heavy, prompt: 'hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh'}
  - {name: talk, type: workflow, workflow: looping.yaml}
output: {last: '{{ both.outputs.talk.last }}'}
";
    let mut run = Asked::new(text, &[("looping.yaml", looping)], json!({}));
    for gate in ["both/talk/ask~1", "both/talk/ask#2~1", "both/talk/ask#3~1"] {
        while !run.open().contains(&gate.to_owned()) {
            let next = run.world.commits.len() + 1;
            assert!(run.world.run(next).is_none(), "{gate} is never asked: {:?}", run.open());
        }
        run.answer(gate);
        run.crash();
    }
    let ended = run.finish();
    assert_eq!(ended.output, Some(json!({"last": "both/talk/ask#3~1"})), "{ended:?}");
}

fn each_asks(items: u32, extra: &str) -> Asked {
    let text = format!(
        "
workflow: {{name: w, entry_point: each, input: {{items: {{type: array}}}}}}
for_each:
  - {{name: each, type: for_each, source: workflow.input.items, as: it, max_concurrent: 2{extra}, agent: {{name: g, type: human_gate, prompt: 'item {{{{ it }}}}?', {OPTIONS}}}}}
agents: []
output: {{all: '{{{{ each.outputs | map(attribute=\"additional_input\") | map(attribute=\"note\") | join(\" \") }}}}'}}
"
    );
    Asked::new(&text, &[], json!({ "items": (0..items).collect::<Vec<_>>() }))
}

/// mastra#8902, mastra#18961: of several suspended items, an answer to one reaches all of them.
#[test]
fn an_answer_to_one_item_reaches_that_item_alone() {
    let mut run = each_asks(3, "");
    assert_eq!(run.park().len(), 3);
    run.answer("each[1]~1");
    run.crash();
    assert_eq!(run.park(), ["each[0]~1", "each[2]~1"]);
    run.answer("each[2]~1");
    run.crash();
    run.answer("each[0]~1");
    assert_eq!(run.finish().output, Some(json!({"all": "each[0]~1 each[1]~1 each[2]~1"})));
}

/// mastra#15552: what the other items are asked is gone after one of them was answered.
#[test]
fn the_questions_of_the_others_are_unchanged_by_an_answer() {
    let mut run = each_asks(4, "");
    run.park();
    let shown = |run: &Asked| -> Vec<(String, Payload)> {
        let opened = run.events().into_iter().filter_map(|stamped| match stamped.event {
            Event::GateOpened { task, ask, .. } => Some((task.to_string(), ask)),
            _ => None,
        });
        opened.collect()
    };
    let before = shown(&run);
    run.answer("each[0]~1");
    run.crash();
    run.park();
    assert_eq!(shown(&run), before, "nothing is asked again, and nothing is asked otherwise");
    for (task, ask) in before.iter().skip(1) {
        let text: JsonText = match ask {
            Payload::Inline(text) => text.clone(),
            Payload::Blob { digest, .. } => run.world.kept(digest).expect("a question is kept"),
            Payload::Gathered => panic!("a question is a text"),
        };
        let number = &task["each[".len()..task.len() - 1];
        assert!(text.as_str().contains(&format!("item {number}?")), "{task}: {}", text.as_str());
    }
}

/// mastra#24581: after a resume of several suspended items only one runs at a time, and the queued ones are dropped.
#[test]
fn items_that_are_answered_together_all_go_on_with_the_concurrency_of_the_file() {
    let child = "
workflow: {name: child, entry_point: ask, input: {it: {type: string}}}
agents:
  - {name: ask, type: human_gate, prompt: '{{ workflow.input.it }}?', options: [{label: Y, value: y, route: work, prompt_for: note}]}
  - {name: work, prompt: 'work {{ ask.output.additional_input.note }}'}
output: {said: '{{ work.output.said }}'}
";
    let text = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, max_concurrent: 3, agent: {name: c, type: workflow, workflow: child.yaml, input_mapping: {it: '{{ it }}'}}}
agents: []
output: {count: '{{ each.count }}'}
";
    let mut run =
        Asked::new(text, &[("child.yaml", child)], json!({"items": ["a", "b", "c", "d", "e", "f"]}));
    let (mut answered, mut peak) = (0, 0);
    let ended = loop {
        let ended = run.finish();
        peak = peak.max(run.world.peak);
        if ended.status != RunStatus::Parked {
            break ended;
        }
        let open = run.open();
        assert_eq!(open.len(), 3, "as many items ask at once as the file says: {open:?}");
        run.crash();
        for gate in open {
            run.answer(&gate);
            answered += 1;
        }
    };
    assert_eq!((answered, ended.output.clone()), (6, Some(json!({"count": 6}))), "{ended:?}");
    assert_eq!(peak, 3, "those that were answered together work together");
    assert_eq!(run.launched().len(), 6);
}

/// langgraph#4028: two questions are open, and one resume takes one answer only.
#[test]
fn several_answers_are_taken_by_one_resume() {
    let mut run = two_gates();
    run.park();
    run.answer("both/right~1");
    run.answer("both/left~1");
    run.crash();
    let ended = run.finish();
    assert_eq!(ended.output, Some(json!({"left": "both/left~1", "right": "both/right~1"})), "{ended:?}");
}

const INNER: &str = "
workflow: {name: inner, entry_point: before}
agents:
  - {name: before, prompt: 'before', routes: [{to: one}]}
  - {name: one, type: human_gate, prompt: 'one?', options: [{label: Y, value: y, route: between, prompt_for: note}]}
  - {name: between, prompt: 'between', routes: [{to: two}]}
  - {name: two, type: human_gate, prompt: 'two?', options: [{label: Y, value: y, route: end, prompt_for: note}]}
  - {name: end, prompt: 'end'}
output:
  one: '{{ one.output.additional_input.note }}'
  two: '{{ two.output.additional_input.note }}'
";

/// langgraph#4796: a sub-workflow begins from its start when its question is answered.
#[test]
fn a_sub_workflow_goes_on_behind_its_gate() {
    let text = "
workflow: {name: w, entry_point: sub}
agents: [{name: sub, type: workflow, workflow: inner.yaml}]
output: {one: '{{ sub.output.one }}'}
";
    let mut run = Asked::new(text, &[("inner.yaml", INNER)], json!({}));
    for gate in ["sub/one~1", "sub/two~1"] {
        assert_eq!(run.park(), [gate]);
        run.answer(gate);
        run.crash();
    }
    assert_eq!(run.finish().output, Some(json!({"one": "sub/one~1"})));
    // What was running when the process died is tried again; nothing before a gate is.
    let before: Vec<_> = run.launched().iter().filter(|launch| launch.starts_with("sub/before")).collect();
    assert_eq!(before, ["sub/before 1"]);
}

/// langgraph#2870: the value that answered the first question of a sub-workflow answers the second one too.
#[test]
fn an_answer_is_not_used_for_the_next_question() {
    let text = "
workflow: {name: w, entry_point: sub}
agents: [{name: sub, type: workflow, workflow: inner.yaml}]
output: {one: '{{ sub.output.one }}', two: '{{ sub.output.two }}'}
";
    let mut run = Asked::new(text, &[("inner.yaml", INNER)], json!({}));
    run.park();
    run.answer("sub/one~1");
    run.crash();
    assert_eq!(run.park(), ["sub/two~1"], "the second question is asked");
    run.answer("sub/two~1");
    assert_eq!(run.finish().output, Some(json!({"one": "sub/one~1", "two": "sub/two~1"})));
}

/// langgraphjs#1552: parallel branches with questions work, until they stand in a sub-workflow: then it begins anew, and what
/// comes next is never reached.
#[test]
fn parallel_questions_in_a_sub_workflow_lead_to_the_next_step() {
    let inner = format!(
        "
workflow: {{name: inner, entry_point: first}}
agents:
  - {{name: first, prompt: 'first', routes: [{{to: both}}]}}
  - {{name: a, type: human_gate, prompt: 'a?', {OPTIONS}}}
  - {{name: b, type: human_gate, prompt: 'b?', {OPTIONS}}}
  - {{name: next, prompt: 'next'}}
parallel: [{{name: both, agents: [a, b], routes: [{{to: next}}]}}]
output: {{said: '{{{{ next.output.said }}}}'}}
"
    );
    let text = "
workflow: {name: w, entry_point: sub}
agents: [{name: sub, type: workflow, workflow: inner.yaml, routes: [{to: last}]}, {name: last, prompt: 'last'}]
output: {said: '{{ last.output.said }}'}
";
    let mut run = Asked::new(text, &[("inner.yaml", &inner)], json!({}));
    for (gate, left) in [("sub/both/b~1", 2), ("sub/both/a~1", 1)] {
        assert_eq!(run.park().len(), left);
        run.answer(gate);
        run.crash();
    }
    assert_eq!(run.finish().output, Some(json!({"said": "last"})));
    let first: Vec<_> = run.launched().iter().filter(|launch| launch.starts_with("sub/first")).collect();
    assert_eq!(first, ["sub/first 1"]);
}

/// langgraph#6444 and the reports beside it: several questions of one task have one id, and their answers are exchanged. Also
/// openai-agents-python#636 and #2011: an agent cannot wait for a person's word on what it is about to do.
#[test]
fn each_question_of_one_task_has_an_id_of_its_own() {
    let text = "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [x, y]}]
agents: [{name: x, prompt: x}, {name: y, prompt: y}]
output: {x: '{{ both.outputs.x.heard }}', y: '{{ both.outputs.y.heard }}'}
";
    let mut run = Asked::with(text, &[], json!({}), asking_twice);
    assert_eq!(run.park(), ["both/x~1", "both/y~1"]);
    run.answer("both/y~1");
    run.crash();
    assert_eq!(run.park(), ["both/x~1", "both/y~2"]);
    run.answer("both/x~1");
    run.crash();
    assert_eq!(run.park(), ["both/x~2", "both/y~2"]);
    run.answer("both/x~2");
    run.answer("both/y~2");
    run.crash();
    let ended = run.finish();
    let heard = |task: &str| format!("both/{task}~1 both/{task}~2");
    assert_eq!(ended.output, Some(json!({"x": heard("x"), "y": heard("y")})), "{ended:?}");
    assert!(run.record().values().all(|counts| *counts == (1, 1)), "{:?}", run.record());
}

/// Agents that ask a person before each of two things, keep what they heard, and say it at their end.
fn asking_twice() -> Box<dyn FnMut(&convoke_model::Assignment) -> convoke_testkit::Behaviour> {
    use convoke_model::{Answer, Ask, AskOption, AttemptEnd, Usage, WaitsFor};
    use std::time::Duration;
    Box::new(|assignment| {
        let heard: Vec<String> =
            assignment.continues.iter().map(|turn| turn.value()["heard"].to_string()).collect();
        let mut heard: Vec<String> = heard
            .iter()
            .filter_map(|text| serde_json::from_str::<Option<String>>(text).ok().flatten())
            .collect();
        if let Some(Answer::Choice { input, .. }) = &assignment.answer {
            heard.push(input["note"].clone());
        }
        if heard.len() == 2 {
            return convoke_testkit::Behaviour::gives(
                Duration::from_millis(1),
                json!({ "heard": heard.join(" ") }),
            );
        }
        let option = AskOption {
            label: "Y".into(),
            value: "y".into(),
            prompt_for: Some("note".into()),
            multiline: false,
        };
        // The same words twice: only their number tells the questions apart.
        let ask = Ask::Choice { prompt: "may I?".into(), options: vec![option], default: None };
        let end = AttemptEnd::Suspended {
            state: JsonText::of(&json!({ "heard": heard.last() })),
            waits_for: WaitsFor::Gate(JsonText::of(&ask)),
            usage: Usage::default(),
        };
        convoke_testkit::Behaviour { takes: Duration::from_millis(1), end }
    })
}
