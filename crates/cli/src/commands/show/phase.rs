//! Why a phase of a pipeline has started, or has not: the reasons of the routing decision, which name what each edge waited for.

use super::InspectedRun;
use convoke_engine::report::TaskReport;
use convoke_model::{CauseKind, Event, Stamped, TaskId};
use std::collections::HashMap;

/// The reasons of what was decided last about each phase.
pub(super) fn decided(events: &[Stamped]) -> HashMap<TaskId, String> {
    let decided = events.iter().filter_map(|stamped| match &stamped.event {
        Event::PhaseDecided(decided) => Some((decided.task.clone(), decided.reason.clone())),
        _ => None,
    });
    decided.collect()
}

impl InspectedRun {
    /// Why a task is where it is, where that was decided or has a cause. Of a phase that no edge starts, what its edges waited for.
    pub(super) fn because(&self, id: &TaskId, task: &TaskReport) -> Option<String> {
        let cause = task.cause.as_ref()?;
        let decided = self.decided.get(id).filter(|_| cause.kind == CauseKind::NotTriggered);
        Some(decided.cloned().unwrap_or_else(|| cause.to_string()))
    }

    /// Why a phase started, for people.
    pub(super) fn started_text(&self, id: &TaskId, task: &TaskReport) -> String {
        let decided = self.decided.get(id).filter(|_| task.cause.is_none());
        decided.map(|reason| format!("started: {reason}\n")).unwrap_or_default()
    }
}
