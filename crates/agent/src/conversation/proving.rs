//! Answers whose work is checked before they count.
//!
//! The answer is part of the conversation before it is checked, so the findings are simply the next message. An answer that says that the
//! work is not done is not checked: honesty costs nothing. Invariant: no answer passes without a check after it.

use super::{Conversation, Premise, Stage};
use crate::conversation::review::in_words;
use crate::{Message, Offer, Reply, Role, ToolCall, ToolResult, wording};
use convoke_model::{Condition, JsonText, ProofFinding, ToolName, missing, unproven};
use std::collections::BTreeSet;

impl Conversation {
    /// An answer that fits: it is looked at, where it says that something is done, and then reviewed.
    pub(super) fn prove(&mut self, premise: &Premise<'_>, reply: &Reply, output: JsonText) -> Stage {
        match premise.proof.is_some_and(|proof| proof.claims(&output)) {
            true => {
                self.transcript.push(Message { tool_calls: Vec::new(), ..Message::of_reply(reply) });
                Stage::Proving { output }
            }
            false => self.review(premise, output),
        }
    }

    /// The output that is to be looked at now.
    pub(crate) fn to_prove(&self) -> Option<&JsonText> {
        match &self.state.stage {
            Stage::Proving { output } => Some(output),
            _ => None,
        }
    }

    /// Takes what was found about the answer.
    pub(crate) fn proved(&mut self, premise: &Premise<'_>, findings: &[ProofFinding]) {
        let Some(output) = self.to_prove().cloned() else { return };
        self.state.stage = Stage::ASKING;
        self.unwritten.moved = true;
        self.state.checks += 1;
        if findings.iter().all(|finding| finding.held) {
            self.state.stage = self.review(premise, output);
            return;
        }
        let most = premise.proof.map_or(0, |proof| proof.max_retries);
        self.rejected.push(in_words(&output));
        if self.state.returns >= most {
            self.state.stage = Stage::failed(unproven(premise.step, findings, self.state.checks));
            return;
        }
        self.state.returns += 1;
        let message = format!("step `{}`: it is not done, asking again: {}", premise.step, missing(findings));
        self.note(convoke_model::reason::UNPROVEN, message);
        self.transcript.push(Message::new(Role::User, wording::not_proven(findings)));
        // A question of its own, with as many tries as the first.
        self.state.recoveries = premise.call.settings.parse_recovery;
        (self.state.last_chance, self.state.was_cut, self.state.was_filler) = (false, false, false);
        self.make_room(premise);
    }

    /// An answer that counts for want of a better one is looked at too, and only once: much may have happened since.
    pub(super) fn prove_once(&mut self, premise: &Premise<'_>, output: JsonText) -> Stage {
        match premise.proof.filter(|proof| proof.claims(&output)) {
            Some(proof) => {
                self.state.returns = proof.max_retries;
                Stage::Proving { output }
            }
            None => self.pass(premise, output),
        }
    }

    /// Notes which tools were called with success, as far as that must be proven.
    pub(super) fn note_called(&mut self, premise: &Premise<'_>, calls: &[ToolCall], results: &[ToolResult]) {
        let succeeded = calls.iter().zip(results).filter(|(_, result)| !result.failed && !result.unknown);
        for (call, _) in succeeded {
            self.note_tool(premise, &call.name);
        }
    }

    /// Notes one tool by the name that its caller knows.
    pub(crate) fn note_tool(&mut self, premise: &Premise<'_>, name: &str) {
        let entries = premise.proof.iter().flat_map(|proof| &proof.conditions);
        for stated in entries {
            let Condition::ToolCalled(entry) = &stated.condition else { continue };
            if is_meant(premise.offer, entry, name) {
                self.state.called.insert(entry.clone());
            }
        }
    }

    /// The entries of tools that were called with success.
    pub(crate) fn called(&self) -> &BTreeSet<String> {
        &self.state.called
    }
}

/// Whether an entry stands for a tool.
fn is_meant(offer: &Offer, entry: &str, name: &str) -> bool {
    match offer.find(name) {
        Some(tool) => tool.names().is_in_any_case(entry),
        // A coding agent has tools of its own, of which only the word is known.
        None => ToolName { server: "", name, known: name }.is_in_any_case(entry),
    }
}
