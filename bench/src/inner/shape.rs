//! The work whose deciding is counted: what is planned, and what each attempt answers.
//!
//! Deciding must cost the same per task however many there are, in every shape that work can have; a scan of all tasks
//! whenever one ends is what goes wrong most easily, and only counting shows it.

use super::compile;
use crate::error::Error;
use crate::workflow;
use convoke_model::JsonText;
use convoke_plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// How the tasks hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// One agent, many, one.
    #[default]
    FanOut,
    /// Each after the one before, by routes.
    Chain,
    /// The agents of a manifest and one answer.
    Manifest,
    /// A goal's tasks, none of which needs another.
    Goal,
    /// A goal's tasks, each of which needs the one before.
    GoalChain,
    /// A goal's tasks, whose results become digests before they are answered from.
    GoalDigests,
    /// Phases of personas, each after the one before.
    Phases,
    /// A phase that hands work to many.
    Children,
    /// A phase that hands work to many, each of whom hands it on to one.
    Grandchildren,
}

impl Shape {
    /// The plan of `count` tasks.
    pub fn plan(self, count: u32) -> Result<Arc<Plan>, Error> {
        compile(&match self {
            Self::FanOut => workflow::fan_out(workflow::AT_ONCE),
            Self::Chain => workflow::chain(count as usize),
            Self::Manifest => workflow::departments(count, 60, "hierarchical", workflow::AT_ONCE),
            Self::Goal | Self::GoalChain | Self::GoalDigests => workflow::goal(count),
            Self::Phases => workflow::phases(count),
            Self::Children | Self::Grandchildren => workflow::children(count),
        })
    }

    /// What the run is given.
    pub fn inputs(self, count: u32) -> Value {
        match self {
            Self::FanOut => json!({"count": count}),
            Self::Manifest => json!({"query": "How are we doing?", "context": ""}),
            _ => json!({}),
        }
    }

    /// What the attempts of a task answer, by the task's name.
    pub fn answers(self, count: u32) -> impl Fn(&str) -> JsonText {
        let plain = JsonText::of(&match self {
            Self::FanOut | Self::Chain => json!({"answer": "answer"}),
            Self::Manifest => json!({"result": "It goes well."}),
            Self::Goal | Self::GoalChain => {
                json!({"result": "done", "summary": "done", "goal_achieved": true, "reason": "it is"})
            }
            Self::GoalDigests => {
                let long = "done ".repeat(1_000);
                json!({"result": long, "summary": "done", "goal_achieved": true, "reason": "it is"})
            }
            Self::Phases | Self::Children | Self::Grandchildren => {
                json!({"status": "success", "payload": {"answer": "answer"}})
            }
        });
        let (handed_out, handed_on) =
            (JsonText::of(&handed("hand", count)), JsonText::of(&handed("other", 1)));
        let planned = JsonText::of(&planned(count, self == Self::GoalChain));
        let finished = JsonText::of(&json!({
            "message": "All is done.", "next_steps": "", "issues": "", "reason": "it is", "goal_achieved": true
        }));
        let digest = JsonText::of(&json!({"digest": "all of it", "issues": ""}));
        move |task| match task {
            "goal/plan[1]" => planned.clone(),
            "goal/finalise[1]" => finished.clone(),
            task if task.starts_with("goal/collect") => digest.clone(),
            "all/try[1]" => handed_out.clone(),
            child if self == Self::Grandchildren && is_handed(child) => handed_on.clone(),
            _ => plain.clone(),
        }
    }
}

/// What somebody answers who hands out work.
fn handed(persona: &str, count: u32) -> Value {
    let child = |number: u32| json!({"persona": persona, "task": format!("Do part {number}.")});
    json!({"status": "success", "payload": {}, "children": (1..=count).map(child).collect::<Vec<Value>>()})
}

/// Whether a task was handed out by a try itself.
fn is_handed(task: &str) -> bool {
    task.starts_with("all/child[") && task.matches('.').count() == 1
}

/// What a planner answers: the tasks of a goal.
fn planned(count: u32, chained: bool) -> Value {
    let task = |number: u32| {
        let inputs: Vec<String> =
            if chained && number > 1 { vec![format!("t{}", number - 1)] } else { Vec::new() };
        json!({"id": format!("t{number}"), "description": format!("Do part {number}."), "inputs": inputs, "tools": []})
    };
    json!({"tasks": (1..=count).map(task).collect::<Vec<Value>>(), "complete": true})
}
