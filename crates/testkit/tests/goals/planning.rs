//! Plans that are asked for, given and refused, and the tools that they name.

use crate::kit::*;
use convoke_model::{Assignment, Class, Event, RunStatus, Stamped, Work};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};

#[test]
fn only_the_plan_can_be_asked_for_or_given() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])], "complete": true})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", plan_only: true"), 9, says);
    assert_eq!((ended.status, launched(&world)), (RunStatus::Succeeded, vec!["g/plan[1]".to_owned()]));
    assert_eq!(answer(&ended)["tasks"][1]["inputs"], json!(["a"]));
    let (ended, world) =
        run(&goal(", plan: [{id: x, description: first}, {description: second, inputs: [x]}]"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&world), ["g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
}

#[test]
fn a_plan_that_cannot_be_used_is_refused_once_with_the_reason() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &["b"]), task("b", &["a"])]})),
            "g/plan[2]" => {
                assert!(prompt.contains("in a circle"), "{prompt}");
                Ok(json!({"tasks": [task("a", &[])]}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    fn never(id: &str, _: &str) -> Result<Value, Class> {
        assert!(id.starts_with("g/plan"), "{id}");
        Ok(json!({"tasks": []}))
    }
    assert_eq!(run(&goal(""), 4, says).0.status, RunStatus::Succeeded);
    let (ended, world) = run(&goal(""), 4, never);
    assert_eq!((ended.status, launched(&world).len()), (RunStatus::Failed, 2));
    assert_eq!(ended.failure.unwrap().reason.as_deref(), Some("plan_refused"));
}

#[test]
fn ao_6_and_ao_7_a_tool_that_is_not_there_is_left_out_and_said() {
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
fn ao_11_whoever_does_a_task_has_only_the_tools_that_are_allowed_and_named() {
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
                json!({"tasks": [both, one, task("c", &[])]})
            }
            "g/1/analyse[1]" => {
                json!({"decision": "execute", "reasoning": "r", "tools": ["s__read", "s__list"]})
            }
            "g/finalise[1]" => final_words("done").unwrap(),
            id => {
                let expected = match id {
                    "g/1/execute[1]" => vec!["s__read"],
                    "g/2/execute[1]" => vec!["s__write"],
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
