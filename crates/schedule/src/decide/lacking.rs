//! A task that needs one of several outputs and gets none of them fails by name.

use crate::state::{State, TaskIx};
use convoke_model::{Class, Failure};
use convoke_plan::Requires;

/// Names that a message has room for.
const NAMED: usize = 20;

impl State {
    /// The failure of a task of whose needs one should have succeeded, and none did.
    pub(crate) fn lacks_every_need(&self, task: TaskIx) -> Option<Failure> {
        let place = self.tasks[task].place;
        let needs = self.node(task).needs.iter().filter(|need| need.requires == Requires::Some);
        let needed: Vec<TaskIx> = needs.filter_map(|need| self.beside(place, need.node)).collect();
        if needed.is_empty() || needed.iter().any(|needed| self.tasks[*needed].succeeded()) {
            return None;
        }
        let named: Vec<String> =
            needed.iter().take(NAMED).map(|needed| format!("`{}`", self.tasks[*needed].id)).collect();
        let more = match needed.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "`{}` has nothing to put together: none of {} that it needs succeeded: {}{more}",
            self.tasks[task].id,
            needed.len(),
            named.join(", ")
        );
        let failure = Failure::new(Class::Fatal, message).reason("nothing_succeeded");
        Some(failure.hint("`convoke show RUN STEP` says why each of them failed"))
    }
}
