//! Making one answer of many, in a simulated world: levels, arrivals, choices, votes, examinations and repairs, each
//! cut off at every commit and resumed.

use convoke_model::{
    Assignment, AttemptEnd, CauseKind, Class, Event, JsonText, Payload, ProgramCall, RunStatus, Usage,
    WaitsFor, Wish, Work,
};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(50);

type Says = fn(&str, &str) -> Option<Value>;

/// Every model call takes a tick and answers what `says` gives for task and prompt; nothing is a failure.
fn world(says: Says) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let prompt = match &assignment.work {
            Work::Agent(call) => call.prompt.clone(),
            _ => String::new(),
        };
        match says(&assignment.task.to_string(), &prompt) {
            Some(value) => Behaviour::gives(TICK, value),
            None => Behaviour::fails(TICK, Class::Fatal),
        }
    })
}

fn run(plan: &Arc<Plan>, inputs: Value, limit: u32, says: Says) -> (Ended, World) {
    let mut world = World::new(plan.clone(), inputs, limit, 1, world(says));
    (world.finish(), world)
}

/// Cuts the run off after every commit and resumes it: the end is the same, and nothing that had ended is done again.
fn resumes_everywhere(plan: &Arc<Plan>, inputs: Value, limit: u32, says: Says, expected: &Ended) {
    let (_, whole) = run(plan, inputs.clone(), limit, says);
    for cut in 1..whole.commits.len() {
        let left = whole.commits[..cut].to_vec();
        let done: HashSet<String> = left
            .iter()
            .flatten()
            .filter_map(|stamped| match &stamped.event {
                convoke_model::Event::AttemptFinished { task, .. } => Some(task.to_string()),
                _ => None,
            })
            .collect();
        let mut again = World::resumed(plan.clone(), limit, left, &whole, world(says));
        let ended = again.finish();
        assert_eq!((ended.status, &ended.output), (expected.status, &expected.output), "cut after {cut}");
        let twice = again.launches.iter().find(|(task, _)| done.contains(&task.to_string()));
        assert_eq!(twice, None, "cut after {cut}: done twice");
    }
}

fn many(count: usize, more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted}}, limits: {{max_concurrency: 60}}}}
for_each:
  - {{name: a, type: for_each, items: [{}], as: n, max_concurrent: 1000, failure_mode: continue_on_error, agent: {{name: one, prompt: 'say {{{{ n }}}}'}}}}
agents:
  - {{name: s, type: reduce, needs: [{{step: a, requires: any}}], {more}}}
output: {{answer: '{{{{ s.output | json }}}}'}}
",
        (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
    );
    plan_of(&text, &[])
}

fn answer(ended: &Ended) -> Value {
    ended.output.as_ref().unwrap_or_else(|| panic!("{ended:?}"))["answer"].clone()
}

fn words(task: &str, prompt: &str) -> Option<Value> {
    match task.starts_with("s/") {
        true => Some(json!({ "result": format!("merged {} [S1]", prompt.matches("### ").count()) })),
        false => Some(json!({ "result": format!("words about {prompt}") })),
    }
}

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
fn a_merge_whose_last_question_fails_has_failed() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task == "s/merge[1.0]" { None } else { words(task, prompt) }
    }
    let (ended, _) = run(&many(5, "strategy: hierarchical"), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Failed);
    assert!(ended.failure.unwrap().message.contains("its last question failed"));
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

const CHECKED: &str = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: writer}
agents:
  - {name: writer, prompt: write}
  - {name: checked, type: verify, needs: [writer], query: 'How tall?', rounds: 2}
output: {answer: '{{ checked.output | json }}'}
";

fn finding(kind: &str, severity: &str, claim: &str) -> Value {
    json!({ "kind": kind, "severity": severity, "claim": claim, "explanation": "S1", "correction": "leave out" })
}

/// An assessor that knows two mistakes, a writer that makes both, a repairer that obeys.
fn mistaken(task: &str, prompt: &str) -> Option<Value> {
    match task.split('[').next().unwrap() {
        "writer" => Some(json!({ "result": "It is 300 m tall. It is 200 m tall. Gold covers it." })),
        "checked/assess" => {
            let answer = prompt.split("## ANSWER").nth(1).unwrap();
            let mut found = Vec::new();
            if answer.contains("200 m") {
                found.push(finding("contradiction", "high", "200 m"));
            }
            if answer.contains("Gold") {
                found.push(finding("unsupported_claim", "medium", "Gold covers it"));
            }
            found.push(finding("gap", "low", "no source named"));
            Some(json!({ "findings": found }))
        }
        _ => {
            assert!(prompt.contains("200 m") && prompt.contains("Gold covers it"), "{prompt}");
            assert!(!prompt.contains("no source named"), "what is only noted is not corrected");
            Some(json!({ "result": "It is 300 m tall." }))
        }
    }
}

#[test]
fn a_contradiction_and_an_unsupported_claim_are_corrected_and_reported() {
    let plan = plan_of(CHECKED, &[]);
    let (ended, world) = run(&plan, json!({}), 60, mistaken);
    let answer = answer(&ended);
    assert_eq!((&answer["result"], &answer["verdict"]), (&json!("It is 300 m tall."), &json!("corrected")));
    let status: Vec<_> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["kind"].as_str().unwrap(), f["status"].as_str().unwrap(), f["round"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        status,
        [("contradiction", "corrected", 1), ("unsupported_claim", "corrected", 1), ("gap", "noted", 1)]
    );
    assert_eq!(world.launches.len(), 4);
    resumes_everywhere(&plan, json!({}), 60, mistaken, &ended);
}

#[test]
fn what_remains_is_reported_or_is_a_failure() {
    fn stubborn(task: &str, prompt: &str) -> Option<Value> {
        match task.starts_with("checked/correct") {
            true => Some(json!({ "result": "It is 300 m tall. It is 200 m tall. Gold covers it." })),
            false => mistaken(task, prompt),
        }
    }
    let (ended, world) = run(&plan_of(CHECKED, &[]), json!({}), 60, stubborn);
    let answer = answer(&ended);
    assert_eq!((&answer["verdict"], &answer["rounds"]), (&json!("open"), &json!(2)));
    assert_eq!(world.launches.len(), 6, "one answer, three assessments, two corrections");
    let strict = CHECKED.replace("rounds: 2", "rounds: 2, when_open: fail");
    let (ended, _) = run(&plan_of(&strict, &[]), json!({}), 60, stubborn);
    assert_eq!(ended.status, RunStatus::Failed);
    assert!(ended.failure.unwrap().message.contains("findings remain after 2 corrections"));
}

#[test]
fn an_answer_that_nobody_could_examine_is_a_failure() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("checked/assess") { None } else { mistaken(task, prompt) }
    }
    let (ended, _) = run(&plan_of(CHECKED, &[]), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Failed);
    assert!(ended.failure.unwrap().message.contains("could not be examined"));
}

const EXPECTING: &str = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: maker}
agents:
  - {name: maker, prompt: make}
  - name: user
    prompt: 'use {{ maker.output.price }}'
    needs: [maker]
    expects: {maker: {price: {type: number}}}
    repair_input: true
output: {answer: '{{ user.output.result }}'}
";

#[test]
fn an_output_of_another_shape_is_repaired_by_a_task_of_its_own() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "user" => Some(json!({ "result": prompt })),
            "user/repair_input[maker]" => {
                assert!(prompt.contains("12 Euro") && prompt.contains("expected number"), "{prompt}");
                Some(json!({ "price": 12 }))
            }
            _ => None,
        }
    }
    let plan = plan_of(EXPECTING, &[]);
    let (ended, _) = run(&plan, json!({}), 60, says);
    assert_eq!(ended.output, Some(json!({ "answer": "use 12" })), "{ended:?}");
    resumes_everywhere(&plan, json!({}), 60, says, &ended);
}

#[test]
fn an_output_that_cannot_be_repaired_fails_the_step_that_needs_it() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "user/repair_input[maker]" => Some(json!({ "price": "still words" })),
            _ => None,
        }
    }
    let (ended, _) = run(&plan_of(EXPECTING, &[]), json!({}), 60, says);
    let failure = ended.failure.unwrap();
    assert!(failure.message.contains("also after a repair"), "{}", failure.message);
    let without = EXPECTING.replace("    repair_input: true\n", "");
    let (ended, world) = run(&plan_of(&without, &[]), json!({}), 60, says);
    assert!(ended.failure.unwrap().message.contains("field `price`: expected number"));
    assert_eq!(world.launches.len(), 1);
}

#[test]
fn outputs_of_needs_stand_behind_a_prompt_in_order() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "c" => Some(json!({ "result": prompt })),
            "b" => Some(json!({ "result": "x".repeat(1000) })),
            _ => Some(json!({ "result": task })),
        }
    }
    let text = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: [a, b]}
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: b}
  - {name: c, prompt: c, needs: [b, a], dependency_outputs: 60}
output: {answer: '{{ c.output.result }}'}
";
    let (ended, _) = run(&plan_of(text, &[]), json!({}), 60, says);
    let prompt = ended.output.unwrap()["answer"].as_str().unwrap().to_owned();
    let (b, a) = (prompt.find("### b").unwrap(), prompt.find("### a").unwrap());
    assert!(prompt.starts_with("c\n\n## DEPENDENCY OUTPUTS") && b < a, "{prompt}");
    assert!(prompt.contains("[… 760 more characters; the whole output of `b` is "), "{prompt}");
}

/// Runs, then resumes what has ended, with other answers.
fn again(plan: &Arc<Plan>, first: Says, second: Says) -> (Ended, Ended, Vec<String>) {
    let (before, earlier) = run(plan, json!({}), 60, first);
    let mut later = World::resumed(plan.clone(), 60, earlier.commits.clone(), &earlier, world(second));
    let after = later.finish();
    (before, after, later.launches.iter().map(|(task, _)| task.to_string()).collect())
}

#[test]
fn steps_that_ask_may_also_have_their_inputs_repaired() {
    fn says(task: &str, _: &str) -> Option<Value> {
        match task.split('[').next().unwrap() {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "asks/repair_input" => Some(json!({ "price": 12 })),
            "asks/assess" => Some(json!({ "findings": [] })),
            _ => None,
        }
    }
    for kind in ["type: verify", "type: reduce, strategy: flat", "type: reduce, strategy: progressive"] {
        let text = format!(
            "
workflow: {{name: w, runtime: {{provider: scripted}}, entry_point: maker}}
agents:
  - {{name: maker, prompt: make}}
  - {{name: asks, {kind}, needs: [maker], expects: {{maker: {{price: {{type: number}}}}}}, repair_input: true}}
output: {{answer: '{{{{ asks.output | json }}}}'}}
"
        );
        let plan = plan_of(&text, &[]);
        let (ended, _) = run(&plan, json!({}), 60, says);
        assert_eq!(ended.status, RunStatus::Succeeded, "{kind}: {ended:?}");
        resumes_everywhere(&plan, json!({}), 60, says, &ended);
    }
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

#[test]
fn a_partial_run_that_is_resumed_gets_what_is_missing_and_merges_again() {
    fn fails(task: &str, prompt: &str) -> Option<Value> {
        if task == "a[3]" { None } else { words(task, prompt) }
    }
    for strategy in ["hierarchical", "progressive", "flat"] {
        let plan = many(6, &format!("strategy: {strategy}"));
        let (before, after, launches) = again(&plan, fails, words);
        assert_eq!((before.status, after.status), (RunStatus::Partial, RunStatus::Succeeded), "{strategy}");
        assert_eq!(answer(&after)["sources"].as_array().unwrap().len(), 6);
        let agents: Vec<_> = launches.iter().filter(|task| task.starts_with("a[")).collect();
        assert_eq!(agents, ["a[3]"], "{strategy}: only what was missing is asked again");
    }
}

#[test]
fn a_repair_and_an_examination_that_failed_are_made_again() {
    fn broken(task: &str, prompt: &str) -> Option<Value> {
        if task.contains("repair_input") || task.contains("assess") { None } else { repaired(task, prompt) }
    }
    fn repaired(task: &str, prompt: &str) -> Option<Value> {
        match task.split('[').next().unwrap() {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "user" => Some(json!({ "result": prompt })),
            "user/repair_input" => Some(json!({ "price": 12 })),
            "writer" => Some(json!({ "result": "words" })),
            "checked/assess" => Some(json!({ "findings": [] })),
            _ => None,
        }
    }
    for text in [EXPECTING, CHECKED] {
        let (before, after, _) = again(&plan_of(text, &[]), broken, repaired);
        assert_eq!((before.status, after.status), (RunStatus::Failed, RunStatus::Succeeded), "{after:?}");
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

#[test]
fn every_way_of_seeing_an_output_sees_the_repaired_one() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "user" => Some(json!({ "result": prompt })),
            _ => Some(json!({ "price": 12 })),
        }
    }
    let explicit =
        EXPECTING.replace("entry_point: maker}", "entry_point: maker, context: {mode: explicit}}").replace(
            "    needs: [maker]",
            "    needs: [maker]\n    input: [maker.output.price]\n    dependency_outputs: 10",
        );
    let (ended, _) = run(&plan_of(&explicit, &[]), json!({}), 60, says);
    let prompt =
        ended.output.unwrap_or_else(|| panic!("{:?}", ended.failure))["answer"].as_str().unwrap().to_owned();
    assert!(prompt.starts_with("use 12\n") && !prompt.contains("Euro"), "{prompt}");
}

/// An attempt that writes programs: asks two at once, then one more, and ends with all that it was told.
fn programs(assignment: &Assignment) -> Behaviour {
    let suspended = |state: Value, wishes: &[Wish]| AttemptEnd::Suspended {
        state: JsonText::of(&state),
        waits_for: WaitsFor::Children(Payload::Inline(JsonText::of(wishes))),
        usage: Usage { calls: 1, ..Usage::default() },
    };
    let prompt = |text: &str| Wish::Prompt(text.to_owned());
    let end = match &assignment.work {
        Work::Program(call) if call.depth == 0 => match assignment.continues.as_slice() {
            [] => {
                let of = vec!["S2".to_owned(), "S4".to_owned()];
                let deeper = Wish::Program { query: "deeper".to_owned(), of };
                suspended(json!([]), &[prompt("first"), deeper])
            }
            [_] => suspended(json!(told(call)), &[prompt("last")]),
            [_, before] => {
                let all = json!({ "result": [before.value(), told(call)] });
                AttemptEnd::Finished { output: JsonText::of(&all), usage: Usage::default() }
            }
            more => panic!("{} states", more.len()),
        },
        Work::Program(call) => {
            let marks: Vec<_> = call.sources.iter().map(|source| source.mark.as_str()).collect();
            let output = JsonText::of(&json!({ "result": marks.join("+") }));
            AttemptEnd::Finished { output, usage: Usage::default() }
        }
        Work::Agent(call) => {
            let output = JsonText::of(&json!({ "result": format!("to {}", call.prompt) }));
            AttemptEnd::Finished { output, usage: Usage::default() }
        }
        _ => panic!("nothing else is done"),
    };
    Behaviour { takes: TICK, end }
}

fn told(call: &ProgramCall) -> Vec<Value> {
    call.answers.iter().map(|answer| answer.answer.as_ref().unwrap().value()).collect()
}

#[test]
fn what_programs_ask_is_asked_once_wherever_it_was_cut_off() {
    let plan = many(4, "strategy: rlm, query: what?");
    let mut whole = World::new(plan.clone(), json!({}), 2, 1, Box::new(programs));
    let ended = whole.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(answer(&ended)["result"], json!([["to first", "S2+S4"], ["to last"]]));
    let mut asked: Vec<_> = whole.launches[4..].iter().map(|(task, _)| task.to_string()).collect();
    asked.sort();
    assert_eq!(asked, ["s", "s", "s", "s/llm[1]", "s/llm[3]", "s/rlm[2]"]);
    for cut in 1..whole.commits.len() {
        let left = whole.commits[..cut].to_vec();
        let mut again = World::resumed(plan.clone(), 2, left, &whole, Box::new(programs));
        let resumed = again.finish();
        assert_eq!((resumed.status, &resumed.output), (ended.status, &ended.output), "cut after {cut}");
        let below = again.launches.iter().map(|(task, _)| task.to_string());
        let strangers = below.filter(|task| task.starts_with('s') && !asked.contains(task));
        assert_eq!(strangers.count(), 0, "cut after {cut}: {:?}", again.launches);
    }
}

#[test]
fn a_merge_whose_programs_fail_goes_on_by_levels_and_says_why() {
    // It fails at once, or after it has asked something.
    fn at_once(assignment: &Assignment) -> Behaviour {
        match &assignment.work {
            Work::Program(_) => Behaviour::fails(TICK, Class::Fatal),
            _ => Behaviour::gives(TICK, json!({ "result": "words" })),
        }
    }
    fn later(assignment: &Assignment) -> Behaviour {
        match &assignment.work {
            Work::Program(_) if assignment.continues.is_empty() => programs(assignment),
            _ => at_once(assignment),
        }
    }
    for (script, asked) in [(at_once as fn(&Assignment) -> Behaviour, 0), (later, 2)] {
        let plan = many(12, "strategy: rlm, ratio: 6");
        let mut whole = World::new(plan.clone(), json!({}), 60, 1, Box::new(script));
        let ended = whole.finish();
        let answer = answer(&ended);
        let facts = (&answer["strategy"], &answer["rounds"], &answer["calls"]);
        assert_eq!(facts, (&json!("hierarchical"), &json!(2), &json!(3 + asked)), "{answer}");
        assert!(
            answer["notes"][0].as_str().unwrap().starts_with("the merge by programs failed ("),
            "{answer}"
        );
        for cut in 1..whole.commits.len() {
            let left = whole.commits[..cut].to_vec();
            let resumed = World::resumed(plan.clone(), 60, left, &whole, Box::new(script)).finish();
            assert_eq!((resumed.status, &resumed.output), (ended.status, &ended.output), "cut after {cut}");
        }
    }
}

/// What a command line gives to every manifest.
fn given() -> Value {
    json!({ "query": "q", "context": "" })
}

#[test]
fn steps_that_stand_side_by_side_are_no_iterations() {
    let agents: String = (0..11).map(|n| format!("  - {{id: a{n}, task: t}}\n")).collect();
    let plan = plan_of(
        &format!(
            "provider: scripted\nagents:\n{agents}  - {{id: p, task: '{{{{ partition }}}}', partitions: [x, y]}}\nsynthesis: flat\n"
        ),
        &[],
    );
    let (ended, _) = run(&plan, given(), 60, |task, _| Some(json!({ "result": task })));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let listed: String = (0..11).map(|n| format!("  - {{name: a{n}, prompt: t}}\n")).collect();
    let written = plan_of(
        &format!(
            "workflow: {{name: w, runtime: {{provider: scripted}}}}\nfor_each:\n  - {{name: p, type: for_each, items: [1], as: n, needs: [a0], agent: {{name: one, prompt: '{{{{ n }}}}'}}}}\nagents:\n{listed}"
        ),
        &[],
    );
    let (ended, _) = run(&written, json!({}), 60, |task, _| Some(json!({ "result": task })));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

/// A manifest in which somebody fails, what its run ends as and what it says is missing.
fn missing(manifest: &str, says: Says) -> (RunStatus, Vec<String>) {
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, _) = run(&plan, given(), 60, says);
    resumes_everywhere(&plan, given(), 60, says, &ended);
    let listed = ended.output.as_ref().map(|output| output["missing"].clone()).unwrap_or_default();
    let tasks = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    (ended.status, tasks.iter().map(|missing| missing["task"].as_str().unwrap().to_owned()).collect())
}

fn all_but_b(task: &str, _: &str) -> Option<Value> {
    (!task.contains('b')).then(|| json!({ "result": task }))
}

#[test]
fn an_agent_that_fails_is_never_hidden() {
    let partial =
        |names: &[&str]| (RunStatus::Partial, names.iter().map(|name| (*name).to_owned()).collect());
    let unmerged = "agents: [{id: a, task: t}, {id: b, task: t}]\nsynthesis: {of: [a]}\n";
    assert_eq!(missing(unmerged, all_but_b), partial(&["b"]));
    let before = "agents:\n  - {id: a, task: '{{ partition }}', partitions: [x, b]}\n  - {id: c, task: t, depends_on: [a]}\nsynthesis: {of: [c]}\n";
    assert_eq!(missing(before, all_but_b), partial(&["a[b]"]));
    let whole = "agents: [{id: a, task: t}, {id: c, task: t}]\nsynthesis: {of: [a]}\n";
    assert_eq!(missing(whole, all_but_b), (RunStatus::Succeeded, Vec::new()));
    let skipped = "agents: [{id: a, task: t}, {id: b, task: t}, {id: c, task: t, depends_on: [b]}]\n";
    assert_eq!(missing(skipped, all_but_b), partial(&["b", "c"]));
}

#[test]
fn a_side_that_fails_in_a_later_round_is_missed_and_the_judge_is_told() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "sides#2/con" => None,
            "judge" => Some(
                json!({ "result": if prompt.contains("absent in this round") { "told" } else { "not told" } }),
            ),
            _ => Some(json!({ "result": "words" })),
        }
    }
    let manifest = "query: q\ncoordination_protocol: debate\nagents: [{id: pro}, {id: con}, {id: judge}]\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, world) = run(&plan, given(), 60, says);
    let tasks: Vec<String> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    assert_eq!(ended.status, RunStatus::Partial, "{tasks:?}");
    let output = ended.output.unwrap();
    assert_eq!(
        (output["answer"].clone(), output["missing"][0]["task"].clone()),
        (json!("told"), json!("sides#2/con"))
    );
}

#[test]
fn a_group_that_failed_is_no_source() {
    fn says(task: &str, _: &str) -> Option<Value> {
        (task != "h[y]").then(|| json!({ "result": task }))
    }
    let manifest = "agents:\n  - {id: h, task: '{{ partition }}', partitions: [x, y], failure_mode: quorum, min: 2}\n  - {id: e, task: t}\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, _) = run(&plan, given(), 60, says);
    assert_eq!(ended.status, RunStatus::Partial);
    let output = ended.output.unwrap();
    assert_eq!(output["answer"], json!("e"));
    assert_eq!(output["missing"][0]["task"], json!("h"));
    let cause = output["missing"][0]["cause"].as_str().unwrap();
    assert!(!cause.trim_end().ends_with(';'), "{cause}");
}

#[test]
fn a_dependency_on_one_partition_waits_for_that_one_alone() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        match task {
            "a[bad]" => None,
            "after" => Some(json!({ "result": prompt })),
            _ => Some(json!({ "result": task })),
        }
    }
    let manifest = "agents:\n  - {id: a, task: '{{ partition }}', partitions: [good, bad]}\n  - {id: after, task: t, depends_on: ['a:good']}\n  - {id: never, task: t, depends_on: ['a:bad']}\n  - {id: all, task: '{{ a.outputs.good.result }}', depends_on: [a]}\nsynthesis: flat\n";
    let plan = plan_of(&format!("provider: scripted\n{manifest}"), &[]);
    let (ended, world) = run(&plan, given(), 60, says);
    resumes_everywhere(&plan, given(), 60, says, &ended);
    let tasks: Vec<String> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    assert!(!tasks.contains(&"never".to_owned()) && tasks.contains(&"all".to_owned()), "{tasks:?}");
    let answer = ended.output.as_ref().unwrap()["answer"].as_str().unwrap().to_owned();
    assert!(answer.contains("### a [good]\n\na[good]") && !answer.contains("### a [bad]"), "{answer}");
    let listed: Vec<&str> = ended.output.as_ref().unwrap()["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gone| gone["task"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["a[bad]", "never"]);
}

#[test]
fn partitions_by_path_are_known_by_their_names() {
    let plan = plan_of(
        "provider: scripted\ninputs: {topics: {type: array}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n  - {id: b, task: t}\n",
        &[],
    );
    let says: Says = |task, _| Some(json!({ "result": task }));
    let (ended, _) = run(&plan, json!({ "topics": ["sun", "wind"], "query": "", "context": "" }), 60, says);
    let output = ended.output.unwrap();
    assert_eq!(output["waves"], json!([["a:sun", "a:wind", "b"]]));
    assert_eq!((output["mode"].clone(), output["agent_count"].clone()), (json!("parallel"), json!(3)));
    assert_eq!((output["parallelism_ratio"].clone(), output["wave_count"].clone()), (json!(3.0), json!(1)));
    let sources: Vec<&str> =
        output["sources"].as_array().unwrap().iter().map(|source| source["task"].as_str().unwrap()).collect();
    assert_eq!(sources, ["a[sun]", "a[wind]", "b"]);
    assert!(output["answer"].as_str().unwrap().contains("## a [wind]"));
}

#[test]
fn a_batch_ends_before_the_next_one_begins() {
    let plan = plan_of(
        "provider: scripted\nbarrier: true\nbatch_size: 2\nagents:\n  - {id: p, task: '{{ partition }}', partitions: [slow, b, c, d, e]}\n  - {id: q, task: t}\n",
        &[],
    );
    let mut world = World::new(
        plan,
        given(),
        60,
        1,
        Box::new(|assignment: &Assignment| {
            let ticks = if assignment.task.to_string() == "p[slow]" { 5 } else { 1 };
            Behaviour::gives(TICK * ticks, json!({ "result": "x" }))
        }),
    );
    let ended = world.finish();
    let begun: Vec<(String, u64)> = world
        .commits
        .iter()
        .flatten()
        .filter_map(|stamped| match &stamped.event {
            convoke_model::Event::AttemptStarted { task, .. } => Some((task.to_string(), stamped.at.0)),
            _ => None,
        })
        .collect();
    let first = begun[0].1;
    let begun: Vec<(String, u64)> = begun.into_iter().map(|(task, at)| (task, (at - first) / 1000)).collect();
    let expected = [("p[slow]", 0), ("p[b]", 0), ("p[c]", 250), ("p[d]", 250), ("p[e]", 300), ("q", 350)];
    assert_eq!(
        begun.iter().map(|(task, at)| (task.as_str(), *at)).collect::<Vec<_>>(),
        expected,
        "{ended:?}"
    );
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
