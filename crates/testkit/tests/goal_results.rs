//! The results of a task's inputs, as far as the task's agent can read them.

use convoke_model::{Assignment, Work};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const TASKS: usize = 40;
/// Builds on all the others.
const LAST: &str = "g/41/execute[1]";

fn says(id: &str) -> Value {
    let task = |n: usize| json!({"id": format!("t{n}"), "description": format!("do {n}"), "inputs": [], "tools": [], "skip_probability": 0});
    match id {
        "g/plan[1]" => {
            let mut tasks: Vec<Value> = (1..=TASKS).map(task).collect();
            let mut all = task(TASKS + 1);
            all["inputs"] = (1..=TASKS).map(|n| format!("t{n}")).collect();
            tasks.push(all);
            json!({ "tasks": tasks })
        }
        "g/finalise[1]" => {
            json!({"message": "done", "next_steps": "", "issues": "", "reason": "all is there"})
        }
        id if id.contains("collect") => json!({"digest": "d", "issues": ""}),
        // Too small for a blob of its own, too large to be shown whole beside 39 others.
        id => {
            let result = format!("{} the end of {id}", "x".repeat(3_900));
            json!({"result": result, "summary": "s", "goal_achieved": true, "reason": "seen"})
        }
    }
}

#[test]
fn every_result_that_is_cut_can_be_read_whole_whatever_its_size() {
    let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted}}
agents:
  - {name: g, type: goal, goal: 'write the report'}
output: {answer: '{{ g.output | json }}'}
";
    let asked = Rc::new(RefCell::new(None));
    let heard = asked.clone();
    let script = move |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let id = assignment.task.to_string();
        if id == LAST {
            *heard.borrow_mut() = Some(call.clone());
        }
        Behaviour::gives(Duration::from_millis(10), says(&id))
    };
    let mut world = World::new(plan_of(text, &[]), json!({}), 8, 1, Box::new(script));
    world.finish();
    let call = asked.borrow().clone().expect("it was asked");
    let cut = call.prompt.matches("`read_result` with the name").count();
    assert_eq!((cut, call.kept.len()), (TASKS, TASKS), "each that was cut says how it is read");
    for (number, digest) in (1..).zip(&call.kept) {
        assert!(call.prompt.contains(&format!("name `r{number}`")));
        let whole = world.kept(digest).expect("it is stored with the attempt that may read it");
        assert!(whole.as_str().contains(&format!("the end of g/{number}/execute[1]")), "{}", whole.as_str());
    }
}
