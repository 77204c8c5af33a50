//! Examinations of answers, and repairs of outputs in another shape.

use crate::merging::kit::{CHECKED, EXPECTING, answer, resumes_everywhere, run};
use convoke_model::RunStatus;
use convoke_testkit::plan_of;
use serde_json::{Value, json};

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
fn an_answer_that_could_not_be_examined_is_given_unverified() {
    fn says(task: &str, prompt: &str) -> Option<Value> {
        if task.starts_with("checked/assess") { None } else { mistaken(task, prompt) }
    }
    let (ended, _) = run(&plan_of(CHECKED, &[]), json!({}), 60, says);
    assert_eq!(ended.status, RunStatus::Partial);
    assert!(ended.failure.as_ref().unwrap().message.contains("could not be examined"));
    let given = answer(&ended);
    assert_eq!((&given["verdict"], &given["partial"]), (&json!("unverified"), &json!(true)));
    assert!(given["result"].as_str().unwrap().contains("300 m"), "{given}");
}

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
