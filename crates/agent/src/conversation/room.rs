//! Keeps the conversation within the model's context.

use super::turns::aside;
use super::{Conversation, Premise, Stage};
use crate::capability::{compact, gauge, warn};
use crate::{Message, Reply, Role, tokens_in};
use convoke_model::{Failure, reason};

/// How "too long" reads in a failure of a service that has no word for it.
const REFUSED: &str = "bad_request";

impl Conversation {
    /// Learns how the service counts tokens.
    pub(super) fn measure(&mut self, premise: &Premise<'_>, reply: &Reply) {
        let estimate = tokens_in(self.transcript.messages()) + self.tool_tokens(premise);
        self.state.memory.gauge.learn(estimate, &reply.usage);
        self.state.memory.squeezed = false;
    }

    /// There is no reply. A context that is too long for the service is shortened and tried once more.
    pub(super) fn unanswered(&mut self, premise: &Premise<'_>, failure: Failure) -> Stage {
        let may = premise.call.settings.capabilities.compaction.is_some() && !self.state.memory.squeezed;
        if may && self.may_be_too_long(premise, &failure) && self.squeeze(premise) {
            self.state.memory.squeezed = true;
            return Stage::ASKING;
        }
        Stage::failed(failure)
    }

    /// Some services refuse a long context as they refuse any bad request; one that is more than half full is worth a
    /// second try.
    fn may_be_too_long(&self, premise: &Premise<'_>, failure: &Failure) -> bool {
        match failure.reason.as_deref() {
            Some(reason::CONTEXT_OVERFLOW) => true,
            Some(REFUSED) => self.used(premise) > gauge::percent(&premise.call.settings.capabilities, 50),
            _ => false,
        }
    }

    /// Shortens the conversation if it has become too long for the next question.
    pub(super) fn make_room(&mut self, premise: &Premise<'_>) {
        let capabilities = &premise.call.settings.capabilities;
        let asks = matches!(self.state.stage, Stage::Asking { .. });
        let Some(compaction) = capabilities.compaction.filter(|_| asks) else { return };
        let at = gauge::percent(capabilities, compaction.at);
        if self.used(premise) > at {
            self.leave_out(premise, gauge::percent(capabilities, compaction.to.min(compaction.at)));
            self.shrink(premise, at);
        }
    }

    /// Halves the conversation; whether that changed anything.
    fn squeeze(&mut self, premise: &Premise<'_>) -> bool {
        let before = self.used(premise);
        self.leave_out(premise, before / 2);
        self.shrink(premise, before / 2);
        self.used(premise) < before
    }

    /// Leaves out the oldest turns until this many tokens are left, if it can.
    fn leave_out(&mut self, premise: &Premise<'_>, target: u64) {
        let excess = self.state.memory.gauge.estimated(self.used(premise).saturating_sub(target));
        let Some((range, turns)) = compact::oldest(self.transcript.messages(), excess) else { return };
        let prompt = range.start - 1;
        let messages = self.transcript.splice(range.start, range.len(), Vec::new());
        let left_out = &mut self.state.memory.left_out;
        if left_out.turns == 0 {
            left_out.prompt = self.transcript.messages()[prompt].text.len();
        }
        self.shelf.keep(left_out.value(messages, turns));
        left_out.add(turns, self.shelf.len());
        let note = left_out.note(!premise.offer.specs(true).is_empty());
        let (prompt_length, note) = (left_out.prompt, note + &self.heard_before());
        self.transcript.end_with(prompt, prompt_length, note);
        let left_out = &self.state.memory.left_out;
        if left_out.turns == turns {
            let message =
                format!("step `{}`: the oldest turns are left out from now on to save room", premise.step);
            self.note("context_compacted", message);
        }
    }

    /// Cuts the longest results of the last turn until this many tokens are left, if it can.
    fn shrink(&mut self, premise: &Premise<'_>, target: u64) {
        let excess = self.used(premise).saturating_sub(target);
        let gauge = self.state.memory.gauge;
        let messages = self.transcript.messages();
        let Some(limit) = (excess > 0).then(|| compact::cut_for(messages, gauge, excess)).flatten() else {
            return;
        };
        let first = messages.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
        for at in first..self.transcript.messages().len() {
            let message = &self.transcript.messages()[at];
            if message.role == Role::Tool && message.text.len() as u64 > limit {
                let message = message.clone();
                // The limit is in bytes, like tokens; texts are cut by characters.
                let most = limit * message.text.chars().count() as u64 / message.text.len() as u64;
                let text = self.evicted(message.text, most);
                self.transcript.splice(at, 1, vec![Message { text, ..message }]);
            }
        }
    }

    /// Tells the agent that its context is nearly full.
    pub(super) fn warn(&mut self, premise: &Premise<'_>) {
        let capabilities = &premise.call.settings.capabilities;
        let used = self.used(premise);
        if let Some(level) = warn::due(capabilities, used, self.state.memory.warned) {
            self.state.memory.warned = level;
            let last = self.transcript.messages().len() - 1;
            let length = self.transcript.messages()[last].text.len();
            self.transcript.end_with(last, length, aside(&warn::note(level)));
        }
    }

    /// The tokens that the next question takes, with room for its answer.
    fn used(&self, premise: &Premise<'_>) -> u64 {
        let settings = &premise.call.settings;
        let reserve = settings.capabilities.reserve(premise.max_tokens());
        self.state.memory.gauge.used(self.transcript.messages(), self.tool_tokens(premise), reserve)
    }

    pub(super) fn tool_tokens(&self, premise: &Premise<'_>) -> u64 {
        if self.tools(premise).is_empty() { 0 } else { premise.offer.tokens() }
    }
}
