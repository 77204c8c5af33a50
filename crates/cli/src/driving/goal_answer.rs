//! The answer to a goal as a person reads it; a plan as YAML that `--plan` takes.

use convoke_plan::generate::yaml;
use serde_json::Value;
use std::fmt::Write as _;

/// The words for an output that is an answer or a plan; `None` for any other.
pub fn of(output: &Value) -> Option<String> {
    let tasks = output.get("tasks")?.as_array()?;
    let Some(message) = output.get("message").and_then(Value::as_str) else {
        return output.get("complete").map(|_| yaml::print(output));
    };
    let mut text = format!("{}\n", message.trim_end());
    for (key, title) in [("next_steps", "Next steps"), ("issues", "Issues")] {
        if let Some(words) = output.get(key).and_then(Value::as_str).filter(|words| !words.trim().is_empty())
        {
            let _ = write!(text, "\n{title}: {}\n", words.trim());
        }
    }
    // What another task made up for is not missing.
    let open = tasks.iter().filter(|task| status(task) != "succeeded" && task.get("replaced_by").is_none());
    let mut open = open.peekable();
    if open.peek().is_some() {
        text.push_str("\nNot done:\n");
    }
    for task in open {
        let word = |key: &str| task.get(key).and_then(Value::as_str).unwrap_or_default();
        let _ =
            writeln!(text, "  {} {} ({}): {}", word("id"), word("description"), status(task), word("reason"));
    }
    Some(text)
}

fn status(task: &Value) -> &str {
    task.get("status").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_its_message_and_what_was_not_done() {
        let task = |id: &str, status: &str| json!({"id": id, "description": "look", "status": status, "reason": "why"});
        let output = json!({
            "message": "It is 4.", "next_steps": "", "issues": "one source", "status": "partial",
            "tasks": [task("1", "succeeded"), task("2", "skipped")],
        });
        let text = of(&output).unwrap();
        assert_eq!(text, "It is 4.\n\nIssues: one source\n\nNot done:\n  2 look (skipped): why\n");
    }

    #[test]
    fn what_another_task_made_up_for_is_not_missing() {
        let output = json!({"message": "It is 4.", "status": "succeeded", "tasks": [
            {"id": "1", "description": "look", "status": "failed", "reason": "why", "replaced_by": ["2"]},
            {"id": "2", "description": "ask", "status": "succeeded", "reason": ""},
        ]});
        assert_eq!(of(&output).unwrap(), "It is 4.\n");
    }

    #[test]
    fn a_plan_is_yaml_and_anything_else_is_left_alone() {
        let plan = json!({"tasks": [{"id": "a", "description": "look"}], "complete": true});
        assert!(of(&plan).unwrap().starts_with("tasks:\n"), "{:?}", of(&plan));
        assert_eq!(of(&json!({"tasks": []})), None);
        assert_eq!(of(&json!({"message": "hello"})), None);
    }
}
