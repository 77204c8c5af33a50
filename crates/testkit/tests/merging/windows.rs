//! No prompt is longer than the window of the model that is asked, whatever came before it.

use crate::merging::kit::*;
use convoke_model::{RunStatus, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;

const WINDOW: usize = 8_000;

/// Runs a plan whose every model call must fit, tokens counted as four bytes each.
fn fitting(plan: &Arc<Plan>, says: Says) -> (Ended, Vec<String>) {
    fitting_with(plan, json!({"query": "q", "context": ""}), says)
}

/// The same with these inputs; what is heard are system prompt and prompt together.
fn fitting_with(plan: &Arc<Plan>, inputs: Value, says: Says) -> (Ended, Vec<String>) {
    let prompts = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let heard = prompts.clone();
    let script = move |assignment: &convoke_model::Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let tokens = (call.prompt.len() + call.system.as_deref().map_or(0, str::len)) / 4;
        assert!(tokens <= WINDOW * 3 / 4, "{}: {tokens} tokens leave no room for an answer", assignment.task);
        heard.borrow_mut().push(format!("{}{}", call.system.as_deref().unwrap_or_default(), call.prompt));
        let value = says(&assignment.task.to_string(), &call.prompt).expect("an answer");
        Behaviour::gives(TICK, value)
    };
    let mut world = World::new(plan.clone(), inputs, 60, 1, Box::new(script));
    let ended = world.finish();
    drop(world);
    let prompts = prompts.take();
    (ended, prompts)
}

fn long(task: &str, _: &str) -> Option<Value> {
    Some(json!({ "result": format!("from {task}: {}", "lorem ipsum dolor ".repeat(1_200)) }))
}

#[test]
fn every_merge_fits_also_where_answers_are_as_long_as_sources() {
    for strategy in ["hierarchical", "progressive", "hierarchical, query: '{{ a.count }} of them'"] {
        let (ended, prompts) =
            fitting(&many(9, &format!("strategy: {strategy}, context_window: {WINDOW}")), long);
        assert_eq!(ended.status, RunStatus::Succeeded, "{strategy}: {ended:?}");
        assert!(prompts.len() > 12, "{strategy}: {} questions", prompts.len());
    }
}

#[test]
fn a_choice_and_an_examination_fit() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            _ if task.starts_with("s/choose") => {
                let first = prompt.split("### [").nth(1).and_then(|rest| rest.split(']').next());
                Some(json!({ "winner": first, "reason": "r" }))
            }
            _ if task.starts_with("v/assess") => Some(json!({ "findings": [] })),
            _ => long(task, prompt),
        }
    }
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted, context_window: {WINDOW}}}}}
for_each:
  - {{name: a, type: for_each, items: [1, 2, 3, 4, 5], as: n, agent: {{name: one, prompt: 'say {{{{ n }}}}'}}}}
agents:
  - {{name: s, type: reduce, needs: [a], strategy: judge}}
  - {{name: v, type: verify, needs: [s]}}
output: {{answer: '{{{{ v.output.verdict }}}}'}}
"
    );
    let (ended, _) = fitting(&plan_of(&text, &[]), says);
    assert_eq!(answer(&ended), json!("clean"), "{ended:?}");
}

#[test]
fn outputs_in_a_prompt_are_shown_by_their_heads_and_can_be_read_on() {
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted, context_window: {WINDOW}}}}}
agents:
  - {{name: a, prompt: p}}
  - {{name: b, prompt: p}}
  - {{name: c, needs: [a, b], prompt: 'First {{{{ a.output.result }}}} then {{{{ b.output.result }}}} the end'}}
output: {{answer: '{{{{ c.output.result | length }}}}'}}
"
    );
    let (ended, prompts) = fitting(&plan_of(&text, &[]), long);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let last = prompts.last().unwrap();
    for part in ["First from a", "`r1` reads it] then from b", "`r2` reads it] the end"] {
        assert!(last.contains(part), "no `{part}` in {last}");
    }
    assert!(last.len() > WINDOW * 2, "as much as fits is shown: {}", last.len());
}

#[test]
fn dependency_blocks_fit() {
    let text = format!(
        "
provider: scripted
query: q
synthesis: flat
agents:
  - {{id: a, task: t, partitions: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}
  - {{id: b, task: t, depends_on: [a], context_window: {WINDOW}}}
"
    );
    let (ended, prompts) = fitting(&plan_of(&text, &[]), long);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(prompts.iter().any(|prompt| prompt.matches("reads it]").count() == 12));
}

/// A workflow of one fan-out over an input, in which every text is data and too long.
fn of_inputs(prompt: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow:
  name: w
  entry_point: each
  runtime: {{provider: scripted, context_window: {WINDOW}}}
  input: {{text: {{type: string}}, list: {{type: array}}}}
for_each:
  - name: each
    type: for_each
    source: workflow.input.list
    as: one
    agent: {{name: a, system_prompt: 'Know {{{{ workflow.input.text }}}}', prompt: \"{prompt}\"}}
agents: []
output: {{answer: '{{{{ each.count }}}}'}}
"
    );
    plan_of(&text, &[])
}

#[test]
fn inputs_and_items_are_cut_like_outputs() {
    let long_text = "lorem ipsum dolor ".repeat(4_000);
    let inputs = json!({"text": long_text, "list": [{"name": "n", "body": long_text}]});
    let plan = of_inputs("See {{ one.body }} of {{ one.name }} and {{ workflow.input.text }} at the end");
    let (ended, prompts) = fitting_with(&plan, inputs, |_, _| Some(json!({"result": "r"})));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    for part in [
        "Know lorem",
        "`r1` reads it]See lorem",
        "`r2` reads it] of n and lorem",
        "`r3` reads it] at the end",
    ] {
        assert!(prompts[0].contains(part), "no `{part}` in {}", prompts[0]);
    }
    assert!(prompts[0].len() > WINDOW * 2, "as much as fits is shown: {}", prompts[0].len());
}

#[test]
fn lists_of_many_short_texts_are_cut_and_say_so() {
    let many: Vec<String> = (0..20_000).map(|number| format!("entry {number}")).collect();
    let inputs = json!({"text": "t", "list": [{"parts": many}]});
    let plan = of_inputs("{% for part in one.parts %}- {{ part }}\\n{% endfor %}");
    let (ended, prompts) = fitting_with(&plan, inputs, |_, _| Some(json!({"result": "r"})));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let entries = prompts[0].matches("- entry").count();
    assert!(entries > 500, "{entries}");
    let note = format!(
        "[… {} entries of `one` are left out; `read_result` with the name `r1` reads it]",
        20_000 - entries
    );
    assert!(prompts[0].ends_with(&note), "{}", &prompts[0][prompts[0].len() - 200..]);
}

#[test]
fn the_question_of_a_merge_is_cut_too() {
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted, context_window: {WINDOW}}}, input: {{query: {{type: string}}}}}}
for_each:
  - {{name: a, type: for_each, items: [1, 2, 3], as: n, agent: {{name: one, prompt: 'say {{{{ n }}}}'}}}}
agents:
  - {{name: s, type: reduce, needs: [a], strategy: hierarchical, query: 'About {{{{ workflow.input.query }}}}'}}
  - {{name: v, type: verify, needs: [s], query: 'About {{{{ workflow.input.query }}}}'}}
output: {{answer: '{{{{ v.output.verdict }}}}'}}
"
    );
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("v/assess") { Some(json!({ "findings": [] })) } else { long(task, prompt) }
    }
    let inputs = json!({"query": "why oh why ".repeat(9_000)});
    let (ended, prompts) = fitting_with(&plan_of(&text, &[]), inputs, says);
    assert_eq!(answer(&ended), json!("clean"), "{ended:?}");
    assert!(prompts.iter().filter(|prompt| prompt.contains("About why oh")).count() >= 2);
}

#[test]
fn a_model_whose_name_is_rendered_brings_its_window() {
    let text = "
workflow: {name: w, runtime: {provider: openai}, input: {model: {type: string}, text: {type: string}}, entry_point: a}
agents:
  - {name: a, model: '{{ workflow.input.model }}', prompt: 'See {{ workflow.input.text }}', routes: [{to: $end}]}
output: {answer: '{{ a.output.result }}'}
";
    let inputs = json!({"model": "gpt-4", "text": "lorem ipsum dolor ".repeat(9_000)});
    let (ended, prompts) = fitting_with(&plan_of(text, &[]), inputs, |_, _| Some(json!({"result": "r"})));
    assert_eq!(answer(&ended), json!("r"), "{ended:?}");
    assert!(prompts[0].contains("`r1` reads it]") && prompts[0].len() > WINDOW * 2, "{}", prompts[0].len());
}
