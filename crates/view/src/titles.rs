//! The titles of tasks, from the plan of their goal: `count the words`, not `goal/1/execute[1]`.
//!
//! A fold like the others. Only goals give their tasks words; every other task goes by its name.

use crate::words;
use convoke_model::{ChildKind, ChildSpec, Event, Role, TaskId};
use std::collections::HashMap;

/// The words of every task that has some.
#[derive(Debug, Clone, Default)]
pub struct Titles(HashMap<TaskId, String>);

impl Titles {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        if let Event::ChildrenSpawned { task, children } = event {
            for child in children {
                let words = self.title(task, child);
                self.0.extend(words.map(|words| (child.child_of(task), words)));
            }
        }
    }

    /// What a task is about, if it was said.
    pub fn of(&self, task: &TaskId) -> Option<&str> {
        self.0.get(task).map(String::as_str)
    }

    fn title(&self, parent: &TaskId, child: &ChildSpec) -> Option<String> {
        let role = match &child.kind {
            ChildKind::Item(item) => return Some(words::first_line(&item.description)),
            ChildKind::Collect { .. } => Role::Collect,
            ChildKind::Role { role, .. } => *role,
            _ => return None,
        };
        Some(match (self.of(parent), verb(role)) {
            (Some(about), None) => about.to_owned(),
            (Some(about), Some(verb)) => format!("{verb}: {about}"),
            (None, verb) => format!("{}: {}", words::task(parent), verb.unwrap_or(role.word())),
        })
    }
}

/// What a role does with its task; doing the task itself needs no word.
fn verb(role: Role) -> Option<&'static str> {
    match role {
        Role::Execute => None,
        Role::Plan => Some("plan"),
        Role::Analyse => Some("look at"),
        Role::Decompose => Some("split up"),
        Role::Reconcile => Some("put together"),
        Role::Recover => Some("find another way"),
        Role::Rescue => Some("try another way"),
        Role::Classify => Some("look for what is missing"),
        Role::Finalise => Some("write the answer"),
        Role::Collect => Some("summarise results"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::events::id;

    #[test]
    fn tasks_of_a_goal_go_by_their_own_words() {
        let item = serde_json::from_value(serde_json::json!({"description": "count the words\nof it"}));
        let role = |role| ChildKind::Role { role, note: None };
        let spawned = |task: &str, key: &str, kind| Event::ChildrenSpawned {
            task: id(task),
            children: vec![ChildSpec::new(key, kind)],
        };
        let mut titles = Titles::default();
        titles.apply(&spawned("goal", "1", role(Role::Plan)));
        titles.apply(&spawned("goal", "1", ChildKind::Item(Box::new(item.unwrap()))));
        titles.apply(&spawned("goal/1", "1", role(Role::Execute)));
        titles.apply(&spawned("goal/1", "1", role(Role::Decompose)));
        let shown = |task: &str| titles.of(&id(task));
        assert_eq!(shown("goal/plan[1]"), Some("goal: plan"));
        assert_eq!(shown("goal/1"), Some("count the words …"));
        assert_eq!(shown("goal/1/execute[1]"), Some("count the words …"));
        assert_eq!(shown("goal/1/decompose[1]"), Some("split up: count the words …"));
        assert_eq!(shown("goal"), None);
    }
}
