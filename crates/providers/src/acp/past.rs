//! Which sessions had which conversations, so that the next question of a conversation goes to an agent that knows it.
//!
//! Kept in memory only: what is forgotten costs an agent the time to find out again what it knew, and nothing else.

use convoke_agent::{Message, Reply, Request};
use convoke_model::TaskId;
use indexmap::IndexMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

/// Conversations that are remembered; the oldest is forgotten first.
const MOST: usize = 1024;

/// The sessions of tasks.
#[derive(Default)]
pub struct Past(Mutex<IndexMap<TaskId, Session>>);

struct Session {
    id: String,
    /// How many messages the conversation has, its last answer included.
    length: usize,
    print: u64,
}

impl Past {
    /// Remembers that a session has given this reply.
    pub fn remember(&self, request: &Request<'_>, id: String, reply: &Reply) {
        let conversation = request.messages.iter().map(|message| message.text.as_str());
        let print = print(conversation.chain([reply.text.as_str()]));
        let session = Session { id, length: request.messages.len() + 1, print };
        let mut all = self.0.lock().expect("a panic poisoned this lock");
        all.insert(request.task.clone(), session);
        if all.len() > MOST {
            all.shift_remove_index(0);
        }
    }

    /// The session that knows the beginning of this conversation, and how many messages of it.
    pub fn of(&self, request: &Request<'_>) -> Option<(String, usize)> {
        let session = self.0.lock().expect("a panic poisoned this lock").shift_remove(request.task)?;
        let (known, new) = request.messages.split_at_checked(session.length)?;
        let is_same = print(texts(known)) == session.print;
        (is_same && !new.is_empty()).then_some((session.id, session.length))
    }
}

fn texts(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().map(|message| message.text.as_str())
}

fn print<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.for_each(|text| text.hash(&mut hasher));
    hasher.finish()
}
