//! What was said in a conversation, read from its records for people.
//!
//! Unlike a resumed conversation an account leaves nothing out: turns that made room for others stay, and results are as
//! the agent saw them first. The opening is on no record; the caller that shows an account knows the prompt. The last answer is
//! on none either: it is the task's output, or its failure.

use crate::conversation::Piece;
use crate::transcript::Change;
use crate::{Message, Role, shelf};
use convoke_model::{Digest, JsonText};

/// One conversation of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Account {
    /// What was said after the opening, oldest first.
    pub messages: Vec<Message>,
    kept: Vec<Digest>,
}

impl Account {
    /// The conversations that these records are of: what is asked anew begins another one. `None` if a record cannot be read.
    pub fn read(pieces: &[JsonText]) -> Option<Vec<Account>> {
        let mut accounts: Vec<Account> = Vec::new();
        for piece in pieces {
            let record = Piece::read(piece)?;
            if record.is_first || accounts.is_empty() {
                accounts.push(Account::default());
            }
            accounts.last_mut()?.take(record);
        }
        Some(accounts)
    }

    /// The values that were put aside, by the names that the agent knows them by.
    pub fn kept(&self) -> impl Iterator<Item = (String, Digest)> {
        self.kept.iter().enumerate().map(|(at, digest)| (shelf::name(at + 1), *digest))
    }

    fn take(&mut self, record: Piece) {
        self.kept.extend(record.kept);
        for change in record.changes {
            let Change::Splice { at, remove, insert } = change else { continue };
            // What replaces messages after the opening is the same, cut shorter; a new opening is news.
            let old = if at == 0 { 0 } else { remove };
            let new = insert.into_iter().skip(old).filter(|message| message.role != Role::System);
            self.messages.extend(new);
        }
    }
}
