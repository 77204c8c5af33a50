//! Whether a goal was reached: the roles that see all of it decide, and their verdict is never better than its tasks.

use convoke_model::{Assignment, RunStatus, Work};
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::time::Duration;

type Says = fn(&str) -> Value;

fn run(says: Says) -> (Ended, Vec<String>) {
    run_within("", says)
}

fn run_within(bounds: &str, says: Says) -> (Ended, Vec<String>) {
    run_file(&FILE.replace("BOUNDS", bounds), says)
}

const FILE: &str = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted}}
agents:
  - {name: g, type: goal, goal: 'write the report'BOUNDS}
output: {answer: '{{ g.output | json }}'}
";

fn run_file(text: &str, says: Says) -> (Ended, Vec<String>) {
    let script = move |assignment: &Assignment| {
        let Work::Agent(_) = &assignment.work else { panic!("only models are asked here") };
        Behaviour::gives(Duration::from_millis(10), says(&assignment.task.to_string()))
    };
    let mut world = World::new(plan_of(text, &[]), json!({}), 4, 1, Box::new(script));
    let ended = world.finish();
    let asked = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    (ended, asked)
}

fn task(id: &str) -> Value {
    json!({"id": id, "description": format!("do {id}"), "inputs": [], "tools": [], "skip_probability": 0})
}

fn work() -> Value {
    json!({"result": "r", "summary": "s", "goal_achieved": true, "reason": "seen"})
}

fn answer() -> Value {
    json!({"message": "all I found", "next_steps": "", "issues": "", "reason": "the price is missing"})
}

#[test]
fn a_goal_that_whoever_answers_calls_not_reached_has_failed_and_says_why() {
    fn says(id: &str) -> Value {
        match id {
            "g/plan[1]" => json!({"tasks": [task("a")]}),
            "g/finalise[1]" => {
                let mut answer = answer();
                answer["goal_achieved"] = json!(false);
                answer
            }
            _ => work(),
        }
    }
    let (ended, asked) = run(says);
    assert_eq!(ended.status, RunStatus::Failed);
    let failure = ended.failure.expect("it failed");
    assert_eq!(failure.reason.as_deref(), Some("goal_not_achieved"));
    assert!(failure.message.contains("the price is missing"), "{}", failure.message);
    assert_eq!(asked, ["g/plan[1]", "g/1/execute[1]", "g/finalise[1]"], "nobody else is asked");
}

#[test]
fn an_answer_that_does_not_say_leaves_it_to_the_tasks() {
    fn says(id: &str) -> Value {
        match id {
            "g/plan[1]" => json!({"tasks": [task("a")]}),
            "g/finalise[1]" => answer(),
            _ => work(),
        }
    }
    let (ended, asked) = run(says);
    assert_eq!((ended.status, asked.len()), (RunStatus::Succeeded, 3));
}

#[test]
fn further_rounds_are_asked_for_until_it_is_reached() {
    fn says(id: &str) -> Value {
        let more = |done: bool, tasks: &[Value]| json!({"done": done, "goal_achieved": done, "reason": "r", "tasks": tasks});
        match id {
            "g/plan[1]" => json!({"tasks": [task("a")], "complete": false}),
            "g/classify[1]" => more(false, &[task("b")]),
            "g/classify[2]" => more(true, &[]),
            "g/finalise[1]" => answer(),
            _ => work(),
        }
    }
    let (ended, asked) = run(says);
    assert_eq!(ended.status, RunStatus::Succeeded);
    let expected =
        ["g/plan[1]", "g/1/execute[1]", "g/classify[1]", "g/2/execute[1]", "g/classify[2]", "g/finalise[1]"];
    assert_eq!(asked, expected);
}

#[test]
fn a_goal_for_which_nothing_more_can_be_done_is_not_reached_thereby() {
    fn says(id: &str) -> Value {
        match id {
            "g/plan[1]" => json!({"tasks": [task("a")], "complete": false}),
            "g/classify[1]" => {
                json!({"done": true, "goal_achieved": false, "reason": "there is no key", "tasks": []})
            }
            "g/finalise[1]" => answer(),
            _ => work(),
        }
    }
    let failure = run(says).0.failure.expect("it failed");
    assert_eq!(failure.reason.as_deref(), Some("goal_not_achieved"));
    assert!(failure.message.contains("there is no key"), "{}", failure.message);
}

/// Plans one task and finds every time that something is missing.
fn never_enough(id: &str) -> Value {
    let more = |next: &str| json!({"done": false, "goal_achieved": false, "reason": "9 of 10 chapters are missing", "tasks": [task(next)]});
    match id {
        "g/plan[1]" => json!({"tasks": [task("a")], "complete": false}),
        "g/finalise[1]" => answer(),
        _ if id.starts_with("g/classify") => more(id),
        _ => work(),
    }
}

#[test]
fn a_goal_of_which_something_is_missing_after_its_last_round_or_task_was_not_reached() {
    for (bounds, calls) in [("", 8), (", max_tasks: 2", 6)] {
        let (ended, asked) = run_within(bounds, never_enough);
        let failure = ended.failure.unwrap_or_else(|| panic!("{bounds}: {:?}", ended.status));
        assert_eq!((ended.status, failure.reason.as_deref()), (RunStatus::Failed, Some("goal_not_achieved")));
        assert!(failure.message.contains("9 of 10 chapters are missing"), "{}", failure.message);
        assert_eq!(asked.len(), calls, "{asked:?}");
    }
}

#[test]
fn the_last_round_can_still_reach_it() {
    fn says(id: &str) -> Value {
        match id {
            "g/classify[3]" => {
                json!({"done": true, "goal_achieved": true, "reason": "all is there", "tasks": []})
            }
            id => never_enough(id),
        }
    }
    assert_eq!(run(says).0.status, RunStatus::Succeeded);
}

#[test]
fn a_skipped_task_does_not_make_what_was_not_reached_partial() {
    fn says(id: &str) -> Value {
        match id {
            "g/plan[1]" => {
                let mut impossible = task("b");
                (impossible["skip_probability"], impossible["skip_reason"]) =
                    (json!(95), json!("no network"));
                json!({"tasks": [task("a"), impossible]})
            }
            "g/classify[1]" => {
                json!({"done": true, "goal_achieved": false, "reason": "there is no key", "tasks": []})
            }
            "g/finalise[1]" => answer(),
            _ => work(),
        }
    }
    let (ended, _) = run(says);
    assert_eq!(ended.status, RunStatus::Failed);
    assert!(ended.failure.expect("why").message.contains("there is no key"));
}

#[test]
fn a_step_that_ends_the_run_well_does_not_hide_a_goal_that_was_not_reached() {
    fn failed(id: &str) -> Value {
        match id {
            "g/plan[1]" => json!({"tasks": [task("a")]}),
            "g/classify[1]" => json!({"done": true, "reason": "r", "tasks": []}),
            "g/finalise[1]" => answer(),
            _ => json!({"result": null, "summary": "", "goal_achieved": false, "reason": "no"}),
        }
    }
    fn skipped(id: &str) -> Value {
        let mut impossible = task("a");
        (impossible["skip_probability"], impossible["skip_reason"]) = (json!(95), json!("no network"));
        if id == "g/plan[1]" { json!({"tasks": [impossible]}) } else { failed(id) }
    }
    fn reached(id: &str) -> Value {
        if id.contains("execute") { work() } else { failed(id) }
    }
    let cases: [(Says, RunStatus); 3] =
        [(failed, RunStatus::Partial), (skipped, RunStatus::SkippedAll), (reached, RunStatus::Succeeded)];
    for (says, expected) in cases {
        let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted}}
agents:
  - {name: g, type: goal, goal: find it, policies: {any: [fail]}, routes: [{to: stop}], on_error: [{to: stop}]}
  - {name: stop, type: terminate, status: success, reason: fine}
";
        assert_eq!(run_file(text, says).0.status, expected);
    }
}

#[test]
fn a_goal_that_is_cut_short_by_who_ends_the_run_well_was_not_reached() {
    fn says(id: &str) -> Value {
        match id {
            "g/plan[1]" => json!({"tasks": [task("a"), task("b")]}),
            "g/finalise[1]" => answer(),
            "quick" | "slow" => json!({"text": "so"}),
            _ => work(),
        }
    }
    let text = |last: &str| {
        format!(
            "
workflow: {{name: w, entry_point: first, runtime: {{provider: scripted}}}}
agents:
  - {{name: first, type: set, value: x}}
  - {{name: g, type: goal, goal: find it, needs: [first]}}
  - {{name: quick, prompt: x, output: {{text: {{type: string}}}}, needs: [first]}}
  - {{name: slow, prompt: x, output: {{text: {{type: string}}}}, needs: [g]}}
  - {{name: stop, type: terminate, status: success, reason: fine, needs: [{last}]}}
"
        )
    };
    let (ended, asked) = run_file(&text("quick"), says);
    assert!(!asked.contains(&"g/finalise[1]".to_owned()), "{asked:?}");
    assert_eq!(ended.status, RunStatus::Partial);
    assert_eq!(run_file(&text("slow"), says).0.status, RunStatus::Succeeded);
}
