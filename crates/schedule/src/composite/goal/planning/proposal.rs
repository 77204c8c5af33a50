//! Tasks as somebody proposes them: a planner, whoever takes a task apart, or a person with an editor.
//!
//! A proposal is read whole or refused with words that its author can act on. What it may refer to and how many tasks
//! there may be is checked when it is taken (`check`), not when it was written.

use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Effort, Item, Skip, TaskId};
use convoke_plan::generate::yaml;
use convoke_plan::value::{SetType, read_set};
use serde_json::{Map, Value, json};

/// The priority of a task that states none: the middle of 1, the most urgent, and 9.
const UNSTATED: i64 = 5;

/// Tasks, and whether they are all that is needed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proposal {
    pub tasks: Vec<Draft>,
    pub complete: bool,
}

/// One task in the words of whoever proposes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    /// Its author's own name for it.
    pub id: String,
    pub description: String,
    pub inputs: Vec<String>,
    /// The tools that it may use: an empty list is none, no list is all of the goal's.
    pub tools: Option<Vec<String>>,
    pub priority: i64,
    /// In percent.
    pub skip_probability: u8,
    pub skip_reason: String,
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

    /// The proposal as YAML that a person can edit.
    pub fn yaml(&self) -> String {
        yaml::print(&self.value())
    }

    /// The tasks with their ids, in the order given, numbered from `first` below a task.
    pub fn items(&self, below: &TaskId, first: u32, depth: u32, known: &dyn Fn(&str) -> TaskId) -> Vec<Item> {
        let places = self.tasks.iter().zip(first..).map(|(task, number)| (task.id.as_str(), number));
        let places: HashMap<&str, u32> = places.collect();
        let resolve = |id: &String| match places.get(id.as_str()) {
            Some(number) => TaskId::new(Some(below), &number.to_string(), None, 1),
            None => known(id),
        };
        let item = |task: &Draft| Item {
            description: task.description.clone(),
            inputs: task.inputs.iter().map(resolve).collect(),
            tools: task.tools.clone().unwrap_or_default(),
            toolless: task.tools.as_ref().is_some_and(Vec::is_empty),
            priority: task.priority.saturating_sub(UNSTATED),
            skip: task.skip(),
            effort: task.effort,
            replaces: task.replaces.iter().map(|id| known(id)).collect(),
            note: None,
            depth,
        };
        self.tasks.iter().map(item).collect()
    }
}

impl Draft {
    fn read(index: usize, said: &Value) -> Result<Draft, String> {
        let number = index + 1;
        let fields = said.as_object().ok_or_else(|| format!("task {number} must be an object"))?;
        let wrong = |key: &str, what: &str| format!("task {number}: `{key}` must be {what}");
        let description = match fields.get("description").and_then(Value::as_str).map(str::trim) {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => return Err(wrong("description", "a text")),
        };
        let names = |key: &str| names(fields, key).ok_or_else(|| wrong(key, "a list of names"));
        let amount = |key: &str| amount(fields, key).ok_or_else(|| wrong(key, "a number from 0 on"));
        let skip = amount("skip_probability")?.unwrap_or(0.0);
        if skip > 100.0 {
            return Err(wrong("skip_probability", "between 0 and 100"));
        }
        Ok(Draft {
            id: fields.get("id").and_then(name).unwrap_or_else(|| number.to_string()),
            description,
            inputs: names("inputs")?,
            tools: fields
                .get("tools")
                .filter(|tools| !tools.is_null())
                .map(|_| names("tools"))
                .transpose()?,
            priority: priority(fields).ok_or_else(|| wrong("priority", "a number"))?,
            skip_probability: skip.round() as u8,
            skip_reason: text(fields, "skip_reason").ok_or_else(|| wrong("skip_reason", "a text"))?,
            effort: Effort {
                tokens: amount("estimated_tokens")?.map(|tokens| tokens as u64).filter(|tokens| *tokens > 0),
                seconds: amount("estimated_seconds")?
                    .map(|seconds| seconds.ceil() as u64)
                    .filter(|seconds| *seconds > 0),
            },
            replaces: names("replaces")?,
        })
    }

    fn skip(&self) -> Option<Skip> {
        let skip = Skip { probability: self.skip_probability, reason: self.skip_reason.clone() };
        (self.skip_probability > 0).then_some(skip)
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
        let efforts = [("estimated_tokens", self.effort.tokens), ("estimated_seconds", self.effort.seconds)];
        for (key, amount) in efforts.into_iter().filter_map(|(key, amount)| Some((key, amount?))) {
            fields.insert(key.into(), json!(amount));
        }
        Value::Object(fields)
    }
}

/// A name; models write numbers for them as well.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn names(fields: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    match fields.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(list)) => {
            let mut all: Vec<String> = list.iter().map(name).collect::<Option<_>>()?;
            let mut seen = HashSet::default();
            all.retain(|name| seen.insert(name.clone()));
            Some(all)
        }
        Some(_) => None,
    }
}

fn amount(fields: &Map<String, Value>, key: &str) -> Option<Option<f64>> {
    match fields.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_f64().filter(|amount| *amount >= 0.0).map(Some),
    }
}

fn priority(fields: &Map<String, Value>) -> Option<i64> {
    match fields.get("priority") {
        None | Some(Value::Null) => Some(UNSTATED),
        Some(value) => value.as_f64().map(|priority| priority as i64),
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    match fields.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(value) => value.as_str().map(|text| text.trim().to_owned()),
    }
}

#[cfg(test)]
#[path = "proposal_tests.rs"]
pub(in crate::composite::goal) mod tests;
