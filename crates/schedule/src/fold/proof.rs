//! Proof: what a task's work is compared with, and what checks of it found.

use super::Folded;
use crate::state::{State, TaskIx, TaskState, Todo};
use convoke_model::{Payload, TaskId};

impl State {
    pub(super) fn proof_begun(&mut self, id: &TaskId, baseline: &Payload) -> Folded {
        let task = self.known(id, "proof_begun")?;
        let proof = self.proofs.entry(task).or_default();
        // What stood there at first counts: a further attempt may begin with work that is half done.
        proof.baseline.get_or_insert_with(|| baseline.clone());
        // Of a task with parts this is what its beginning has waited for.
        if self.tasks[task].state == TaskState::Ready {
            self.lookups.remove(&task);
            self.todo(Todo::Begin(task));
        }
        Ok(())
    }

    pub(super) fn proof_due(&mut self, id: &TaskId, output: &Payload) -> Folded {
        let task = self.known(id, "proof_due")?;
        self.expect(task, "proof_due", |state| !matches!(state, TaskState::Ended(_)))?;
        let proof = self.proofs.entry(task).or_default();
        (proof.due, proof.held, proof.findings) = (Some(output.clone()), false, None);
        self.todo(Todo::Prove(task));
        Ok(())
    }

    /// Fold: a task begins anew, so what its parts came to no longer counts.
    pub(super) fn proof_over(&mut self, task: TaskIx) {
        if let Some(proof) = self.proofs.get_mut(&task) {
            proof.due = None;
        }
    }

    pub(super) fn proof_checked(
        &mut self,
        id: &TaskId,
        check: &str,
        held: bool,
        findings: &Payload,
    ) -> Folded {
        let task = self.known(id, "proof_checked")?;
        let proof = self.proofs.entry(task).or_default();
        (proof.check, proof.held, proof.findings) = (check.into(), held, Some(findings.clone()));
        proof.checks = proof.checks.saturating_add(1);
        if proof.due.is_some() {
            self.lookups.remove(&task);
            self.todo(Todo::Prove(task));
        }
        Ok(())
    }
}
