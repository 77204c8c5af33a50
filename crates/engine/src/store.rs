//! Large values: what the run needs at hand, and what the next commit must hold.
//!
//! A bounded cache in front of the journal's blobs. A value that a fact or a decision brings is at hand at once and goes
//! to disk with the event that names it.

use convoke_journal::Writer;
use convoke_model::hash::HashMap;
use convoke_model::{Blob, Digest, JsonText, Payload};
use convoke_schedule::Outputs;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of values kept at hand.
const KEPT_BYTES: usize = 256 << 20;

/// Values by digest: at hand, or in the journal.
pub struct Store {
    load: Load,
    state: RefCell<State>,
}

type Load = Box<dyn Fn(Digest) -> Option<JsonText> + Send>;

#[derive(Default)]
struct State {
    kept: HashMap<Digest, JsonText>,
    order: VecDeque<Digest>,
    bytes: usize,
    pending: Vec<Blob>,
}

impl State {
    fn keep(&mut self, digest: Digest, text: JsonText) {
        let size = text.as_str().len();
        if self.kept.insert(digest, text).is_some() {
            return;
        }
        self.bytes += size;
        self.order.push_back(digest);
        while self.bytes > KEPT_BYTES && self.order.len() > 1 {
            let oldest = self.order.pop_front().expect("more than one is kept");
            if let Some(text) = self.kept.remove(&oldest) {
                self.bytes -= text.as_str().len();
            }
        }
    }
}

impl Store {
    /// A store that looks up with `load` what it does not have at hand.
    pub fn new(load: Load) -> Store {
        Store { load, state: RefCell::default() }
    }

    /// A store in front of a journal. Looking up blocks for one indexed read, which is rarer than a commit and shorter.
    pub fn of(writer: Arc<Writer>) -> Store {
        Store::new(Box::new(move |digest| {
            let (answer, wait) = std::sync::mpsc::channel();
            writer.ask(move |journal| {
                let found = journal.and_then(|journal| journal.blob(&digest)).ok().flatten();
                let _ = answer.send(found);
            });
            wait.recv().ok().flatten()
        }))
    }

    /// The payload of a value that a fact brings.
    pub fn payload(&self, text: JsonText) -> Payload {
        let (payload, blob) = Payload::new(text);
        blob.into_iter().for_each(|blob| self.put(blob));
        payload
    }

    /// The text behind a payload, as far as it is stored as such.
    pub fn text(&self, payload: &Payload) -> Option<JsonText> {
        payload.text(|digest| self.get(digest))
    }

    /// What the next commit must hold.
    pub fn take_pending(&self) -> Vec<Blob> {
        std::mem::take(&mut self.state.borrow_mut().pending)
    }
}

impl Outputs for Store {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        if let Some(text) = self.state.borrow().kept.get(digest) {
            return Some(text.clone());
        }
        let text = (self.load)(*digest)?;
        self.state.borrow_mut().keep(*digest, text.clone());
        Some(text)
    }

    fn put(&self, blob: Blob) {
        let mut state = self.state.borrow_mut();
        state.keep(blob.digest, blob.text.clone());
        state.pending.push(blob);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_comes_again_takes_no_more_room() {
        let store = Store::new(Box::new(|_| None));
        let blob = |text: String| {
            let text = JsonText::of(&text);
            Blob { digest: Digest::of(text.as_str().as_bytes()), text }
        };
        let (first, large) = (blob("first".into()), blob("x".repeat(1 << 20)));
        store.put(first.clone());
        for _ in 0..=KEPT_BYTES >> 20 {
            store.put(large.clone());
        }
        assert!(store.get(&first.digest).is_some(), "it is at hand still");
    }
}
