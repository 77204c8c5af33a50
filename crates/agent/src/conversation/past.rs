//! What attempts that came to nothing have done: calls that may not be made twice, told to the attempt that begins anew.
//!
//! A conversation that cannot go on (its answers could not be used, it ran too long, what is asked has changed) is begun
//! anew, and its model would make the same calls again. Invariant: no call that may not be repeated is forgotten by a new
//! beginning; its outcome, or that the outcome is unknown, stands behind the prompt.

use super::Piece;
use crate::transcript::Change;
use crate::{Message, Offer, ToolCall};
use convoke_model::JsonText;
use convoke_model::excerpt::clipped;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Calls that are told; of more, the last ones.
const MOST_CALLS: usize = 60;

/// Characters of arguments and of results that are told of each call.
const MOST_TEXT: usize = 400;

/// What counts as called from conversations before.
pub(super) fn called(pieces: &[JsonText]) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct State {
        #[serde(default)]
        called: BTreeSet<String>,
    }
    #[derive(Deserialize)]
    struct Told {
        state: State,
    }
    let told = pieces.iter().filter_map(|piece| serde_json::from_str::<Told>(piece.as_str()).ok());
    told.flat_map(|told| told.state.called).collect()
}

/// Words for the prompt; none where nothing was done that may not be repeated.
pub(super) fn told(offer: &Offer, pieces: &[JsonText]) -> Option<String> {
    let made = made(pieces.iter().filter_map(Piece::read).flat_map(inserted));
    let lasting: Vec<&Made> = made.iter().filter(|made| !offer.is_repeatable(&made.call)).collect();
    if lasting.is_empty() {
        return None;
    }
    let mut words = String::from(
        "Note: earlier attempts at this were broken off after they had made the following calls. These have happened: do \
         not make them again unless that is really needed.",
    );
    let left_out = lasting.len().saturating_sub(MOST_CALLS);
    if left_out > 0 {
        let _ = write!(words, "\n- ({left_out} earlier calls are left out here)");
    }
    for Made { call, result } in &lasting[left_out..] {
        let arguments = clipped(call.arguments.as_str(), MOST_TEXT);
        let _ = write!(words, "\n- {} {arguments}: {}", call.name, outcome(result.as_ref()));
    }
    Some(words)
}

/// A call and the message that answers it.
struct Made {
    call: ToolCall,
    result: Option<Message>,
}

/// The calls in their order. Not every service gives each call a name of its own, so a result belongs to the first call
/// of its name that has none yet.
fn made(messages: impl Iterator<Item = Message>) -> Vec<Made> {
    let mut made: Vec<Made> = Vec::new();
    for message in messages {
        if let Some(of) = &message.result_of {
            let open = made.iter_mut().find(|made| made.result.is_none() && made.call.id == of.id);
            open.into_iter().for_each(|made| made.result = Some(message.clone()));
        }
        made.extend(message.tool_calls.into_iter().map(|call| Made { call, result: None }));
    }
    made
}

fn inserted(record: Piece) -> Vec<Message> {
    let insert = |change| match change {
        Change::Splice { insert, .. } => insert,
        Change::Ending { .. } => Vec::new(),
    };
    record.changes.into_iter().flat_map(insert).collect()
}

fn outcome(result: Option<&Message>) -> String {
    let known = result.and_then(|message| Some((message, message.result_of.as_ref()?)));
    match known.filter(|(_, of)| !of.unknown) {
        Some((message, of)) if of.failed => format!("it failed: {}", clipped(&message.text, MOST_TEXT)),
        Some((message, _)) => format!("it gave: {}", clipped(&message.text, MOST_TEXT)),
        None => "its outcome is unknown; check whether it took effect before you do it again".to_owned(),
    }
}
