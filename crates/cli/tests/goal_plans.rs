//! Plans that people write, change and approve: judged before anything is started or sent, each mistake at its place.

use crate::support;

use serde_json::json;
use support::World;
use support::goals::{scripted, two_tasks};

/// A goal whose plan waits for a person.
fn waiting() -> (World, String) {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    (world, run)
}

/// Plans that cannot be carried out, where that is told, and in which words.
const WRONG: &[(&str, &str, &str)] = &[
    ("", "the plan `plan.yaml` is empty", "a plan is a list of tasks"),
    ("# later\n", "plan.yaml:1:1", "is empty"),
    ("tasks: []\n", "plan.yaml:1:1", "has no tasks"),
    ("tasks:\n- {id: x\n", "plan.yaml:2:3", "yaml::syntax"),
    (
        "- {id: x, description: a}\n- {id: y, description: b, input: [x]}\n",
        "plan.yaml:2:27",
        "did you mean `inputs`?",
    ),
    ("- {id: x, description: a, priorty: 1}\n", "plan.yaml:1:27", "did you mean `priority`?"),
    ("- {id: x, description: a, inputs: [z]}\n", "plan.yaml:1:36", "needs `z`"),
    (
        "- {id: x, description: a, inputs: [y]}\n- {id: y, description: b, inputs: [x]}\n",
        "plan.yaml:1:36",
        "x → y → x",
    ),
];

#[test]
fn a_plan_that_cannot_be_carried_out_starts_nothing() {
    let world = scripted(&two_tasks(), "");
    for (plan, place, words) in WRONG {
        world.write("plan.yaml", plan);
        let said = world.convoke(&["goal", "count", "--plan", "plan.yaml"]).exits(3).prints_nothing();
        said.mentions(&[place, words, "plan `plan.yaml` is refused"]);
    }
    world.write("plan.yaml", "- description: a\n- description: b\n");
    let args = ["goal", "count", "--plan", "plan.yaml", "--max-tasks", "1"];
    world.convoke(&args).exits(3).mentions(&["plan.yaml:2:3", "at most 1"]);
    assert!(world.runs().is_empty());
}

#[test]
fn an_answer_with_a_plan_that_cannot_be_carried_out_is_not_sent() {
    let (world, run) = waiting();
    for (plan, place, words) in WRONG {
        world.write("plan.yaml", plan);
        let said = world.convoke(&["answer", &run, "goal", "@plan.yaml", "--resume"]).exits(3);
        said.mentions(&[place, words, "plan `plan.yaml` is refused"]);
    }
    world.convoke(&["answer", &run, "goal", "@nowhere.yaml"]).exits(2).mentions(&["nowhere.yaml"]);
    let asked = world.convoke(&["resume", &run]).exits(5);
    asked.mentions(&["description: count the words", "convoke answer"]);
    world.write("plan.yaml", "- {id: x, description: count the letters}\n");
    let output = world.convoke(&["answer", &run, "goal", "@plan.yaml", "--resume"]).exits(0).json();
    assert_eq!(output["tasks"][0]["description"], "count the letters");
}

#[test]
fn words_that_are_no_answer_to_a_plan_are_told_what_would_be() {
    let (world, run) = waiting();
    for slip in ["whatever", "aprove", "fial"] {
        let said = world.convoke(&["answer", &run, "goal", slip, "--resume"]).exits(2);
        said.mentions(&[
            "`approve`, `fail`, or `@FILE`",
            &format!("convoke answer {run} goal~1 approve --resume"),
        ]);
    }
    let inline = "tasks: [{description: a, descripton: b}]";
    world.convoke(&["answer", &run, "goal", inline]).exits(3).mentions(&["did you mean `description`?"]);
    world.convoke(&["answer", &run, "goal", "approve", "--resume"]).exits(0);
}

#[test]
fn what_plan_only_writes_is_what_plan_takes() {
    let world = scripted(&two_tasks(), "");
    let planned = world.convoke(&["goal", "count", "--plan-only", "--strict"]).exits(0);
    assert!(planned.stdout.starts_with("tasks:\n") && planned.stdout.contains("complete: true"), "{planned}");
    assert!(!planned.stderr.contains("undeclared_field"), "{planned}");
    assert!(
        world.convoke(&["show", &world.run(), "--format", "json"]).json()["goals"][0]["tasks"] == json!([])
    );
    world.write("plan.yaml", &planned.stdout);
    let output = world.convoke(&["goal", "count", "--plan", "plan.yaml", "--strict"]).exits(0).json();
    assert_eq!(output["tasks"][1]["description"], "double it");
    let plan = world.convoke(&["goal", "count", "--plan-only", "--format", "json"]).exits(0).json();
    assert_eq!(plan["tasks"][1]["inputs"], json!(["a"]));
}
