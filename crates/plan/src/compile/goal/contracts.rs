//! What each role of a goal answers.
//!
//! The shapes say what can be said about a value alone; what depends on others (ids, tools that are allowed, bounds) is
//! judged by the scheduler when the answer is there.

use super::super::shapes::{object, one_of, schema, told};
use crate::plan::Action;
use convoke_model::{FieldType, OutputField, OutputSchema, Role};

/// The contract of a role.
pub(super) fn of(role: Role) -> OutputSchema {
    match role {
        Role::Plan => schema([
            ("tasks", tasks()),
            (
                "complete",
                optional(told(FieldType::Boolean, "whether these tasks are all that the goal needs")),
            ),
        ]),
        Role::Decompose => schema([("tasks", tasks())]),
        Role::Analyse => schema([
            ("decision", one_of(&["execute", "spawn"])),
            ("reasoning", text("why")),
            ("tools", names("names of the tools that it needs; empty if none")),
        ]),
        Role::Execute | Role::Rescue | Role::Reconcile => schema([
            ("result", told(FieldType::Any, "what the task came to, whole")),
            ("summary", text("one sentence")),
            ("goal_achieved", told(FieldType::Boolean, "whether the task was really done")),
            ("reason", text("why")),
        ]),
        Role::Recover => recovery(),
        Role::Classify => schema([
            ("done", told(FieldType::Boolean, "whether no further task is needed or would help")),
            ("goal_achieved", optional(told(FieldType::Boolean, "whether the goal is reached as it stands"))),
            ("reason", text("why")),
            ("tasks", further_tasks()),
        ]),
        Role::Finalise => schema([
            ("message", OutputField { min_length: Some(1), max_length: Some(100_000), ..text("the answer") }),
            ("next_steps", OutputField { max_length: Some(1000), ..text("what the person could do now") }),
            ("issues", text("what is missing, uncertain or contradictory")),
            ("goal_achieved", optional(told(FieldType::Boolean, "whether the goal was really reached"))),
            ("reason", text("why the goal counts as reached or not")),
        ]),
        Role::Collect => schema([
            (
                "digest",
                OutputField {
                    min_length: Some(1),
                    max_length: Some(8000),
                    // Something must be said: blanks are no digest.
                    pattern: Some(r"\S".to_owned()),
                    ..text("what they came to")
                },
            ),
            ("issues", OutputField { max_length: Some(1000), ..text("what is missing or contradictory") }),
        ]),
    }
}

fn recovery() -> OutputSchema {
    let actions: Vec<&str> = Action::ALL.iter().map(|action| action.word()).collect();
    schema([
        ("strategy", one_of(&actions)),
        ("reasoning", text("why")),
        ("confidence", one_of(&["high", "medium", "low"])),
        ("success_probability", percent("how likely it helps")),
        ("next_steps", text("what to do differently")),
        (
            "tool",
            optional(OutputField { nullable: true, refers: true, ..text("the other tool, by its name") }),
        ),
    ])
}

/// The tasks of a later round, which may make up for failed ones.
fn further_tasks() -> OutputField {
    let mut tasks = told(FieldType::Array, "what is missing; empty if nothing more is needed or would help");
    let mut task = task();
    let replaces = optional(names("ids of failed or skipped tasks that it makes up for"));
    task.properties.as_mut().map(|task| task.insert("replaces".to_owned(), replaces));
    // They make up for what is there: an answer that does not exist has nothing to make up for, and would contradict itself.
    task.refers = true;
    tasks.items = Some(Box::new(task));
    tasks
}

/// How a planner says what proves a task.
const ENSURE: &str = "what the engine checks before the task counts as done, where it can be checked: `file_exists: PATH`, \
                      `file_changed: PATH`, `command: COMMAND`, `tests_pass`, `diff_not_empty`, `tool_called: NAME`";

/// The tasks of a plan.
fn tasks() -> OutputField {
    let mut tasks = told(FieldType::Array, "the tasks");
    tasks.items = Some(Box::new(task()));
    tasks
}

fn task() -> OutputField {
    object([
        ("id", text("a word of yours")),
        ("description", OutputField { min_length: Some(1), ..text("what is to be done, by itself clear") }),
        ("inputs", names("ids of the tasks whose results it needs")),
        ("tools", optional(names("names of the tools that it may use; empty: none; left out: all"))),
        ("priority", optional(told(FieldType::Number, "from 1, the most urgent, to 9; 5 if left out"))),
        ("skip_probability", percent("how likely it cannot be done here; usually 0")),
        ("skip_reason", optional(OutputField { nullable: true, ..text("what can be verified about that") })),
        ("ensure", optional(names(ENSURE))),
        ("estimated_tokens", optional(told(FieldType::Number, "tokens that it will take"))),
        ("estimated_seconds", optional(told(FieldType::Number, "seconds that it will take"))),
    ])
}

fn text(description: &str) -> OutputField {
    told(FieldType::String, description)
}

fn percent(description: &str) -> OutputField {
    let number = told(FieldType::Number, description);
    OutputField { minimum: Some(0.0), maximum: Some(100.0), ..number }
}

/// Names of tasks or tools.
fn names(description: &str) -> OutputField {
    let mut names = told(FieldType::Array, description);
    names.items = Some(Box::new(OutputField { refers: true, ..OutputField::of(FieldType::String) }));
    names
}

fn optional(field: OutputField) -> OutputField {
    OutputField { required: false, ..field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::fit::violations;
    use serde_json::json;

    #[test]
    fn a_digest_without_words_is_an_invalid_answer() {
        let found = |digest: &str| {
            let answer = json!({"digest": digest, "issues": ""});
            violations(&of(Role::Collect), answer.as_object().expect("an object"))
        };
        assert_eq!(found(" two things "), Vec::<String>::new());
        for nothing in ["", "   ", "\n\t"] {
            assert!(!found(nothing).is_empty(), "{nothing:?}");
        }
    }
}
