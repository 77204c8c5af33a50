//! Proof: what a task's work is compared with, and what checks of it found.

use super::Folded;
use crate::state::State;
use convoke_model::{Payload, TaskId};

impl State {
    pub(super) fn proof_begun(&mut self, id: &TaskId, baseline: &Payload) -> Folded {
        let task = self.known(id, "proof_begun")?;
        let proof = self.proofs.entry(task).or_default();
        // What stood there at first counts: a further attempt may begin with work that is half done.
        proof.baseline.get_or_insert_with(|| baseline.clone());
        Ok(())
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
        Ok(())
    }
}
