//! What people say to the agent on its way: heard before its next turn, beside the task that it has.
//!
//! Words go into the last message, whichever that is: a message of its own between results and reply is something that not every service
//! takes. An answer that was given before they were heard is not the last word: the agent is asked once more, and where nothing better
//! comes, that answer counts. Invariant: each conversation hears everything that was said to its task, once and in order; what is left
//! out to save room, or begun again, has it still.

use super::{Conversation, Ending, Premise, Stage, review};
use crate::{Message, Role, wording};
use convoke_model::JsonText;

impl Conversation {
    /// Takes what people have said to the task, all of it from the first on, where the agent's next turn would hear it.
    pub fn listen(&mut self, premise: &Premise<'_>, said: &[String]) {
        if said.len() != self.said.len() {
            self.said = said.to_vec();
        }
        let asked = match &self.state.stage {
            Stage::Asking { answered: None } => None,
            Stage::Over(Ending::Output(output)) => Some(output.clone()),
            _ => return,
        };
        let Some(new) = self.said.get(self.state.heard..).filter(|new| !new.is_empty()) else { return };
        let words = wording::guidance(new);
        match asked {
            None => self.add_to_last(&words),
            Some(output) => self.ask_once_more(premise, output, &words),
        }
        self.state.heard = self.said.len();
        self.unwritten.moved = true;
    }

    /// How much of what people said is part of the conversation.
    pub fn guidance_heard(&self) -> usize {
        self.state.heard
    }

    /// What was heard so far, for a place from which the conversation goes on without the messages that had it.
    pub(super) fn heard_before(&self) -> String {
        match self.said.get(..self.state.heard) {
            Some(heard) if !heard.is_empty() => wording::guidance(heard),
            _ => String::new(),
        }
    }

    fn add_to_last(&mut self, words: &str) {
        let last = self.transcript.messages().len() - 1;
        let length = self.transcript.messages()[last].text.len();
        self.transcript.end_with(last, length, words.to_owned());
    }

    fn ask_once_more(&mut self, premise: &Premise<'_>, output: JsonText, words: &str) {
        self.transcript.push(Message::new(Role::Assistant, review::in_words(&output)));
        self.transcript.push(Message::new(Role::User, wording::guided_again(words)));
        self.state.before = Some(output);
        self.state.stage = Stage::ASKING;
        self.make_room(premise);
    }
}

/// Nothing was heard: the usual case needs no word in a record.
pub(super) fn is_none(heard: &usize) -> bool {
    *heard == 0
}
