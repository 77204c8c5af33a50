//! A journal that lives as long as the process.
//!
//! For dry runs and tests: the same promises as on disk, except that of surviving. Handles share one run, so a test
//! can look at what an engine wrote, and [`Memory::reopen`] is the next owner.

use crate::record::check_numbers;
use crate::{Error, InboxMessage, Journal, Message, MessageId};
use convoke_model::{Blob, Digest, JsonText, RunId, Stamped, Timestamp};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run's journal in memory.
#[derive(Debug, Clone)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
    epoch: u64,
    taken: HashSet<MessageId>,
    seen: u64,
}

#[derive(Debug, Default)]
struct Shared {
    epoch: u64,
    events: Vec<Stamped>,
    blobs: HashMap<Digest, JsonText>,
    inbox: Vec<InboxMessage>,
    sent: u64,
}

impl Memory {
    /// An empty journal and its first owner.
    pub fn new() -> Memory {
        let shared = Shared { epoch: 1, ..Shared::default() };
        Memory { shared: Arc::new(Mutex::new(shared)), epoch: 1, taken: HashSet::new(), seen: 0 }
    }

    /// The next owner of the same run; the owner before is fenced off.
    pub fn reopen(&self) -> Memory {
        let mut shared = self.lock();
        shared.epoch += 1;
        Memory { shared: self.shared.clone(), epoch: shared.epoch, taken: HashSet::new(), seen: 0 }
    }

    /// Leaves a message for the run's owner.
    pub fn send(&self, at: Timestamp, body: Message) -> MessageId {
        let mut shared = self.lock();
        shared.sent += 1;
        let id = MessageId(shared.sent.to_string().into());
        shared.inbox.push(InboxMessage { id: id.clone(), at, body });
        id
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Every change below is complete before anything can panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

impl Journal for Memory {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn next_seq(&self) -> u64 {
        self.lock().events.len() as u64 + 1
    }

    fn append(&mut self, events: &[Stamped], blobs: &[Blob], consumed: &[MessageId]) -> Result<(), Error> {
        let mut shared = self.lock();
        check_numbers(events, shared.events.len() as u64 + 1)?;
        if events.is_empty() && !consumed.is_empty() {
            return Err(Error::NothingToRecord);
        }
        if shared.epoch != self.epoch {
            return Err(Error::Fenced {
                run: RunId("memory".into()),
                epoch: self.epoch,
                current: shared.epoch,
            });
        }
        shared.events.extend_from_slice(events);
        shared.blobs.extend(blobs.iter().map(|blob| (blob.digest, blob.text.clone())));
        shared.inbox.retain(|message| !consumed.contains(&message.id));
        Ok(())
    }

    fn read(&self, from: u64, each: &mut dyn FnMut(Stamped)) -> Result<(), Error> {
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        let events: Vec<_> = self.lock().events.iter().skip(skipped).cloned().collect();
        events.into_iter().for_each(each);
        Ok(())
    }

    fn blob(&self, digest: &Digest) -> Result<Option<JsonText>, Error> {
        Ok(self.lock().blobs.get(digest).cloned())
    }

    fn inbox_changed(&mut self) -> bool {
        self.lock().sent != self.seen
    }

    fn take_inbox(&mut self) -> Result<Vec<InboxMessage>, Error> {
        let (all, sent) = {
            let shared = self.lock();
            (shared.inbox.clone(), shared.sent)
        };
        self.seen = sent;
        Ok(all.into_iter().filter(|message| self.taken.insert(message.id.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Event;

    #[test]
    fn the_owner_before_is_fenced_off() {
        let event = Event::RunParked { waiting: vec![] };
        let events = [Stamped { seq: 1, at: Timestamp(1), event }];
        let mut stale = Memory::new();
        let mut owner = stale.reopen();
        let error = stale.append(&events, &[], &[]).unwrap_err();
        assert!(matches!(error, Error::Fenced { epoch: 1, current: 2, .. }), "{error}");
        owner.append(&events, &[], &[]).unwrap();
        assert_eq!(stale.read_all().unwrap(), events);
    }
}
