//! Programs over outputs.

use crate::merging::kit::{TICK, answer, many};
use convoke_model::{
    Assignment, AttemptEnd, Class, JsonText, Payload, ProgramCall, RunStatus, SubQuery, Usage, WaitsFor, Work,
};
use convoke_testkit::{Behaviour, World};
use serde_json::{Value, json};

/// An attempt that writes programs: asks two at once, then one more, and ends with all that it was told.
fn programs(assignment: &Assignment) -> Behaviour {
    let suspended = |state: Value, sub_queries: &[SubQuery]| AttemptEnd::Suspended {
        state: JsonText::of(&state),
        waits_for: WaitsFor::Children(Payload::Inline(JsonText::of(sub_queries))),
        usage: Usage { calls: 1, ..Usage::default() },
    };
    let prompt = |text: &str| SubQuery::Prompt(text.to_owned());
    let end = match &assignment.work {
        Work::Program(call) if call.depth == 0 => match assignment.continues.as_slice() {
            [] => {
                let of = vec!["S2".to_owned(), "S4".to_owned()];
                let deeper = SubQuery::Program { query: "deeper".to_owned(), of };
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
