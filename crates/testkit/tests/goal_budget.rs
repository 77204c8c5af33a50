//! A goal splits no task where too little of its budgets is left for that.

use convoke_model::{Assignment, AttemptEnd, Event, JsonText, RunStatus, Usage};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::time::Duration;

fn says(id: &str) -> Value {
    let task = |id: &str, tokens: u64| json!({"id": id, "description": format!("do {id}"), "inputs": [], "tools": [], "skip_probability": 0, "estimated_tokens": tokens});
    match id {
        "g/plan[1]" => json!({"tasks": [task("a", 30_000)]}),
        "g/1/decompose[1]" => json!({"tasks": [task("x", 10), task("y", 10)]}),
        "g/finalise[1]" => json!({"message": "m", "next_steps": "", "issues": "", "reason": "r"}),
        _ => json!({"result": "r", "summary": "s", "goal_achieved": true, "reason": "seen"}),
    }
}

/// The tasks that were launched, and the reason of the first decision on the task, when planning took so many tokens of 100 000.
fn run(budgets: (&str, &str), planning: u64) -> (Vec<String>, String) {
    let (of_goal, of_workflow) = budgets;
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}, limits: {{max_iterations: 100{of_workflow}}}}}
agents:
  - {{name: g, type: goal, goal: 'write the report'{of_goal}}}
output: {{answer: '{{{{ g.output.status }}}}'}}
"
    );
    let script = move |assignment: &Assignment| {
        let id = assignment.task.to_string();
        let input_tokens = if id == "g/plan[1]" { planning } else { 1 };
        let usage = Usage { calls: 1, input_tokens, ..Usage::default() };
        let end = AttemptEnd::Finished { output: JsonText::of(&says(&id)), usage };
        Behaviour { takes: Duration::from_millis(10), end }
    };
    let mut world = World::new(plan_of(&text, &[]), json!({}), 4, 1, Box::new(script));
    assert_eq!(world.finish().status, RunStatus::Succeeded);
    let about_task = |event: &Event| match event {
        Event::GoalDecided(decided) if decided.about.as_ref().is_some_and(|about| *about.0 == *"g/1") => {
            Some(decided.reason.clone())
        }
        _ => None,
    };
    let reason = world.events().find_map(|stamped| about_task(&stamped.event)).expect("it was decided");
    (world.launches.iter().map(|(task, _)| task.to_string()).collect(), reason)
}

#[test]
fn what_was_spent_on_a_goal_bounds_how_its_tasks_are_split() {
    for budgets in [(", budget: {tokens: 100000}", ""), ("", ", budget_tokens: 100000, budget_mode: enforce")]
    {
        let (asked, _) = run(budgets, 20_000);
        assert!(asked.contains(&"g/1/decompose[1]".to_owned()), "{asked:?}");
        let (asked, reason) = run(budgets, 80_000);
        assert_eq!(asked, ["g/plan[1]", "g/1/execute[1]", "g/finalise[1]"]);
        assert!(reason.contains("only 20000 tokens of the"), "{reason}");
    }
}
