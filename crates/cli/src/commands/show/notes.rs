//! Remarks of the run: nothing failed by them, and a person should know.

use super::InspectedRun;
use crate::view::format;
use convoke_model::{Event, TaskId};
use serde_json::{Value, json};

/// Notes that are shown to people; `--format json` has all of them.
const MOST_NOTES: usize = 40;

/// One of them.
struct Note<'a> {
    about: Option<&'a TaskId>,
    code: &'a str,
    message: &'a str,
}

impl InspectedRun {
    fn notes(&self) -> impl Iterator<Item = Note<'_>> {
        self.stored.events.iter().filter_map(|stamped| match &stamped.event {
            Event::Noted { task, code, message } => Some(Note { about: task.as_ref(), code, message }),
            _ => None,
        })
    }

    fn notes_of<'a>(&'a self, id: &'a TaskId) -> impl Iterator<Item = Note<'a>> {
        self.notes().filter(move |note| note.about == Some(id))
    }

    /// Those of the run for programs.
    pub(super) fn notes_json(&self) -> Vec<Value> {
        let record =
            |note: Note<'_>| json!({ "task": note.about, "code": note.code, "message": note.message });
        self.notes().map(record).collect()
    }

    /// Those of one task for programs; nothing where there are none.
    pub(super) fn task_notes_json(&self, id: &TaskId) -> Option<Value> {
        let record = |note: Note<'_>| json!({ "code": note.code, "message": note.message });
        let notes: Vec<Value> = self.notes_of(id).map(record).collect();
        (!notes.is_empty()).then(|| json!(notes))
    }

    /// Those of the run for people.
    pub(super) fn notes_text(&self) -> String {
        let lines: Vec<String> = self.notes().map(|note| format!("  {}", note.line())).collect();
        if lines.is_empty() {
            return String::new();
        }
        let left_out = lines.len().saturating_sub(MOST_NOTES);
        let rest = if left_out > 0 { format!("  … {left_out} earlier\n") } else { String::new() };
        format!("\nnotes:\n{rest}{}", lines[left_out..].concat())
    }

    /// Those of one task for people.
    pub(super) fn task_notes_text(&self, id: &TaskId) -> String {
        self.notes_of(id).map(|note| format!("note: {}", note.line())).collect()
    }
}

impl Note<'_> {
    fn line(&self) -> String {
        format!("{} ({})\n", format::first_line(self.message), self.code)
    }
}
