//! What a receiver elsewhere is to its forwarder.

use convoke_journal::{Blocked, Reader};
use convoke_model::{RunId, Stamped, Timestamp};
use futures::future::BoxFuture;
use std::time::Duration;

/// A receiver, and what is made of runs for it.
pub trait Consumer: Send + 'static {
    /// What is delivered.
    type Item: Send + Sync + 'static;

    /// The name of its cursors: letters, digits and `-`. Another receiver has another name.
    fn name(&self) -> &str;

    /// What is folded of a run, from its first event on. The journal is for what events only name.
    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Self::Item>>;

    /// Delivers what the fold of a run gave, in order. Ready when the receiver has all of it; what is dropped in between is
    /// delivered again.
    fn deliver<'a>(
        &'a mut self,
        run: &'a RunId,
        items: &'a [Self::Item],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>>;

    /// Delivers what is told of all runs together, if it is time for that. Asked after each pass in which every delivery of a run
    /// succeeded. Most receivers hear of runs one by one, and have none of it.
    fn deliver_totals(&mut self, _urgency: Urgency) -> BoxFuture<'_, Result<Totals, Undelivered>> {
        Box::pin(std::future::ready(Ok(Totals::default())))
    }

    /// A run is gone: removed by a person or by retention. A receiver that holds a copy of it forgets it.
    fn forget(&mut self, _run: &RunId) {}
}

/// Whether there is another time to deliver totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// The forwarder goes on: they may wait for their time.
    WhenDue,
    /// The forwarder is about to end: whatever the receiver does not know is due.
    Now,
}

/// What was delivered of all runs together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// So many items; none where it was not time for them.
    pub items: u64,
    /// What the receiver did not want of them.
    pub delivered: Delivered,
}

/// What is made of one run. The same events give the same items, with the same ids.
pub trait Fold<T>: Send {
    /// Takes the next event.
    fn take(&mut self, event: &Stamped, items: &mut Vec<T>);

    /// Takes how a run stands that has not ended and says nothing new. What it gives may be given again by another process.
    fn stand(&mut self, _standing: &Standing, _items: &mut Vec<T>) {}
}

/// How a run stands at a moment, which no event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The moment.
    pub now: Timestamp,
    /// Whether a process drives the run.
    pub live: bool,
    /// What of the machine it waits for.
    pub blocked: Option<Blocked>,
}

/// What the receiver did not want of what it has taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// So many items.
    pub refused: u64,
    /// Why.
    pub why: Option<String>,
}

/// Why something is not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undelivered {
    /// The receiver is away, or is busy: the same is delivered later.
    Later {
        /// Why.
        why: String,
        /// Not before this time is over.
        after: Option<Duration>,
    },
    /// The receiver wants none of it, now or later: it is counted, and what follows goes on.
    Refused {
        /// Why.
        why: String,
    },
}
