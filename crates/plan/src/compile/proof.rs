//! What the work of a step, a role or a persona must prove, with its defaults.

use super::build::Builder;
use crate::plan::{Claim, Kind, Proof};
use crate::source::Spanned;
use crate::source::workflow as source;
use convoke_model::{OWN_SERVER, Servers, Transport};
use std::sync::Arc;

/// How often what does not hold goes back to the agent, where nothing is said.
const MAX_RETRIES: u32 = 2;

impl Builder<'_> {
    /// What is stated by `ensure` and `protect`; commands are run under the same policies as those of the agent.
    pub(super) fn proof(
        &mut self,
        ensure: Option<&source::Ensure>,
        protect: &[Spanned<String>],
        policy: Option<&Spanned<String>>,
    ) -> Option<Box<Proof>> {
        if ensure.is_none() && protect.is_empty() {
            return None;
        }
        let stated = ensure.map(|ensure| ensure.conditions.as_slice()).unwrap_or_default();
        let max_retries = ensure.and_then(|ensure| ensure.max_retries.as_ref()).map(|most| most.value);
        Some(Box::new(Proof {
            conditions: stated.iter().map(|condition| self.claim(&condition.what)).collect(),
            protect: protect.iter().map(|pattern| pattern.value.clone()).collect(),
            max_retries: max_retries.unwrap_or(MAX_RETRIES),
            policies: self.policies(policy),
        }))
    }

    /// The proof of a step's own work.
    pub(super) fn proof_of(
        &mut self,
        common: &source::Common,
        kind: &source::StepKind,
    ) -> Option<Box<Proof>> {
        let policy = match kind {
            source::StepKind::Agent(agent) => agent.policy.as_ref(),
            _ => None,
        };
        self.proof(common.ensure.as_ref(), &common.protect, policy)
    }

    fn claim(&mut self, claim: &source::Claim) -> Claim {
        match claim {
            source::Claim::FileExists(text) => Claim::FileExists(self.texts.text(text)),
            source::Claim::FileChanged(text) => Claim::FileChanged(self.texts.text(text)),
            source::Claim::DiffNotEmpty(texts) => {
                Claim::DiffNotEmpty(texts.iter().map(|text| self.texts.text(text)).collect())
            }
            source::Claim::Command(text) => Claim::Command(self.texts.text(text)),
            source::Claim::TestsPass(text) => Claim::TestsPass(self.texts.optional(text.as_ref())),
            source::Claim::ToolCalled(name) => Claim::ToolCalled(name.value.clone()),
            source::Claim::That(text) => Claim::That(text.value.clone()),
        }
    }
}

/// Keeps the tools of our own off what proves the work of an agent.
pub(super) fn keep_off(kind: &mut Kind, proof: Option<&Proof>) {
    let (Kind::Agent(agent), Some(proof)) = (kind, proof) else { return };
    if proof.protect.is_empty() || !agent.settings.servers.contains_key(OWN_SERVER) {
        return;
    }
    let settings = Arc::make_mut(&mut agent.settings);
    let servers: &mut Servers = Arc::make_mut(&mut settings.servers);
    if let Some(Transport::Own { protect, .. }) = servers.get_mut(OWN_SERVER).map(|own| &mut own.transport) {
        protect.clone_from(&proof.protect);
    }
}
