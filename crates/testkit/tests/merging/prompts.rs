//! What models are asked: our words by default, the words of a step where it has some.

use crate::merging::kit::{CHECKED, EXPECTING, many, words, world};
use convoke_model::{Assignment, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The prompts of all tasks whose names begin so, in the order of their starts.
fn prompts(plan: &Arc<Plan>, says: fn(&str, &str) -> Option<Value>, beginning: &'static str) -> Vec<String> {
    let found = Rc::new(RefCell::new(Vec::new()));
    let (kept, mut answers) = (found.clone(), world(says));
    let script = move |assignment: &Assignment| -> Behaviour {
        if let Work::Agent(call) = &assignment.work
            && assignment.task.to_string().starts_with(beginning)
        {
            kept.borrow_mut().push(call.prompt.clone());
        }
        answers(assignment)
    };
    World::new(plan.clone(), json!({}), 60, 1, Box::new(script)).finish();
    found.take()
}

fn one_fails(task: &str, prompt: &str) -> Option<Value> {
    if task == "a[1]" { None } else { words(task, prompt) }
}

#[test]
fn a_merge_asks_by_our_words() {
    let plan = many(3, "strategy: hierarchical, query: what?, instructions: Be brief.");
    let expected = "Be brief.\n\n## QUESTION\n\nwhat?\n\n## OUTPUTS\n\n### [S1] a [0]\n\nwords about say 0\n\n\
        ### [S2] a [2]\n\nwords about say 2\n\n## MISSING\n\nThese outputs are not there; say so where it matters:\n\
        - a[1]: failed: simulated fatal\n\n## TASK\n\nMerge the outputs above into one text that answers the question. Behind \
        each statement name the outputs it came from by their marks, such as [S1] or [S2, S5]; marks that stand in a text \
        already are kept. Say where outputs contradict one another. Answer with the text alone.";
    assert_eq!(prompts(&plan, one_fails, "s/merge"), [expected]);
}

#[test]
fn a_choice_asks_by_our_words() {
    let expected = "## ANSWERS\n\n### [S1] a [0]\n\nwords about say 0\n\n### [S2] a [1]\n\nwords about say 1\n\n\
        ## TASK\n\nChoose the best of these answers. Name its mark and say why.";
    assert_eq!(prompts(&many(2, "strategy: judge"), words, "s/choose"), [expected]);
}

fn mistaken(task: &str, prompt: &str) -> Option<Value> {
    let finding = json!({
        "kind": "error", "severity": "high", "claim": "200 m", "explanation": "no output says so",
        "correction": "300 m",
    });
    match task.split('[').next().unwrap() {
        "writer" => Some(json!({ "result": "It is 200 m tall." })),
        "checked/assess" if prompt.contains("200 m") => Some(json!({ "findings": [finding] })),
        "checked/assess" => Some(json!({ "findings": [] })),
        _ => Some(json!({ "result": "It is 300 m tall." })),
    }
}

#[test]
fn an_examination_asks_by_our_words() {
    let plan = plan_of(CHECKED, &[]);
    let assessed = prompts(&plan, mistaken, "checked/assess");
    let task = "## TASK\n\nList everything that is wrong with the answer: where it contradicts itself or the outputs, what no \
        output supports, what the question or its constraints ask for and the answer does not give. Quote the words that are \
        wrong. An empty list means that nothing is.";
    assert!(assessed[0].ends_with(&format!("## ANSWER\n\nIt is 200 m tall.\n\n{task}")), "{}", assessed[0]);
    let corrected = prompts(&plan, mistaken, "checked/correct");
    let rest = "## ANSWER\n\nIt is 200 m tall.\n\n## FINDINGS\n\n1. error (high): 200 m\n   Why: no output says so\n   \
        Instead: 300 m\n\n## TASK\n\nCorrect the answer by these findings and leave the rest as it is. Answer with the whole \
        corrected answer alone.";
    assert!(corrected[0].ends_with(rest), "{}", corrected[0]);
}

#[test]
fn a_step_asks_by_its_own_words() {
    let plan = many(
        3,
        "strategy: hierarchical, query: what?, prompt: '{{ query }} of {{ outputs | length }}, without {{ missing[0].task }}: \
         {% for output in outputs %}{{ output.heading }} = {{ output.text }}; {% endfor %}'",
    );
    let expected =
        "what? of 2, without a[1]: [S1] a [0] = words about say 0; [S2] a [2] = words about say 2; ";
    assert_eq!(prompts(&plan, one_fails, "s/merge"), [expected]);
    let text = CHECKED.replace(
        "rounds: 2",
        "rounds: 2, assessor: {prompt: 'wrong in {{ answer }}?'}, \
         repairer: {prompt: '{{ findings[0].claim }} in {{ answer }}'}",
    );
    let plan = plan_of(&text, &[]);
    assert_eq!(prompts(&plan, mistaken, "checked/assess")[0], "wrong in It is 200 m tall.?");
    assert_eq!(prompts(&plan, mistaken, "checked/correct"), ["200 m in It is 200 m tall."]);
}

#[test]
fn a_repair_of_an_input_asks_by_the_words_of_the_step() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task.contains("repair_input") {
            true => Some(json!({ "price": 3 })),
            false => Some(json!({ "price": "three" })),
        }
    }
    let ours = prompts(&plan_of(EXPECTING, &[]), says, "");
    let ours = ours.iter().find(|prompt| prompt.contains("## WHAT DOES NOT FIT")).expect("a repair");
    assert!(
        ours.starts_with(
            "A step relies on data of a certain shape and got other data. Put the data into the shape; change no value that \
             is there, invent none.\n\n## DATA\n\n{\n"
        ),
        "{ours}"
    );
    let own =
        EXPECTING.replace("repair_input: true", "repair_input: {prompt: 'fit {{ data }}: {{ problem }}'}");
    let asked = prompts(&plan_of(&own, &[]), says, "");
    assert!(asked.iter().any(|prompt| prompt.starts_with("fit {")), "{asked:?}");
}
