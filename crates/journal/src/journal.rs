//! What the engine needs of a journal.
//!
//! Everything here may block on a disk; the engine calls it through [`Writer`](crate::Writer). Both implementations
//! pass the same conformance suite.

use crate::{Blocked, Error, InboxMessage, MessageId, SnapshotTaker};
use convoke_model::{Blob, Digest, JsonText, Stamped};

/// The ordered, durable list of a run's events, with its blobs and its inbox.
pub trait Journal: Send {
    /// How many owners the run has had, this one included.
    fn epoch(&self) -> u64;

    /// The number that the next event must have.
    fn next_seq(&self) -> u64;

    /// Appends events in one commit, together with the blobs they name and the inbox messages they answer.
    ///
    /// Durable on return. All or nothing: after an error nothing of it can be read, except after
    /// [`Error::Poisoned`], when only a new owner knows. Numbers must continue without a gap.
    fn append(&mut self, events: &[Stamped], blobs: &[Blob], consumed: &[MessageId]) -> Result<(), Error>;

    /// Gives every event from number `from` on to `each`, in order, each checked before it is given.
    ///
    /// From the start (`from` 0 or 1) the whole chain is checked; later, from the record before on.
    fn read(&self, from: u64, each: &mut dyn FnMut(Stamped)) -> Result<(), Error>;

    /// All events.
    fn read_all(&self) -> Result<Vec<Stamped>, Error> {
        let mut events = Vec::new();
        self.read(1, &mut |event| events.push(event))?;
        Ok(events)
    }

    /// Events that fold to the same state as all of them: the newest snapshot that was made under these rules, and what is behind it.
    fn recover(&self, _rules: u32) -> Result<Vec<Stamped>, Error> {
        self.read_all()
    }

    /// Takes snapshots of this journal, on any thread; `None` where reading all of it costs little.
    fn snapshot_taker(&self) -> Option<SnapshotTaker> {
        None
    }

    /// The text of a blob; `None` if it is not in the store.
    fn blob(&self, digest: &Digest) -> Result<Option<JsonText>, Error>;

    /// Says that the owner is there, and fails if another one has come.
    fn beat(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Says why nothing can be appended for now, or that this is over, where others look for it. Needs no room on the disk.
    fn blocked(&mut self, _why: Option<Blocked>) {}

    /// Gives up what was kept for the last words of a run that stops on a full disk: the next append may use it.
    fn spend_ballast(&mut self) {}

    /// Whether something may have arrived in the inbox since the last [`take_inbox`](Journal::take_inbox). Cheap.
    fn inbox_changed(&mut self) -> bool;

    /// The messages that no append has consumed, oldest first, each once per owner.
    ///
    /// A message that was taken but not consumed comes again to the next owner.
    fn take_inbox(&mut self) -> Result<Vec<InboxMessage>, Error>;

    /// The same, and what is sent later bears a later time than this moment's: no sender is under way.
    fn take_settled_inbox(&mut self) -> Result<Vec<InboxMessage>, Error> {
        self.take_inbox()
    }
}
