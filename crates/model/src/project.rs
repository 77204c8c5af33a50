//! What the runs of one project share: flags, pointers to artefacts, a queue of tasks; and how it changes.
//!
//! Data and one pure function, [`ProjectContext::apply`]. Where it is kept and how concurrent changes are ordered is the
//! store's business.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format.
pub const PROJECT_SCHEMA: u32 = 1;

/// The shared context of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectContext {
    /// The version of the format.
    pub schema_version: u32,
    /// Flags by name.
    #[serde(default)]
    pub global_flags: IndexMap<String, bool>,
    /// Where artefacts are, by name.
    #[serde(default)]
    pub artifact_pointers: IndexMap<String, String>,
    /// Tasks of the project, in order.
    #[serde(default)]
    pub task_queue: Vec<ProjectTask>,
}

impl Default for ProjectContext {
    fn default() -> Self {
        ProjectContext {
            schema_version: PROJECT_SCHEMA,
            global_flags: IndexMap::new(),
            artifact_pointers: IndexMap::new(),
            task_queue: Vec::new(),
        }
    }
}

/// A task of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectTask {
    /// Its name, once in the queue.
    pub task_id: String,
    /// How it stands.
    pub status: ProjectTaskStatus,
    /// Where it is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metadata: IndexMap<String, Value>,
}

/// How a task of a project stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectTaskStatus {
    /// It has not begun.
    Pending,
    /// It is worked on.
    InProgress,
    /// It cannot go on.
    Blocked,
    /// It waits for a review.
    Review,
    /// Its work does not fit what others did.
    Conflict,
    /// It is made to fit.
    ResolvingConflict,
    /// It is part of the whole.
    Merged,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
}

/// A change of the shared context; what it does not name stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectPatch {
    /// Flags to set; null takes one away.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub global_flags: IndexMap<String, Option<bool>>,
    /// Pointers to set; null takes one away.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub artifact_pointers: IndexMap<String, Option<String>>,
    /// Changes of the queue.
    #[serde(default, skip_serializing_if = "QueuePatch::is_empty")]
    pub task_queue: QueuePatch,
}

/// Changes of a project's queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePatch {
    /// Tasks to put in the place of those with the same name, or at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upsert: Vec<ProjectTask>,
    /// Names of tasks to take away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

impl QueuePatch {
    fn is_empty(&self) -> bool {
        self.upsert.is_empty() && self.remove.is_empty()
    }
}

impl ProjectContext {
    /// Takes a change in. Applied twice in a row it is as good as once.
    pub fn apply(&mut self, patch: &ProjectPatch) {
        put(&mut self.global_flags, &patch.global_flags);
        put(&mut self.artifact_pointers, &patch.artifact_pointers);
        self.task_queue.retain(|task| !patch.task_queue.remove.contains(&task.task_id));
        for task in &patch.task_queue.upsert {
            match self.task_queue.iter_mut().find(|known| known.task_id == task.task_id) {
                Some(known) => known.clone_from(task),
                None => self.task_queue.push(task.clone()),
            }
        }
    }

    /// What is wrong with it beyond its form; `None` if nothing is.
    pub fn problem(&self) -> Option<String> {
        if self.schema_version != PROJECT_SCHEMA {
            return Some(format!(
                "schemaVersion is {}, and this version knows {PROJECT_SCHEMA}",
                self.schema_version
            ));
        }
        let twice =
            self.task_queue.iter().enumerate().find(|(at, task)| {
                self.task_queue[..*at].iter().any(|earlier| earlier.task_id == task.task_id)
            });
        twice.map(|(_, task)| format!("taskQueue names `{}` twice", task.task_id))
    }
}

fn put<V: Clone>(into: &mut IndexMap<String, V>, changes: &IndexMap<String, Option<V>>) {
    for (name, value) in changes {
        match value {
            Some(value) => drop(into.insert(name.clone(), value.clone())),
            None => drop(into.shift_remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patch(value: Value) -> ProjectPatch {
        serde_json::from_value(value).expect("a patch")
    }

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_else() {
        let mut context = ProjectContext::default();
        context.apply(&patch(json!({
            "globalFlags": {"ready": true, "old": true}, "artifactPointers": {"plan": "docs/plan.md"},
            "taskQueue": {"upsert": [{"taskId": "a", "status": "pending"}, {"taskId": "b", "status": "conflict"}]},
        })));
        context.apply(&patch(json!({
            "globalFlags": {"old": null}, "artifactPointers": {"plan": null, "log": "x"},
            "taskQueue": {"upsert": [{"taskId": "b", "status": "resolving_conflict"}], "remove": ["a"]},
        })));
        assert_eq!(
            serde_json::to_value(&context).unwrap(),
            json!({
                "schemaVersion": 1, "globalFlags": {"ready": true}, "artifactPointers": {"log": "x"},
                "taskQueue": [{"taskId": "b", "status": "resolving_conflict"}],
            })
        );
    }

    #[test]
    fn flags_are_booleans_and_names_are_unique() {
        let bad = r#"{"schemaVersion": 1, "globalFlags": {"ready": "yes"}}"#;
        let error = serde_json::from_str::<ProjectContext>(bad).unwrap_err().to_string();
        assert!(error.contains("expected a boolean") && error.contains("line 1"), "{error}");
        let twice = json!({"schemaVersion": 1, "taskQueue": [
            {"taskId": "a", "status": "pending"}, {"taskId": "a", "status": "failed"}]});
        let twice: ProjectContext = serde_json::from_value(twice).unwrap();
        assert_eq!(twice.problem().as_deref(), Some("taskQueue names `a` twice"));
        let newer: ProjectContext = serde_json::from_value(json!({"schemaVersion": 2})).unwrap();
        assert!(newer.problem().is_some_and(|problem| problem.contains("schemaVersion is 2")));
    }
}
