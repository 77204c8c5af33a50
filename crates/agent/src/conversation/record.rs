//! What of a conversation is written down, and how it goes on from there.
//!
//! Each record holds what is new: changes to the messages, digests of values that were put aside, answers that were
//! rejected, and the small rest as it is. Invariant: a conversation resumed from its records is the conversation that
//! wrote them. The opening is not written down, only its digest: another prompt is another conversation.

use super::{Conversation, Ending, Premise, Stage, State, opening};
use crate::transcript::Change;
use crate::{Message, Offer};
use convoke_model::{AgentCall, Class, Digest, Failure, JsonText};
use serde::{Deserialize, Serialize};

/// How much is written down already.
#[derive(Debug, Clone)]
pub(super) struct Unwritten {
    /// Something happened since the last record.
    pub moved: bool,
    /// There is no record yet.
    is_first: bool,
    /// Rejected answers on earlier records.
    rejected: usize,
}

impl Unwritten {
    pub fn beginning() -> Unwritten {
        Unwritten { moved: false, is_first: true, rejected: 0 }
    }
}

/// One record.
#[derive(Debug, Serialize, Deserialize)]
struct Delta {
    /// Of a first record: what the conversation is about. Whatever was written before is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<String>,
    state: State,
}

/// What records of conversations and of work with programs have in common.
#[derive(Deserialize)]
struct Leaf {
    #[serde(default)]
    about: Option<Digest>,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    kept: Vec<Digest>,
    #[serde(rename = "state")]
    _state: serde::de::IgnoredAny,
}

/// A record as it is read for an account, and by an attempt that begins anew.
#[derive(Debug)]
pub(crate) struct Piece {
    /// A conversation begins here.
    pub is_first: bool,
    pub changes: Vec<Change>,
    pub kept: Vec<Digest>,
}

impl Piece {
    /// Reads a record; `None` if it is none.
    pub fn read(piece: &JsonText) -> Option<Piece> {
        let Leaf { about, changes, kept, .. } = serde_json::from_str(piece.as_str()).ok()?;
        Some(Piece { is_first: about.is_some(), changes, kept })
    }
}

/// As much of a record as says where a conversation begins.
#[derive(Debug, Deserialize)]
struct Head {
    #[serde(default)]
    about: Option<Digest>,
}

/// What is to be written down.
#[derive(Debug, Clone)]
pub struct Written {
    /// What is new.
    pub piece: JsonText,
    /// Large values that it names by their digests.
    pub kept: Vec<JsonText>,
}

impl Conversation {
    /// Whether something must be written down before the next step is made: a request costs money, and a call that
    /// may not be made twice has to be known of when it is cut off.
    pub fn is_due(&self, offer: &Offer) -> bool {
        let irrevocable = match &self.state.stage {
            Stage::Over(_) | Stage::Waiting(_) | Stage::Approving(_) => false,
            // What a person was asked about is an effect, whatever its server says of it.
            Stage::Calling => {
                let is_effect = |call| offer.effect(call).is_some();
                !self.state.rulings.is_empty() || self.open_calls().iter().any(is_effect)
            }
            _ => true,
        };
        self.unwritten.moved && irrevocable
    }

    /// Has the turn written down again before its calls are made: an attempt that makes calls of an earlier one claims them.
    pub(crate) fn claim_again(&mut self) {
        self.unwritten.moved |= self.state.stage == Stage::Calling;
    }

    /// What is new since this was last asked.
    pub fn take_delta(&mut self, premise: &Premise<'_>) -> Written {
        let (digests, kept) = self.shelf.take_unwritten();
        let about = self.unwritten.is_first.then(|| about(premise.call));
        let delta = Delta {
            about,
            changes: self.transcript.take_changes(),
            kept: digests,
            rejected: self.rejected[self.unwritten.rejected..].to_vec(),
            state: self.state.clone(),
        };
        self.unwritten = Unwritten { moved: false, is_first: false, rejected: self.rejected.len() };
        Written { piece: JsonText::of(&delta), kept }
    }

    /// Whether what happened last must be written down though nothing follows: the conversation has failed for good, and
    /// an attempt that begins anew has to know of the calls that may not be made twice.
    pub fn is_last_record_due(&self, offer: &Offer) -> bool {
        let Stage::Over(Ending::Failed(failure)) = &self.state.stage else { return false };
        let mut calls = self.transcript.messages().iter().flat_map(|message| &message.tool_calls);
        self.unwritten.moved && !failure.keeps_conversation() && calls.any(|call| !offer.is_repeatable(call))
    }

    /// The conversation that wrote these records, or a new one if they are about something else. `past` are the records of
    /// conversations before, which came to nothing.
    pub fn resume(
        premise: &Premise<'_>,
        past: &[JsonText],
        pieces: &[JsonText],
    ) -> Result<Conversation, Failure> {
        let mut conversation = Conversation::after(premise, past);
        let unreadable = |error: serde_json::Error| damaged(premise, &error.to_string());
        let heads = pieces.iter().map(|piece| serde_json::from_str::<Head>(piece.as_str()));
        let heads: Vec<Head> = heads.collect::<Result<_, _>>().map_err(unreadable)?;
        let Some(first) = heads.iter().rposition(|head| head.about.is_some()) else {
            return if heads.is_empty() {
                Ok(conversation)
            } else {
                Err(damaged(premise, "it has no beginning"))
            };
        };
        if heads[first].about != Some(about(premise.call)) {
            conversation = Conversation::after(premise, &[past, pieces].concat());
            let message = format!(
                "step `{}`: the question has changed, so the conversation starts from the beginning",
                premise.step
            );
            conversation.note("conversation_dropped", message);
            return Ok(conversation);
        }
        for piece in &pieces[first..] {
            let delta: Delta = serde_json::from_str(piece.as_str()).map_err(unreadable)?;
            conversation.replay(delta).ok_or_else(|| damaged(premise, "a change does not fit"))?;
        }
        Ok(conversation)
    }

    fn replay(&mut self, delta: Delta) -> Option<()> {
        for change in delta.changes {
            self.transcript.replay(change)?;
        }
        self.shelf.restore(delta.kept);
        self.rejected.extend(delta.rejected);
        self.state = delta.state;
        self.unwritten = Unwritten { moved: false, is_first: false, rejected: self.rejected.len() };
        Some(())
    }
}

fn about(call: &AgentCall) -> Digest {
    let opening: Vec<Message> = opening(call, &call.prompt);
    Digest::of(JsonText::of(&opening).as_str().as_bytes())
}

fn damaged(premise: &Premise<'_>, why: &str) -> Failure {
    let message = format!("step `{}`: its stored conversation is damaged: {why}", premise.step);
    Failure::new(Class::Fatal, message).reason("damaged_conversation")
}
