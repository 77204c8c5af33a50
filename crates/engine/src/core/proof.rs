//! What attempts tell about proof, and what looks at the work of tasks with parts saw, as events.

use super::{Core, Turn};
use convoke_agent::Looked;
use convoke_model::{Class, Event, JsonText, ProofTold, Timestamp};
use convoke_schedule::{TaskIx, TaskState};

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

    /// The work of a task that has parts was looked at. One that could not be looked at has failed; one that has ended meanwhile
    /// learns nothing more.
    pub(super) fn take_look(&mut self, at: Timestamp, task: TaskIx, seen: Looked, turn: &mut Turn) {
        if matches!(self.scheduler.state(task), TaskState::Ended(_)) {
            return;
        }
        match seen {
            Ok(seen) => {
                for (owner, told) in seen.leased {
                    self.take_workspace(at, None, owner, told, turn);
                }
                self.take_proof(at, task, 0, seen.told, turn);
            }
            // It was told to stop, and ends as one that was.
            Err(failure) if failure.class == Class::Cancelled => {}
            Err(failure) => {
                let task = self.scheduler.id(task).clone();
                self.happen(at, Event::TaskFailed { task, failure }, turn);
            }
        }
    }
}
