//! Which tools a task's agent may use.

use crate::goals::kit::*;
use convoke_model::{Assignment, Class, Event, RunStatus, Stamped, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

#[test]
fn a_tool_that_is_not_there_is_left_out_and_said() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                assert!(prompt.contains("There are no tools"), "{prompt}");
                let mut wants = task("a", &[]);
                wants["tools"] = json!(["magic"]);
                Ok(json!({"tasks": [wants]}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    let (ended, world) = run(&goal(""), 4, says);
    assert_eq!(ended.status, RunStatus::Succeeded);
    let noted = |stamped: &Stamped| matches!(&stamped.event, Event::Noted { code, message, .. } if code == "unknown_tool" && message.contains("magic"));
    assert!(world.events().any(noted));
}

#[test]
fn whoever_does_a_task_has_only_the_tools_that_are_allowed_and_named() {
    let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted, mcp_servers: {s: {command: s, tools: [read, write, list]}}}}
agents: [{name: g, type: goal, goal: x, tools: [s__read, s__write]}]
output: {answer: '{{ g.output | json }}'}
";
    let plan = plan_of(text, &[]);
    let script = |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let said = match &*assignment.task.0 {
            "g/plan[1]" => {
                let mut both = task("a", &[]);
                both["tools"] = json!(["s__read", "s__write", "s__list"]);
                let mut one = task("b", &[]);
                one["tools"] = json!(["write"]);
                let mut none = task("d", &[]);
                none["tools"] = json!(["s__list"]);
                json!({"tasks": [both, one, task("c", &[]), none]})
            }
            "g/1/analyse[1]" => {
                json!({"decision": "execute", "reasoning": "r", "tools": ["s__read", "s__list"]})
            }
            "g/finalise[1]" => final_words("done").unwrap(),
            id => {
                let expected = match id {
                    "g/1/execute[1]" => vec!["s__read"],
                    "g/2/execute[1]" => vec!["s__write"],
                    // Not one of those that were named for it may be used: that does not give it all the others.
                    "g/4/execute[1]" => vec![],
                    _ => vec!["s__read", "s__write"],
                };
                assert_eq!(call.settings.tools.as_deref().unwrap(), expected, "{id}");
                done("it").unwrap()
            }
        };
        Behaviour::gives(TICK, said)
    };
    let ended = World::new(plan, json!({}), 4, 1, Box::new(script)).finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

/// A goal with four tools of a server, and what it does when a task fails.
fn with_tools(policy: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted, mcp_servers: {{s: {{command: s, tools: [read, write, list, find]}}}}}}}}
agents: [{{name: g, type: goal, goal: x, tools: [s__read, s__write, s__list, s__find], policies: {{any: {policy}}}}}]
output: {{answer: '{{{{ g.output | json }}}}'}}
"
    );
    plan_of(&text, &[])
}

/// The tools of each task that was launched.
fn offered(plan: Arc<Plan>, says: Says) -> HashMap<String, Vec<String>> {
    let seen = Arc::new(Mutex::new(HashMap::new()));
    let kept = seen.clone();
    let script = move |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let tools = call.settings.tools.as_deref().unwrap_or_default().to_vec();
        kept.lock().unwrap().insert(assignment.task.to_string(), tools);
        match says(&assignment.task.0, &call.prompt) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        }
    };
    let ended = World::new(plan, json!({}), 4, 1, Box::new(script)).finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    seen.lock().unwrap().clone()
}

fn first_fails(id: &str, tools: &[&str]) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => {
            let mut one = task("a", &[]);
            match tools.is_empty() {
                true => drop(one.as_object_mut().expect("an object").remove("tools")),
                false => one["tools"] = json!(tools),
            }
            Ok(json!({"tasks": [one]}))
        }
        "g/1/execute[1]" => Err(Class::Fatal),
        "g/finalise[1]" => final_words("done"),
        _ => done("it"),
    }
}

#[test]
fn who_recovers_a_task_has_the_tools_of_that_task() {
    fn any(id: &str, _: &str) -> Result<Value, Class> {
        first_fails(id, &[])
    }
    fn named(id: &str, _: &str) -> Result<Value, Class> {
        first_fails(id, &["s__read"])
    }
    let of_child = |says: Says| offered(with_tools("[spawn_recovery]"), says)["g/1/1/rescue[1]"].clone();
    assert_eq!(of_child(any), ["s__read", "s__write", "s__list", "s__find"], "those of the goal, as before");
    assert_eq!(of_child(named), ["s__read"]);
}

#[test]
fn another_tool_is_never_the_one_that_failed() {
    fn analysed(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/1/analyse[1]" => {
                Ok(json!({"decision": "execute", "reasoning": "r", "tools": ["s__read", "s__list"]}))
            }
            id => first_fails(id, &["s__read", "s__write"]),
        }
    }
    fn judged(id: &str, prompt: &str) -> Result<Value, Class> {
        let said = |tool: &str| {
            Ok(json!({
                "strategy": "alternative_tool", "reasoning": "r", "confidence": "low", "success_probability": 1,
                "next_steps": "n", "tool": tool,
            }))
        };
        match id {
            "g/1/recover[1]" => said("s__read"),
            "g/1/recover[2]" => {
                assert!(prompt.contains("`s__read` is the tool that failed"), "{prompt}");
                said("s__find")
            }
            id => first_fails(id, &["s__read"]),
        }
    }
    let used = offered(with_tools("[alternative_tool]"), analysed);
    assert_eq!(used["g/1/execute[1]"], ["s__read", "s__list"]);
    assert_eq!(used["g/1/execute[2]"], ["s__write", "s__find"], "without those that were used");
    let said = offered(with_tools("[alternative_tool, repair_parameters]"), judged);
    assert_eq!(said["g/1/execute[2]"], ["s__find"]);
}
