//! The disk of one run: what was committed outlives the process that did.

use convoke_engine::Store;
use convoke_model::{Blob, Digest, JsonText, Stamped};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Events and large values that are on disk.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub events: Vec<Stamped>,
    blobs: Arc<Mutex<HashMap<Digest, JsonText>>>,
}

impl Journal {
    /// One commit.
    pub fn append(&mut self, events: Vec<Stamped>, blobs: Vec<Blob>) {
        let known = self.events.last().map_or(0, |newest| newest.seq);
        let numbers = events.iter().map(|event| event.seq);
        assert!(numbers.eq(known + 1..=known + events.len() as u64), "events are numbered without a gap");
        let mut kept = self.blobs.lock().expect("one thread");
        kept.extend(blobs.into_iter().map(|blob| (blob.digest, blob.text)));
        self.events.extend(events);
    }

    /// The disk lied: the last quarter of what was committed is gone.
    pub fn lose(&mut self) {
        self.events.truncate(self.events.len() - self.events.len() / 4);
    }

    pub fn blob(&self, digest: &Digest) -> Option<JsonText> {
        self.blobs.lock().expect("one thread").get(digest).cloned()
    }

    /// A store in front of it.
    pub fn store(&self) -> Store {
        let blobs = self.blobs.clone();
        Store::new(Box::new(move |digest| blobs.lock().expect("one thread").get(&digest).cloned()))
    }
}
