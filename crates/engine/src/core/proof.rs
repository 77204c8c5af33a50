//! What attempts tell about proof, as events.

use super::{Core, Turn};
use convoke_model::{Event, JsonText, ProofTold, Timestamp};
use convoke_schedule::TaskIx;

impl Core {
    /// An attempt says what its work is compared with, that it is done, or what a check found.
    pub(super) fn take_proof(
        &mut self,
        at: Timestamp,
        task: TaskIx,
        attempt: u32,
        told: ProofTold,
        turn: &mut Turn,
    ) {
        let id = self.scheduler.id(task).clone();
        let event = match told {
            ProofTold::Begun(baseline) => {
                Event::ProofBegun { task: id, attempt, baseline: self.store.payload(baseline) }
            }
            ProofTold::Done(commit) => self.committed(task, attempt, commit),
            ProofTold::Checked(check) => {
                let (held, findings) = (check.held(), self.store.payload(JsonText::of(&check.findings)));
                Event::ProofChecked { task: id, attempt, check: check.check, held, findings }
            }
        };
        self.happen(at, event, turn);
    }
}
