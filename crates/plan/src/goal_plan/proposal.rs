//! Proposed tasks: of a planner, of the role `decompose`, or of a person with an editor.
//!
//! A proposal is read whole or refused with words that its author can act on. Its rules are checked when it is taken
//! (`rules`), not when it is read.

use super::read::read_task;
use crate::value::{SetType, read_set};
use convoke_model::{Condition, Effort};
use serde_json::{Map, Value, json};

/// The priority of a task that states none: the middle of 1, the most urgent, and 9.
pub const UNSTATED: i64 = 5;

/// Tasks, and whether they are all that is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The tasks.
    pub tasks: Vec<Draft>,
    /// Whether they are all that the goal needs.
    pub complete: bool,
}

/// One task in the words of its proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Its author's own name for it.
    pub id: String,
    /// What is to be done; empty only where it could not be read.
    pub description: String,
    /// The tasks whose results it is given.
    pub inputs: Vec<String>,
    /// The tools that it may use: an empty list is none, no list is all of the goal's.
    pub tools: Option<Vec<String>>,
    /// More urgent tasks have smaller numbers.
    pub priority: i64,
    /// In percent.
    pub skip_probability: u8,
    /// Why it may not be possible.
    pub skip_reason: String,
    /// What must hold for it to be done.
    pub ensure: Vec<Condition>,
    /// What it is thought to take.
    pub effort: Effort,
    /// Failed tasks that it makes up for.
    pub replaces: Vec<String>,
}

impl Proposal {
    /// Reads `{tasks: […], complete?}`.
    pub fn read(said: &Value) -> Result<Proposal, String> {
        let tasks = said.get("tasks").ok_or("there is no list `tasks`")?;
        let tasks = tasks.as_array().ok_or("`tasks` must be a list")?;
        let tasks = tasks.iter().enumerate().map(|(index, task)| Draft::read(index, task));
        let complete = match said.get("complete") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(complete)) => *complete,
            Some(_) => return Err("`complete` must be true or false".into()),
        };
        Ok(Proposal { tasks: tasks.collect::<Result<_, _>>()?, complete })
    }

    /// Reads what a person wrote: a list of tasks, or a map with `tasks`, as YAML or JSON.
    pub fn read_text(text: &str) -> Result<Proposal, String> {
        if let Ok(map) = read_set(text, SetType::Dict) {
            return Proposal::read(&map);
        }
        match read_set(text, SetType::List) {
            Ok(list) => Proposal::read(&json!({ "tasks": list })),
            Err(_) => Err("a plan is a list of tasks, or a map with `tasks`, as YAML".into()),
        }
    }

    /// The proposal as data; reading it gives the same proposal.
    pub fn value(&self) -> Value {
        let tasks: Vec<Value> = self.tasks.iter().map(Draft::value).collect();
        json!({ "tasks": tasks, "complete": self.complete })
    }
}

impl Draft {
    fn read(index: usize, said: &Value) -> Result<Draft, String> {
        let fields = said.as_object().ok_or_else(|| format!("task {} must be an object", index + 1))?;
        let (draft, faults) = read_task(index, fields);
        // Models leave ids blank. No other task can refer to such an id, so its number is as good.
        match faults.iter().find(|fault| fault.key != "id") {
            Some(fault) => Err(fault.told()),
            None => Ok(draft),
        }
    }

    fn value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".into(), json!(self.id));
        fields.insert("description".into(), json!(self.description));
        if let Some(tools) = &self.tools {
            fields.insert("tools".into(), json!(tools));
        }
        let lists = [("inputs", &self.inputs), ("replaces", &self.replaces)];
        for (key, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            fields.insert(key.into(), json!(names));
        }
        if self.priority != UNSTATED {
            fields.insert("priority".into(), json!(self.priority));
        }
        fields.insert("skip_probability".into(), json!(self.skip_probability));
        if !self.skip_reason.is_empty() {
            fields.insert("skip_reason".into(), json!(self.skip_reason));
        }
        if !self.ensure.is_empty() {
            let words: Vec<String> = self.ensure.iter().map(Condition::to_string).collect();
            fields.insert("ensure".into(), json!(words));
        }
        let efforts = [("estimated_tokens", self.effort.tokens), ("estimated_seconds", self.effort.seconds)];
        for (key, amount) in efforts.into_iter().filter_map(|(key, amount)| Some((key, amount?))) {
            fields.insert(key.into(), json!(amount));
        }
        Value::Object(fields)
    }
}
