//! What the roles of a goal answer, read strictly: a typed value, or words that say what is wrong.
//!
//! The shape of an answer is checked before it comes here; this is about its meaning. Whether it can be obeyed (bounds,
//! names, what was tried before) is the router's business.

use convoke_model::Role;
use convoke_plan::Action;
use convoke_plan::goal_plan::{Proposal, says_something};
use serde_json::Value;

/// The answer of a role.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GoalAnswer {
    /// Tasks: of the role `plan` or `decompose`.
    Tasks(Proposal),
    /// Whether a task is done by children.
    Size { spawn: bool, reason: String, tools: Vec<String> },
    /// What doing a task came to.
    Work { achieved: bool, reason: String },
    /// How a failed task can still be done.
    Way { action: Action, reason: String, next_steps: String, tool: Option<String> },
    /// Whether more is needed.
    More { done: bool, achieved: Option<bool>, reason: String, tasks: Proposal },
    /// The goal's answer, and whether it was reached.
    Answer { achieved: Option<bool>, reason: String },
    /// What several results came to.
    Digest,
    /// Nothing that can be used, and why.
    Refused(String),
}

/// Reads the answer of a role.
pub(crate) fn read(role: Role, said: &Value) -> GoalAnswer {
    let read = match role {
        Role::Plan | Role::Decompose => Proposal::read(said).map(GoalAnswer::Tasks),
        Role::Analyse => size(said),
        Role::Execute | Role::Rescue | Role::Reconcile => work(said),
        Role::Recover => way(said),
        Role::Classify => more(said),
        Role::Finalise => answer(said),
        Role::Collect => text(said, "digest").map(|_| GoalAnswer::Digest),
    };
    read.unwrap_or_else(GoalAnswer::Refused)
}

fn size(said: &Value) -> Result<GoalAnswer, String> {
    let spawn = match said.get("decision").and_then(Value::as_str) {
        Some("execute") => false,
        Some("spawn") => true,
        _ => return Err("`decision` must be `execute` or `spawn`".into()),
    };
    Ok(GoalAnswer::Size { spawn, reason: words(said, "reasoning"), tools: list(said, "tools") })
}

fn work(said: &Value) -> Result<GoalAnswer, String> {
    let achieved = flag(said, "goal_achieved")?;
    if achieved && !has_result(said) {
        return Err("there is no `result`".into());
    }
    Ok(GoalAnswer::Work { achieved, reason: words(said, "reason") })
}

/// Whether what a task came to was said. Nothing found is a result; a text without words is none.
fn has_result(said: &Value) -> bool {
    match said.get("result") {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(_) => true,
    }
}

fn way(said: &Value) -> Result<GoalAnswer, String> {
    let word = text(said, "strategy")?;
    let action = Action::ALL.into_iter().find(|action| action.word() == word);
    let action = action.ok_or_else(|| format!("there is no strategy `{word}`"))?;
    let tool = Some(words(said, "tool")).filter(|tool| !tool.is_empty());
    let reason = words(said, "reasoning");
    if action == Action::Skip && !says_something(&reason) {
        return Err("a task is skipped only with a `reasoning` that can be verified".into());
    }
    Ok(GoalAnswer::Way { action, reason, next_steps: words(said, "next_steps"), tool })
}

fn more(said: &Value) -> Result<GoalAnswer, String> {
    let done = flag(said, "done")?;
    let tasks = match said.get("tasks") {
        None | Some(Value::Null) => Proposal { tasks: Vec::new(), complete: true },
        Some(_) => Proposal::read(said)?,
    };
    let achieved = stated_flag(said, "goal_achieved")?;
    Ok(GoalAnswer::More { done, achieved, reason: words(said, "reason"), tasks })
}

fn answer(said: &Value) -> Result<GoalAnswer, String> {
    text(said, "message")?;
    Ok(GoalAnswer::Answer { achieved: stated_flag(said, "goal_achieved")?, reason: words(said, "reason") })
}

/// A flag that may be left out: then it says neither.
fn stated_flag(said: &Value, key: &str) -> Result<Option<bool>, String> {
    match said.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => flag(said, key).map(Some),
    }
}

fn flag(said: &Value, key: &str) -> Result<bool, String> {
    said.get(key).and_then(Value::as_bool).ok_or_else(|| format!("`{key}` must be true or false"))
}

/// A text that must say something.
fn text(said: &Value, key: &str) -> Result<String, String> {
    Some(words(said, key)).filter(|text| !text.is_empty()).ok_or_else(|| format!("`{key}` must be a text"))
}

/// A text, empty where there is none.
pub(crate) fn words(said: &Value, key: &str) -> String {
    said.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn list(said: &Value, key: &str) -> Vec<String> {
    let all = said.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_analyser_is_read_with_its_reasoning() {
        for (decision, spawn) in [("spawn", true), ("execute", false)] {
            let said =
                read(Role::Analyse, &json!({"decision": decision, "reasoning": "two parts", "tools": ["a"]}));
            let expected = GoalAnswer::Size { spawn, reason: "two parts".into(), tools: vec!["a".into()] };
            assert_eq!(said, expected);
        }
        assert!(matches!(read(Role::Analyse, &json!({"decision": "maybe"})), GoalAnswer::Refused(_)));
    }

    #[test]
    fn an_achieved_task_has_a_result() {
        let without = read(Role::Execute, &json!({"goal_achieved": true, "reason": "fine"}));
        assert_eq!(without, GoalAnswer::Refused("there is no `result`".into()));
        for nothing in [json!(null), json!(""), json!(" \n")] {
            let said = read(Role::Execute, &json!({"result": nothing, "goal_achieved": true, "reason": "r"}));
            assert_eq!(said, GoalAnswer::Refused("there is no `result`".into()), "{nothing}");
        }
        for something in [json!(0), json!(false), json!([]), json!({}), json!("none")] {
            let said =
                read(Role::Execute, &json!({"result": something, "goal_achieved": true, "reason": "r"}));
            assert_eq!(said, GoalAnswer::Work { achieved: true, reason: "r".into() }, "{something}");
        }
        let not = read(Role::Execute, &json!({"goal_achieved": false, "reason": "no such file"}));
        assert_eq!(not, GoalAnswer::Work { achieved: false, reason: "no such file".into() });
        assert!(matches!(read(Role::Execute, &json!({"result": "x"})), GoalAnswer::Refused(_)));
    }

    #[test]
    fn whether_a_goal_was_reached_may_be_left_out_but_not_said_otherwise() {
        let answer = |achieved: Value| {
            read(Role::Finalise, &json!({"message": "m", "reason": "r", "goal_achieved": achieved}))
        };
        assert_eq!(answer(json!(false)), GoalAnswer::Answer { achieved: Some(false), reason: "r".into() });
        assert_eq!(answer(Value::Null), GoalAnswer::Answer { achieved: None, reason: "r".into() });
        assert!(matches!(answer(json!("no")), GoalAnswer::Refused(_)));
        let more = read(Role::Classify, &json!({"done": true, "goal_achieved": false, "reason": "r"}));
        assert!(matches!(more, GoalAnswer::More { done: true, achieved: Some(false), .. }));
    }

    #[test]
    fn only_known_strategies_count_and_a_skip_says_why() {
        assert!(matches!(read(Role::Recover, &json!({"strategy": "LLM_RECOVERY"})), GoalAnswer::Refused(_)));
        for nothing in ["", "-", "n/a", "N/A.", "None", "(unknown)", "x", "…"] {
            let said = read(Role::Recover, &json!({"strategy": "skip", "reasoning": nothing}));
            assert!(matches!(said, GoalAnswer::Refused(_)), "{nothing}");
        }
        let said = read(Role::Recover, &json!({"strategy": "skip", "reasoning": "no key"}));
        assert!(matches!(said, GoalAnswer::Way { action: Action::Skip, .. }));
        let said =
            read(Role::Recover, &json!({"strategy": "alternative_tool", "tool": "grep", "reasoning": "r"}));
        assert!(
            matches!(said, GoalAnswer::Way { action: Action::AlternativeTool, tool: Some(tool), .. } if tool == "grep")
        );
    }

    #[test]
    fn whatever_a_model_says_is_read_or_refused() {
        let odd = [json!(null), json!([]), json!("text"), json!({"tasks": 7}), json!({"tasks": [1, null]})];
        for (role, said) in Role::ALL.iter().flat_map(|role| odd.iter().map(move |said| (role, said))) {
            assert!(matches!(read(*role, said), GoalAnswer::Refused(_)), "{role:?} {said}");
        }
    }
}
