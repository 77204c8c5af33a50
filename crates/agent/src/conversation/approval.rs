//! Calls of a turn that a person must allow: the conversation waits, and keeps what was said about each until the turn is over.
//!
//! A ruling is about one place in one turn. It is on disk with the turn before its call is made, and gone with the results: it
//! allows one call once. Which calls are asked about is decided elsewhere (`tooling::approving`).

use super::{Conversation, Stage};
use convoke_model::{Answer, Ask, AskedCall, Ruling};
use serde::{Deserialize, Serialize};

/// What a person is asked, and which calls of the turn these are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Approving {
    pub ask: Ask,
    /// The place of each call that is asked about, in the order of the question.
    places: Vec<usize>,
}

impl Conversation {
    /// Waits for a person's word on some calls of the turn. None of the turn is made before.
    pub(crate) fn ask_approval(&mut self, prompt: String, asked: Vec<(usize, AskedCall)>, within_ms: u64) {
        if self.state.stage != Stage::Calling || asked.is_empty() {
            return;
        }
        let (places, calls) = asked.into_iter().unzip();
        let ask = Ask::Approval { prompt, calls, within_ms };
        self.state.stage = Stage::Approving(Box::new(Approving { ask, places }));
        self.unwritten.moved = true;
    }

    /// What was said about the call at a place of the turn.
    pub(crate) fn ruling(&self, place: usize) -> Option<&Ruling> {
        self.state.rulings.iter().find(|(at, _)| *at == place).map(|(_, ruling)| ruling)
    }

    /// Keeps what is said about calls of the turn.
    pub(crate) fn rule(&mut self, rulings: impl IntoIterator<Item = (usize, Ruling)>) {
        let before = self.state.rulings.len();
        self.state.rulings.extend(rulings);
        self.unwritten.moved |= self.state.rulings.len() > before;
    }

    /// Whether the calls of this turn were waited for and were never begun: no attempt before this one made any of them.
    pub(crate) fn begins_calls(&self) -> bool {
        self.begins_calls
    }

    /// Takes a person's word on calls. Of an answer to something else nothing follows: the question is asked again.
    pub(super) fn take_rulings(&mut self, answer: &Answer) {
        let (Stage::Approving(approving), Answer::Approval { rulings }) = (&self.state.stage, answer) else {
            return;
        };
        let Ask::Approval { calls, .. } = &approving.ask else { return };
        if answer.refusal(&approving.ask).is_some() {
            return;
        }
        let of = |(call, place): (&AskedCall, &usize)| Some((*place, rulings.get(&call.id)?.clone()));
        let ruled: Vec<(usize, Ruling)> = calls.iter().zip(&approving.places).filter_map(of).collect();
        self.state.stage = Stage::Calling;
        self.begins_calls = true;
        self.rule(ruled);
    }
}
