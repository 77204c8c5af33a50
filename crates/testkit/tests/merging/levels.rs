//! Merging by levels: rounds, groups that failed, outputs that are missing or large.

use crate::merging::kit::{TICK, answer, many, resumes_everywhere, run, words};
use convoke_model::RunStatus;
use serde_json::{Value, json};

#[test]
fn three_hundred_outputs_are_merged_in_three_rounds_with_groups_side_by_side() {
    let plan = many(300, "strategy: hierarchical, query: what?");
    let (ended, world) = run(&plan, json!({}), 60, words);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    // Five ticks of agents at sixty at once, then 30, 3 and 1 question.
    assert_eq!(ended.took, TICK * 8);
    assert_eq!(world.peak, 60);
    let answer = answer(&ended);
    assert_eq!((&answer["rounds"], &answer["calls"]), (&json!(3), &json!(34)));
    assert_eq!(answer["sources"].as_array().unwrap().len(), 300);
    assert_eq!(answer["sources"][0]["cited"], json!(true));
    assert_eq!(answer["sources"][1]["cited"], json!(false));
    assert_eq!(answer["sources"][7]["task"], json!("a[7]"));
    assert!(answer["sources"][7]["digest"].is_string());
}

#[test]
fn a_merge_goes_on_in_its_middle_wherever_it_was_cut_off() {
    let plan = many(40, "strategy: hierarchical, ratio: 5, query: what?");
    let (ended, _) = run(&plan, json!({}), 4, words);
    resumes_everywhere(&plan, json!({}), 4, words, &ended);
}

#[test]
fn a_failed_agent_is_missing_and_said_to_be_so() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task == "a[3]" { None } else { words(task, prompt) }
    }
    let plan = many(12, "strategy: hierarchical");
    let (ended, world) = run(&plan, json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let answer = answer(&ended);
    assert_eq!(answer["missing"][0]["task"], json!("a[3]"));
    assert_eq!(answer["sources"].as_array().unwrap().len(), 11);
    resumes_everywhere(&plan, json!({}), 60, says, &ended);
    drop(world);
}

#[test]
fn a_failed_group_is_handed_on_and_a_lost_one_is_said() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task == "s/merge[1.1]" { None } else { words(task, prompt) }
    }
    let (ended, _) = run(&many(30, "strategy: hierarchical"), json!({}), 60, says);
    let answer = answer(&ended);
    assert_eq!(answer["missing"], json!([]), "ten short outputs fit into the next question");
    assert!(answer["notes"][0].as_str().unwrap().contains("question 1.1 failed"), "{answer}");
}

#[test]
fn a_merge_whose_last_question_fails_gives_its_sources_one_after_the_other() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task == "s/merge[1.0]" { None } else { words(task, prompt) }
    }
    let plan = many(5, "strategy: hierarchical");
    let (ended, _) = run(&plan, json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial);
    assert!(ended.failure.as_ref().unwrap().message.contains("its last question failed"));
    let partial = &ended.output.as_ref().unwrap()["partial"];
    assert!(partial["reason"].as_str().unwrap().contains("its last question failed"), "{partial}");
    let answer = answer(&ended);
    assert_eq!(answer["partial"], json!(true));
    let text = answer["result"].as_str().unwrap();
    for n in 0..5 {
        assert!(text.contains(&format!("## a [{n}]\n\nwords about say {n}")), "{text}");
    }
    resumes_everywhere(&plan, json!({}), 60, says, &ended);
}

#[test]
fn what_was_accepted_stands_for_its_sources_where_a_later_level_fails() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "s/merge[2.0]" => None,
            _ if task.starts_with("s/merge") => Some(json!({ "result": format!("made by {task}") })),
            _ => words(task, prompt),
        }
    }
    let (ended, _) = run(&many(30, "strategy: hierarchical"), json!({}), 60, says);
    let answer = answer(&ended);
    let text = answer["result"].as_str().unwrap();
    assert_eq!(ended.status, RunStatus::Partial);
    assert_eq!(text.matches("made by s/merge[1.").count(), 3, "{text}");
    assert!(!text.contains("words about"), "{text}");
    assert!(text.starts_with("## a [0], a [1], a [2] and 7 more\n\n"), "{text}");
}

#[test]
fn a_choice_that_fails_keeps_the_candidates_that_were_not_eliminated() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "s/choose[2.0]" => None,
            "s/choose[1.0]" => Some(json!({ "winner": "S2", "reason": "better" })),
            "s/choose[1.1]" => Some(json!({ "winner": "S3", "reason": "better" })),
            _ => words(task, prompt),
        }
    }
    let (ended, _) = run(&many(4, "strategy: tournament"), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let text = answer(&ended)["result"].as_str().unwrap().to_owned();
    let named: Vec<bool> = (0..4).map(|n| text.contains(&format!("## a [{n}]"))).collect();
    assert_eq!(named, [false, true, true, false], "{text}");
}

#[test]
fn a_progressive_merge_that_never_got_an_answer_gives_its_sources() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("s/merge") { None } else { words(task, prompt) }
    }
    let (ended, _) = run(&many(3, "strategy: progressive"), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let text = answer(&ended)["result"].as_str().unwrap().to_owned();
    assert!((0..3).all(|n| text.contains(&format!("words about say {n}"))), "{text}");
}

#[test]
fn large_outputs_are_merged_in_parts_and_nothing_is_left_out() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task.starts_with("s/") {
            // Every word of the source that it sees comes back, shorter.
            true => {
                let seen: Vec<&str> =
                    prompt.split_whitespace().filter(|word| word.starts_with("w0")).collect();
                Some(json!({ "result": seen.join(" ") }))
            }
            false => {
                let words: Vec<String> =
                    (0..400).map(|n| format!("w0{n} {}", "filler ".repeat(20))).collect();
                Some(json!({ "result": words.join(" ") }))
            }
        }
    }
    let (ended, world) = run(&many(2, "strategy: hierarchical, group_tokens: 8000"), json!({}), 60, says);
    let answer = answer(&ended);
    let text = answer["result"].as_str().unwrap();
    for n in 0..400 {
        assert!(text.split(' ').any(|word| word == format!("w0{n}")), "w0{n} is lost");
    }
    assert!(world.launches.len() > 6, "one question would have been too large");
}

#[test]
fn flat_has_headings_and_asks_nobody() {
    let (ended, world) = run(&many(2, "strategy: flat"), json!({}), 60, words);
    assert_eq!(
        answer(&ended)["result"],
        json!("## a [0]\n\nwords about say 0\n\n---\n\n## a [1]\n\nwords about say 1")
    );
    assert_eq!(world.launches.len(), 2);
}

#[test]
fn one_output_is_the_answer_as_it_stands() {
    let (ended, world) = run(&many(1, "strategy: hierarchical"), json!({}), 60, words);
    assert_eq!(answer(&ended)["result"], json!("words about say 0"));
    assert_eq!(world.launches.len(), 1);
}

#[test]
fn outputs_behind_a_question_that_failed_are_named_and_make_the_run_partial() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task == "s/merge[2.0]" { None } else { words(task, prompt) }
    }
    let plan = many(8, "strategy: hierarchical, ratio: 2, group_tokens: 20");
    let (ended, _) = run(&plan, json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let lost: Vec<_> =
        answer(&ended)["missing"].as_array().unwrap().iter().map(|m| m["task"].clone()).collect();
    assert_eq!(lost, ["a[0]", "a[1]", "a[2]", "a[3]"]);
    resumes_everywhere(&plan, json!({}), 60, says, &ended);
    let strict = many(8, "strategy: hierarchical, ratio: 2, group_tokens: 20, min_sources: 5");
    let (ended, _) = run(&strict, json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Failed, "four are left, five are needed");
}
