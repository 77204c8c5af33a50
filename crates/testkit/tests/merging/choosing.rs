//! Choices and votes.

use crate::merging::kit::{answer, given, many, resumes_everywhere, run, words};
use convoke_model::RunStatus;
use convoke_testkit::plan_of;
use serde_json::{Value, json};

#[test]
fn a_tournament_and_a_judge_give_the_winner_as_it_stands() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if !task.starts_with("s/") {
            return words(task, prompt);
        }
        // The best is the one with the greatest number.
        let marks = prompt
            .lines()
            .filter_map(|line| line.strip_prefix("### [S")?.split(']').next()?.parse::<u32>().ok());
        Some(json!({ "winner": format!("S{}", marks.max()?), "reason": "later" }))
    }
    for (strategy, questions) in [("judge", 1), ("tournament", 7)] {
        let plan = many(8, &format!("strategy: {strategy}"));
        let (ended, world) = run(&plan, json!({}), 60, says);
        let answer = answer(&ended);
        assert_eq!((&answer["result"], &answer["winner"]), (&json!("words about say 7"), &json!("a [7]")));
        assert_eq!(world.launches.len(), 8 + questions, "{strategy}");
        resumes_everywhere(&plan, json!({}), 60, says, &ended);
    }
}

#[test]
fn five_members_vote_with_one_abstention_and_one_failure() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task {
            "board/m1" | "board/m2" => Some(json!({ "vote": "ship", "reason": "ready" })),
            "board/m3" => Some(json!({ "vote": "wait", "reason": "tests" })),
            "board/m4" => Some(json!({ "vote": null, "reason": "no opinion" })),
            _ => None,
        }
    }
    let text = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: board}
parallel:
  - {name: board, agents: [m1, m2, m3, m4, m5], failure_mode: continue_on_error}
agents:
  - {name: m1, prompt: vote}
  - {name: m2, prompt: vote}
  - {name: m3, prompt: vote}
  - {name: m4, prompt: vote}
  - {name: m5, prompt: vote}
  - {name: s, type: reduce, needs: [{step: board, requires: any}], strategy: vote, vote: {options: [ship, wait]}}
output: {answer: '{{ s.output | json }}'}
";
    let plan = plan_of(text, &[]);
    let (ended, _) = run(&plan, json!({}), 60, says);
    let vote = &answer(&ended)["vote"];
    assert_eq!(vote["winner"], json!("ship"));
    assert_eq!((&vote["tally"], &vote["cast"]), (&json!({ "ship": 2, "wait": 1 }), &json!(3)));
    assert_eq!((&vote["dissent"], &vote["abstained"]), (&json!(["m3"]), &json!(["m4"])));
    assert!(vote["failed"]["m5"].is_string(), "{vote}");
    resumes_everywhere(&plan, json!({}), 60, says, &ended);
}

#[test]
fn an_answer_of_one_output_has_the_declared_shape() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task {
            "a" => Some(json!({ "result": "plain words" })),
            "b" => None,
            _ => Some(json!({ "title": "made" })),
        }
    }
    for strategy in ["hierarchical", "progressive", "rlm"] {
        let plan = plan_of(
            &format!(
                "provider: scripted\nagents: [{{id: a, task: t}}, {{id: b, task: t}}]\nsynthesis: {{strategy: {strategy}, output_schema: title}}\n"
            ),
            &[],
        );
        let (ended, _) = run(&plan, given(), 60, says);
        assert_eq!(
            ended.output.as_ref().map(|output| output["answer"].clone()),
            Some(json!({ "title": "made" })),
            "{strategy} {ended:?}"
        );
    }
}

#[test]
fn a_vote_without_a_voter_has_failed() {
    let plan = plan_of(
        "provider: scripted\nquery: q\ncoordination_protocol: voting\nagents: [{id: a}, {id: b}]\n",
        &[],
    );
    let (ended, _) = run(&plan, given(), 60, |_, _| None);
    assert_eq!(ended.status, RunStatus::Failed);
}

#[test]
fn a_result_says_who_was_chosen_and_how_the_answer_was_made() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task.contains('/') {
            true => Some(json!({ "winner": "S2", "reason": "it is clearer" })),
            false => Some(json!({ "result": task })),
        }
    }
    let plan = plan_of("provider: scripted\nquery: q\nagents: [{id: a}, {id: b}]\nsynthesis: judge\n", &[]);
    let (ended, _) = run(&plan, given(), 60, says);
    let output = ended.output.unwrap();
    assert_eq!((output["winner"].clone(), output["reason"].clone()), (json!("b"), json!("it is clearer")));
    assert_eq!(
        (output["synthesis"]["calls"].clone(), output["synthesis"]["rounds"].clone()),
        (json!(1), json!(1))
    );
    assert_eq!(output["synthesis"]["notes"], json!([]));
}
