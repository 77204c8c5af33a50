//! One task of a plan, from data: what each key must hold.
//!
//! Every fault is found, each with its key. What cannot be read is left out, so that the rules between tasks can still be
//! checked. Unknown keys are left to `source`: in a file they are slips, in an answer of a model they do no harm.

use super::proposal::{Draft, UNSTATED};
use convoke_model::hash::HashSet;
use convoke_model::{Condition, Effort, MOST_CONDITIONS};
use serde_json::{Map, Value};

/// A value of a task that is not what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Which task, from 0 on.
    pub task: usize,
    /// Which key of it.
    pub key: &'static str,
    /// Which element, where the key holds a list and one of its elements is wrong.
    pub item: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is required, and it is not there.
    Missing,
    /// A text without words.
    Empty,
    /// It is not this.
    Not(&'static str),
}

/// Reads a task, with everything that is wrong with it. A task without an id goes by its number.
pub fn read_task(index: usize, fields: &Map<String, Value>) -> (Draft, Vec<Fault>) {
    let mut task = Fields { task: index, fields, faults: Vec::new() };
    let amount = |value: &Value| value.as_f64().filter(|amount| *amount >= 0.0);
    let percent = |value: &Value| value.as_f64().filter(|percent| (0.0..=100.0).contains(percent));
    let text = |value: &Value| value.as_str().map(|text| text.trim().to_owned());
    let mut effort = |key| task.read(key, "a number from 0 on", amount);
    let (tokens, seconds) = (effort("estimated_tokens"), effort("estimated_seconds"));
    let draft = Draft {
        id: task.read("id", "a name", name).unwrap_or_else(|| (index + 1).to_string()),
        description: task.description(),
        inputs: task.names("inputs").unwrap_or_default(),
        tools: task.names("tools"),
        priority: task.read("priority", "a number", Value::as_f64).map_or(UNSTATED, |stated| stated as i64),
        skip_probability: task
            .read("skip_probability", "a number between 0 and 100", percent)
            .map_or(0, |percent| percent.round() as u8),
        skip_reason: task.read("skip_reason", "a text", text).unwrap_or_default(),
        effort: Effort {
            tokens: tokens.map(|tokens| tokens as u64).filter(|tokens| *tokens > 0),
            seconds: seconds.map(|seconds| seconds.ceil() as u64).filter(|seconds| *seconds > 0),
        },
        ensure: task.conditions().unwrap_or_default(),
        replaces: task.names("replaces").unwrap_or_default(),
    };
    (draft, task.faults)
}

/// A name; models and people write numbers for them as well.
pub fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The keys of a task that is being read.
struct Fields<'f> {
    task: usize,
    fields: &'f Map<String, Value>,
    faults: Vec<Fault>,
}

impl<'f> Fields<'f> {
    /// The value of a key; null is none.
    fn get(&self, key: &str) -> Option<&'f Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    fn fault(&mut self, key: &'static str, item: Option<usize>, problem: Problem) {
        self.faults.push(Fault { task: self.task, key, item, problem });
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&'f Value) -> Option<T>,
    ) -> Option<T> {
        let found = read(self.get(key)?);
        if found.is_none() {
            self.fault(key, None, Problem::Not(expected));
        }
        found
    }

    fn description(&mut self) -> String {
        let key = "description";
        if self.get(key).is_none() {
            self.fault(key, None, Problem::Missing);
        }
        let text = self.read(key, "a text", Value::as_str).map(str::trim);
        if text == Some("") {
            self.fault(key, None, Problem::Empty);
        }
        text.unwrap_or_default().to_owned()
    }

    /// Conditions; what cannot be read as one is no condition that could be left out.
    fn conditions(&mut self) -> Option<Vec<Condition>> {
        const KEY: &str = "ensure";
        const EXPECTED: &str = "a list of conditions: `file_exists: PATH`, `file_changed: PATH`, `command: COMMAND`, `tests_pass`, \
                                `diff_not_empty`, `tool_called: NAME`";
        let list =
            self.read(KEY, EXPECTED, |value| value.as_array().filter(|list| list.len() <= MOST_CONDITIONS))?;
        let mut conditions = Vec::with_capacity(list.len());
        for (item, value) in list.iter().enumerate() {
            match value.as_str().and_then(|text| Condition::of_model(text).ok()) {
                Some(condition) => conditions.push(condition),
                None => self.fault(KEY, Some(item), Problem::Not(EXPECTED)),
            }
        }
        Some(conditions)
    }

    /// Names, each once.
    fn names(&mut self, key: &'static str) -> Option<Vec<String>> {
        const EXPECTED: &str = "a list of names";
        let list = self.read(key, EXPECTED, Value::as_array)?;
        let mut seen = HashSet::default();
        let mut names = Vec::with_capacity(list.len());
        for (item, value) in list.iter().enumerate() {
            match name(value) {
                Some(name) if !seen.insert(name.clone()) => {}
                Some(name) => names.push(name),
                None => self.fault(key, Some(item), Problem::Not(EXPECTED)),
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(task: Value) -> Vec<(&'static str, Option<usize>, Problem)> {
        let (_, faults) = read_task(0, task.as_object().unwrap());
        faults.into_iter().map(|fault| (fault.key, fault.item, fault.problem)).collect()
    }

    #[test]
    fn every_key_holds_what_it_must() {
        let cases = [
            (json!({}), "description", None, Problem::Missing),
            (json!({"description": " "}), "description", None, Problem::Empty),
            (json!({"description": 3}), "description", None, Problem::Not("a text")),
            (json!({"description": "a", "id": " "}), "id", None, Problem::Not("a name")),
            (json!({"description": "a", "inputs": "b"}), "inputs", None, Problem::Not("a list of names")),
            (
                json!({"description": "a", "tools": ["b", {}]}),
                "tools",
                Some(1),
                Problem::Not("a list of names"),
            ),
            (
                json!({"description": "a", "replaces": [""]}),
                "replaces",
                Some(0),
                Problem::Not("a list of names"),
            ),
            (json!({"description": "a", "priority": "1"}), "priority", None, Problem::Not("a number")),
            (json!({"description": "a", "skip_reason": 1}), "skip_reason", None, Problem::Not("a text")),
            (
                json!({"description": "a", "skip_probability": -1}),
                "skip_probability",
                None,
                Problem::Not("a number between 0 and 100"),
            ),
            (
                json!({"description": "a", "estimated_seconds": -1}),
                "estimated_seconds",
                None,
                Problem::Not("a number from 0 on"),
            ),
        ];
        for (task, key, item, problem) in cases {
            assert_eq!(faults(task.clone()), [(key, item, problem)], "{task}");
        }
    }

    #[test]
    fn everything_that_is_wrong_with_a_task_is_found() {
        let found = faults(json!({"id": [], "inputs": [1, null, true], "priority": "high"}));
        let keys: Vec<_> = found.iter().map(|(key, item, _)| (*key, *item)).collect();
        assert_eq!(
            keys,
            [
                ("id", None),
                ("description", None),
                ("inputs", Some(1)),
                ("inputs", Some(2)),
                ("priority", None)
            ]
        );
    }
}
