//! A person looks at the plan before anything is done, and answers what only a person can.

use crate::goals::{events, shown, statuses};
use crate::support::World;
use crate::support::goals::{answer, done, scripted, task, two_tasks};
use crate::support::model::Model;
use crate::support::process::until;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_plan_that_was_made_before_is_carried_out_without_a_planner() {
    let mut replies = two_tasks();
    replies.as_object_mut().unwrap().remove("goal/plan");
    let world = scripted(&replies, "");
    world.write(
        "plan.yaml",
        "tasks:\n- {id: x, description: count}\n- {id: y, description: double, inputs: [x]}\n",
    );
    let output = world.convoke(&["goal", "count", "--plan", "plan.yaml"]).exits(0).json();
    assert_eq!(output["tasks"][1]["description"], "double");
}

#[test]
fn a_person_approves_the_plan_before_anything_is_done() {
    let world = scripted(&two_tasks(), "");
    let parked = world.convoke(&["goal", "count", "--approve-plan"]).exits(5).prints_nothing();
    let run = world.run();
    let parked = parked.mentions(&[
        "description: count the words",
        &format!("convoke answer {run} goal~1 approve --resume"),
    ]);
    assert!(parked.stderr.contains("@FILE"), "{parked}");
    assert_eq!(shown(&world)["usage"]["calls"], 1);
    let output = world.convoke(&["answer", &run, "goal", "approve", "--resume"]).exits(0).json();
    assert_eq!(output["message"], "It is 42.");
}

#[test]
fn a_plan_that_a_person_changed_is_the_one_that_runs() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world.write("mine.yaml", "tasks:\n- {id: x, description: count the letters}\n");
    let output = world.convoke(&["answer", &run, "goal", "@mine.yaml", "--resume"]).exits(0).json();
    assert_eq!(output["tasks"][0]["description"], "count the letters");
    assert_eq!(statuses(&output), ["succeeded"]);
    world.convoke(&["answer", &run, "goal", "@no-such-file", "--resume"]).exits(20);
}

#[test]
fn a_plan_that_is_refused_ends_the_goal() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let said = world.convoke(&["answer", &world.run(), "goal", "fail", "--resume"]);
    assert_eq!(said.code, Some(1), "{said}");
    assert_ne!(world.status(), "succeeded");
    assert_eq!(shown(&world)["usage"]["calls"], 1);
}

/// Two tasks: one needs a person until `helped`, the other is slow until then.
fn escalating(helped: Arc<AtomicBool>) -> (World, Model) {
    let model = Model::answering(move |request| {
        let text = request["messages"].to_string();
        let is_helped = helped.load(Ordering::SeqCst);
        let gone = json!({ "result": "", "summary": "", "goal_achieved": false, "reason": "it is gone" });
        match () {
            () if text.contains("Make a plan") => {
                let tasks = json!({ "tasks": [task("a", "find it", &[]), task("b", "crawl along", &[])] });
                json!({ "say": tasks.to_string() })
            }
            () if text.contains("Answer the person") => json!({ "say": answer("There it is.").to_string() }),
            () if text.contains("crawl along") => {
                json!({ "say": done("slow").to_string(), "delay_ms": if is_helped { 0 } else { 60_000 } })
            }
            () => json!({ "say": if is_helped { done("found") } else { gone }.to_string() }),
        }
    });
    let world = World::new();
    let provider =
        format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("{provider}model = \"m\"\n[goal]\npolicies.any = [\"escalate\"]\n"));
    (world, model)
}

#[test]
fn a_question_of_a_stopped_run_is_asked_and_answered_again() {
    let helped = Arc::new(AtomicBool::new(false));
    let (world, model) = escalating(helped.clone());
    let process = world.start(&["goal", "find it"]);
    until("a person is asked", || events(&world).contains("gate_opened"));
    until("the other runs", || model.asked().iter().any(|asked| asked.text.contains("crawl along")));
    let run = world.run();
    world.convoke(&["stop", &run, "--now"]).exits(0);
    process.wait();
    world.convoke(&["answer", &run, "goal/1", "retry"]).exits(22).mentions(&["does not wait"]);
    helped.store(true, Ordering::SeqCst);
    let command = format!("convoke answer {run} goal/1~1 retry --resume");
    world.convoke(&["resume", &run]).exits(5).mentions(&[&command]);
    let shown = world.convoke(&["show", &run]).exits(0).stdout;
    assert!(shown.contains(&command), "{shown}");
    let output = world.convoke(&["answer", &run, "goal/1", "retry", "--resume"]).exits(0).json();
    assert_eq!(statuses(&output), ["succeeded", "succeeded"]);
}

#[test]
fn a_run_that_a_person_gave_up_can_be_finished_later() {
    let helped = Arc::new(AtomicBool::new(false));
    let (world, _model) = escalating(helped.clone());
    world.write("plan.yaml", "tasks: [{id: a, description: find it}]\n");
    world.convoke(&["goal", "find it", "--plan", "plan.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "goal/1", "fail", "--resume"]).exits(1);
    let resumed = world.convoke(&["resume", &run]);
    assert_eq!(resumed.code, Some(5), "{resumed}");
    helped.store(true, Ordering::SeqCst);
    let output = world.convoke(&["answer", &run, "goal/1", "retry", "--resume"]).exits(0).json();
    assert_eq!(statuses(&output), ["succeeded"]);
}

#[test]
fn a_question_that_was_answered_is_not_answered_again() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "goal", "approve"]).exits(0);
    let again = world.convoke(&["answer", &run, "goal", "fail"]).exits(20);
    again.mentions(&["`goal~1` of run", "is answered already", &format!("convoke resume {run}")]);
    let output = world.convoke(&["resume", &run]).exits(0).json();
    assert_eq!(output["message"], "It is 42.", "the first answer counts");
    let over = world.convoke(&["answer", &run, "goal", "approve"]).exits(20);
    over.mentions(&["`goal~1` of run", "is answered already, by"]);
}

#[test]
fn a_plan_is_read_from_standard_input() {
    let mut replies = two_tasks();
    replies.as_object_mut().unwrap().remove("goal/plan");
    let plans = [("- {id: x, description: count}\n", 0), ("- {id: x, description: count, inputs: [y]}\n", 3)];
    for (plan, code) in plans {
        let world = scripted(&replies, "");
        world.write("plan.yaml", plan);
        let mut command = world.command(&["goal", "count", "--plan", "-"]);
        command.stdin(std::fs::File::open(world.work().join("plan.yaml")).unwrap());
        let said = crate::support::process::Process::start(command).wait().exits(code);
        match code {
            0 => assert_eq!(said.json()["tasks"][0]["description"], "count"),
            _ => drop(said.mentions(&["standard input", "needs `y`, and there is no such task"])),
        }
    }
    let world = scripted(&replies, "");
    world.convoke(&["goal", "count", "--plan", "-", "--interactive"]).exits(2).mentions(&["standard input"]);
}
