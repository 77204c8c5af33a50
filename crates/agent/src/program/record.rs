//! What is written down, and how it goes on from there.
//!
//! Records have the form of a conversation's records, so that `Account` reads both. Each holds what is new: messages,
//! answers, and the small rest as it is. Invariant: a session resumed from its records is the session that wrote them.

use super::session::{Recorded, Session, State};
use crate::transcript::Change;
use convoke_model::{Class, Digest, Failure, JsonText, ProgramCall};
use serde::{Deserialize, Serialize};

/// How much is written down already.
#[derive(Debug, Clone, Default)]
pub(super) struct Unwritten {
    /// Something happened since the last record.
    pub moved: bool,
    /// There is a record.
    begun: bool,
    /// Answers on earlier records.
    answers: usize,
}

/// One record.
#[derive(Debug, Serialize, Deserialize)]
struct Delta {
    /// Of a first record: what it is about. Whatever was written before is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Recorded>,
    /// The waiting program, which is put aside with this record. Not among what a conversation keeps: no model asks for it
    /// by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saved: Option<Digest>,
    state: State,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    about: Option<Digest>,
}

impl Session {
    /// Whether something happened that is not written down.
    pub fn is_due(&self) -> bool {
        self.unwritten.moved
    }

    /// What is new since this was last asked; with it, where the waiting program is put.
    pub fn take_delta(&mut self, call: &ProgramCall, saved: Option<Digest>) -> JsonText {
        let delta = Delta {
            about: (!self.unwritten.begun).then(|| about(call)),
            changes: self.transcript.take_changes(),
            answers: self.answers[self.unwritten.answers..].to_vec(),
            saved,
            state: self.state.clone(),
        };
        self.unwritten = Unwritten { moved: false, begun: true, answers: self.answers.len() };
        JsonText::of(&delta)
    }

    /// The session that wrote these records, or a new one if they are about something else.
    pub fn resume(call: &ProgramCall, pieces: &[JsonText]) -> Result<Session, Failure> {
        let unreadable = |error: serde_json::Error| damaged(&error.to_string());
        let heads = pieces.iter().map(|piece| serde_json::from_str::<Head>(piece.as_str()));
        let heads: Vec<Head> = heads.collect::<Result<_, _>>().map_err(unreadable)?;
        let first = heads.iter().rposition(|head| head.about.is_some());
        let Some(first) = first.filter(|first| heads[*first].about == Some(about(call))) else {
            return Ok(Session::new());
        };
        let mut session = Session::new();
        for piece in &pieces[first..] {
            let delta: Delta = serde_json::from_str(piece.as_str()).map_err(unreadable)?;
            session.replay(delta).ok_or_else(|| damaged("a change does not fit"))?;
        }
        Ok(session)
    }

    fn replay(&mut self, delta: Delta) -> Option<()> {
        for change in delta.changes {
            self.transcript.replay(change)?;
        }
        self.answers.extend(delta.answers);
        self.state = delta.state;
        self.unwritten = Unwritten { moved: false, begun: true, answers: self.answers.len() };
        Some(())
    }
}

/// What it is about: the question, and whose outputs. What these say follows from whose they are.
fn about(call: &ProgramCall) -> Digest {
    let sources: Vec<_> = call.sources.iter().map(|source| (&source.mark, &source.task)).collect();
    let said = JsonText::of(&(&call.agent.system, &call.agent.prompt, call.depth, sources));
    Digest::of(said.as_str().as_bytes())
}

fn damaged(why: &str) -> Failure {
    Failure::new(Class::Fatal, format!("its stored work is damaged: {why}")).reason("damaged_conversation")
}
