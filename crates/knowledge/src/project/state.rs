//! What the projection remembers of a run.

use convoke_model::{Timestamp, Usage};
use std::collections::BTreeMap;

/// A task, in its present life.
#[derive(Debug, Default, Clone)]
pub(super) struct Task {
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Attempts by number.
    pub attempts: BTreeMap<u32, Attempt>,
    /// How often it began anew.
    pub life: u32,
    /// Whether the graph has it.
    pub told: bool,
    /// Whose outputs it is given.
    pub sources: Vec<String>,
    /// What it waited for.
    pub before: Vec<String>,
    /// The service and the models that its contract or its plan names, in the order in which they are asked.
    pub models: Option<(String, Vec<String>)>,
}

/// An attempt that was begun.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    pub started: Timestamp,
    /// What its turns used.
    pub usage: Usage,
    /// The models that answered, by service.
    pub answered: Vec<(String, String)>,
    /// How often it turned to the next model.
    pub turned: usize,
}

impl Task {
    /// Adds whose outputs it is given, each once.
    pub fn add_sources(&mut self, of: impl IntoIterator<Item = String>) {
        for source in of {
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
        }
    }

    /// How long it took until then, in microseconds.
    pub fn took(&self, at: Timestamp) -> u64 {
        at.0.saturating_sub(self.started.unwrap_or(at).0)
    }
}
