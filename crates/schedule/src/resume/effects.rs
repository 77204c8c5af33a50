//! What a run did to the world and would do once more if it went on from an earlier point.
//!
//! Counts attempts of scripts and tool steps that are not declared to be repeatable, and tools that agents called. Whether a
//! command succeeded makes no difference: it ran.

use crate::scheduler::Scheduler;
use convoke_model::hash::HashSet;
use convoke_model::{Event, Stamped, TaskId};
use convoke_plan::{Kind, OnUnknown};
use indexmap::IndexMap;

/// Something that a task did, and would do again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedEffect {
    /// The task.
    pub task: TaskId,
    /// What it did: `script`, `tool`, or the tool that an agent called.
    pub what: String,
    /// How often.
    pub times: u32,
}

/// What tasks that are not `done` have done. `base` has taken all of these events.
pub fn repeated_effects(base: &Scheduler, events: &[Stamped], done: &HashSet<TaskId>) -> Vec<RepeatedEffect> {
    let mut counts: IndexMap<(TaskId, String), u32> = IndexMap::new();
    for stamped in events {
        let effect = match &stamped.event {
            Event::AttemptStarted { task, .. } => base.effect_of(task).map(|what| (task, what)),
            Event::ToolCalled { task, tool, .. } => Some((task, format!("tool {tool}"))),
            _ => None,
        };
        if let Some((task, what)) = effect.filter(|(task, _)| !done.contains(*task)) {
            *counts.entry((task.clone(), what)).or_default() += 1;
        }
    }
    counts.into_iter().map(|((task, what), times)| RepeatedEffect { task, what, times }).collect()
}

impl Scheduler {
    /// The effect of one attempt of a task, unless its step says that repeating it does no harm.
    fn effect_of(&self, task: &TaskId) -> Option<String> {
        let node = self.node(self.find(task)?);
        match &node.kind {
            _ if node.on_unknown == OnUnknown::Retry => None,
            Kind::Script(_) => Some("script".to_owned()),
            Kind::Tool(tool) => Some(format!("tool {}", tool.tool)),
            _ => None,
        }
    }
}
