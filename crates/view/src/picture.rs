//! Everything that is shown of a run, folded together.

use crate::gates::Gates;
use crate::graph::Graph;
use crate::outline::Outline;
use crate::state::State;
use crate::table::Table;
use convoke_model::Stamped;
use convoke_plan::Plan;

/// A run as pages show it: its totals, its tasks and its open questions after the same events.
#[derive(Debug, Default)]
pub struct Picture {
    /// The run as a whole.
    pub state: State,
    /// Its tasks.
    pub table: Table,
    /// What it asks.
    pub gates: Gates,
    /// What it goes by.
    pub graph: Graph,
}

impl Picture {
    /// Before the first event of a run with this plan; without a plan only what events say is known.
    pub fn new(plan: Option<&Plan>) -> Picture {
        let outline = plan.map(Outline::of).unwrap_or_default();
        let table = Table::expecting(outline.steps.keys());
        let graph = plan.map(Graph::of).unwrap_or_default();
        Picture { state: State::new(outline), table, gates: Gates::default(), graph }
    }

    /// Takes the next event.
    pub fn apply(&mut self, stamped: &Stamped) {
        self.state.apply(stamped);
        self.gates.apply(stamped);
        let tasks = &self.state.tasks;
        self.table.apply(stamped, &|task| tasks.get(task).is_some_and(|task| task.aside));
    }
}
