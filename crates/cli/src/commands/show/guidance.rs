//! What people said to the agent of a task.

use super::InspectedRun;
use crate::view::format;
use convoke_model::{Event, TaskId};
use serde_json::{Value, json};

impl InspectedRun {
    fn guidance_of<'a>(&'a self, id: &'a TaskId) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.stored.events.iter().filter_map(move |stamped| match &stamped.event {
            Event::TaskGuided { task, text, by } if task == id => Some((text.as_str(), by.as_str())),
            _ => None,
        })
    }

    /// For programs; nothing where nobody spoke.
    pub(super) fn task_guidance_json(&self, id: &TaskId) -> Option<Value> {
        let said: Vec<Value> =
            self.guidance_of(id).map(|(text, by)| json!({ "text": text, "by": by })).collect();
        (!said.is_empty()).then(|| json!(said))
    }

    /// For people.
    pub(super) fn task_guidance_text(&self, id: &TaskId) -> String {
        let line = |(text, by): (&str, &str)| format!("guidance of {by}: {}\n", format::first_line(text));
        self.guidance_of(id).map(line).collect()
    }
}
