//! The messages of a conversation, and what changed in them since they were last written down.
//!
//! Every change goes through here, so that what is written down is what is new and never the whole. Invariant: the
//! changes taken so far, replayed onto the opening, give the messages.

use crate::Message;
use serde::{Deserialize, Serialize};

/// Messages and their unwritten changes.
#[derive(Debug, Clone)]
pub(crate) struct Transcript {
    messages: Vec<Message>,
    unwritten: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// Some messages are replaced by others.
    Splice { at: usize, remove: usize, insert: Vec<Message> },
    /// The text of a message is kept up to a byte, and goes on otherwise.
    Ending { at: usize, keep: usize, text: String },
}

impl Transcript {
    /// Begins with messages that need not be written down, because a resumed attempt makes them anew.
    pub fn new(opening: Vec<Message>) -> Transcript {
        Transcript { messages: opening, unwritten: Vec::new() }
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        let length = self.messages.len();
        match self.unwritten.last_mut() {
            Some(Change::Splice { at, insert, .. }) if *at + insert.len() == length => {
                insert.push(message.clone())
            }
            _ => self.unwritten.push(Change::Splice { at: length, remove: 0, insert: vec![message.clone()] }),
        }
        self.messages.push(message);
    }

    /// Replaces some messages and gives back the old ones.
    pub fn splice(&mut self, at: usize, remove: usize, insert: Vec<Message>) -> Vec<Message> {
        self.unwritten.push(Change::Splice { at, remove, insert: insert.clone() });
        self.messages.splice(at..at + remove, insert).collect()
    }

    /// Keeps the first bytes of a message's text and lets it go on with another.
    pub fn end_with(&mut self, at: usize, keep: usize, text: String) {
        let message = &mut self.messages[at].text;
        message.truncate(keep);
        message.push_str(&text);
        self.unwritten.push(Change::Ending { at, keep, text });
    }

    /// What changed since this was last asked.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.unwritten)
    }

    /// Repeats a change that was written down; `None` if it is none of ours.
    pub fn replay(&mut self, change: Change) -> Option<()> {
        match change {
            Change::Splice { at, remove, insert } => {
                let end = at.checked_add(remove).filter(|end| *end <= self.messages.len())?;
                self.messages.splice(at..end, insert);
            }
            Change::Ending { at, keep, text } => {
                let message = &mut self.messages.get_mut(at)?.text;
                if !message.is_char_boundary(keep) {
                    return None;
                }
                message.truncate(keep);
                message.push_str(&text);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use proptest::prelude::*;

    fn said(text: &str) -> Message {
        Message::new(Role::User, text)
    }

    #[test]
    fn messages_added_in_a_row_are_one_change() {
        let mut transcript = Transcript::new(vec![said("a")]);
        transcript.push(said("b"));
        transcript.push(said("c"));
        let insert = vec![said("b"), said("c")];
        assert_eq!(transcript.take_changes(), [Change::Splice { at: 1, remove: 0, insert }]);
        assert_eq!(transcript.take_changes(), []);
    }

    #[test]
    fn what_is_no_change_of_ours_is_refused() {
        let mut transcript = Transcript::new(vec![said("é")]);
        let splice = |at, remove| Change::Splice { at, remove, insert: vec![] };
        assert_eq!(transcript.replay(splice(0, 2)), None);
        assert_eq!(transcript.replay(splice(1, usize::MAX)), None);
        for (at, keep) in [(1, 0), (0, 1), (0, 9)] {
            assert_eq!(transcript.replay(Change::Ending { at, keep, text: "x".into() }), None);
        }
    }

    proptest! {
        #[test]
        fn replayed_changes_give_the_same_messages(steps in prop::collection::vec((0u8..4, 0usize..6, 0usize..3), 0..40)) {
            let opening = vec![said("go")];
            let mut live = Transcript::new(opening.clone());
            let mut written = Vec::new();
            for (kind, at, count) in steps {
                let length = live.messages().len();
                let at = at.min(length - 1);
                match kind {
                    0 => live.push(said("next")),
                    1 => drop(live.splice(at, count.min(length - at - 1), vec![said("new"); count])),
                    2 => live.end_with(at, live.messages()[at].text.len().min(count), format!("+{count}")),
                    _ => written.extend(live.take_changes()),
                }
            }
            written.extend(live.take_changes());
            let mut again = Transcript::new(opening);
            for change in written {
                prop_assert_eq!(again.replay(change), Some(()));
            }
            prop_assert_eq!(again.messages(), live.messages());
        }
    }
}
