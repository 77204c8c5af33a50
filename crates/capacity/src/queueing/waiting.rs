//! Waiting for capacity: a place in the queue, and how its holder learns of the answer.
//!
//! A waiter sleeps until its answer is there; no other one is woken for it. At intervals it also looks for dead holders, one
//! waiter for all of them. A process with many demands waits for its bell in one thread instead of for each ticket.

use crate::capacity::Capacity;
use crate::error::Error;
use crate::futex::Word as _;
use crate::layout::WaiterState;
use crate::leases::{Lease, check_ttl};
use crate::queue;
use crate::resources::{ResourceId, check_length};
use crate::signals;
use crate::table::{Held, Relaxed};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// How often a waiter looks for dead holders: a fraction of the second within which their capacity is back.
pub const SEARCH_EVERY: Duration = Duration::from_millis(200);

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    /// Its number: first come, first served.
    pub number: u64,
    index: u32,
}

/// What became of a demand that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It was granted. The ticket is used up.
    Granted(Lease),
    /// It was granted, and ran out before this process fetched it. It is given back, and the ticket is used up: ask again.
    Lapsed,
    /// Not yet. The ticket keeps its place.
    NotYet,
}

impl Capacity {
    /// Takes a place in the queue. May be granted at once, which the first look at the ticket shows.
    pub fn enqueue(&self, wanted: &[(ResourceId, u32)], ttl: Duration) -> Result<Ticket, Error> {
        check_length(wanted)?;
        check_ttl(ttl)?;
        match self.try_enqueue(wanted, ttl) {
            Err(Error::Full { .. }) if self.search_if_due()? => self.try_enqueue(wanted, ttl),
            answer => answer,
        }
    }

    fn try_enqueue(&self, wanted: &[(ResourceId, u32)], ttl: Duration) -> Result<Ticket, Error> {
        let mut held = self.lock()?;
        let amounts = held.vector(wanted)?;
        let (index, number) = queue::enqueue(&mut held, &self.terms(amounts, ttl))?;
        Ok(Ticket { number, index })
    }

    /// Leaves the queue. What was granted meanwhile is given back.
    pub fn withdraw(&self, ticket: Ticket) -> Result<(), Error> {
        let mut held = self.lock()?;
        let index = held.own_ticket(ticket)?;
        queue::drop_waiter(&mut held, index);
        Ok(())
    }

    /// Looks whether a ticket has its answer, without waiting.
    pub fn fetch(&self, ticket: Ticket) -> Result<Waited, Error> {
        if self.is_waiting(ticket) {
            return Ok(Waited::NotYet);
        }
        let mut held = self.lock()?;
        let index = held.own_ticket(ticket)?;
        held.fetch(index)
    }

    /// Waits for a ticket's answer, so long at most. The ticket keeps its place also when the answer is [`Error::Stuck`].
    pub fn wait(&self, ticket: Ticket, longest: Duration) -> Result<Waited, Error> {
        let begin = Instant::now();
        let slot = self.mapping.waiter(ticket.index);
        let is_waiting = || self.is_waiting(ticket);
        let pause = || self.sleep_on(&slot.signal, 0, longest.saturating_sub(begin.elapsed()));
        match signals::await_answer(&slot.sleeping, is_waiting, pause)? {
            true => self.fetch(ticket),
            false => Ok(Waited::NotYet),
        }
    }

    fn is_waiting(&self, ticket: Ticket) -> bool {
        let slot = self.mapping.waiter(ticket.index);
        slot.state() == WaiterState::Waiting && slot.ticket.load(Relaxed) == ticket.number
    }

    /// Waits until this process's bell has rung more often than `heard`: a ticket has its answer, or an offer of this process
    /// was finished. Answers with how often it has rung; look at everything then. For one thread of a process.
    pub fn listen(&self, heard: u32, longest: Duration) -> Result<u32, Error> {
        let begin = Instant::now();
        let slot = self.slot();
        signals::listen(&slot.bell, &slot.listening, heard, || {
            self.sleep_on(&slot.bell, heard, longest.saturating_sub(begin.elapsed()))
        })
    }

    /// Sleeps on a word, then does what a waiter does for all: applies passed moments, and searches. False if no time is left.
    fn sleep_on(&self, word: &AtomicU32, expected: u32, left: Duration) -> Result<bool, Error> {
        if left.is_zero() {
            return Ok(false);
        }
        word.sleep(expected, self.nap(left));
        self.pass_moment_if_due()?;
        self.search_if_due()?;
        Ok(true)
    }

    /// How long to sleep without an answer: until the next search, or until time itself frees something.
    fn nap(&self, left: Duration) -> Duration {
        left.min(SEARCH_EVERY).min(self.until_next_moment())
    }
}

impl Held<'_> {
    fn own_ticket(&self, ticket: Ticket) -> Result<u32, Error> {
        let slot = self.waiter(ticket.index);
        let ours = slot.state() != WaiterState::Free
            && slot.ticket.load(Relaxed) == ticket.number
            && slot.owner.load(Relaxed) == self.own().pack();
        if ours { Ok(ticket.index) } else { Err(Error::NoTicket { ticket: ticket.number }) }
    }

    fn fetch(&mut self, index: u32) -> Result<Waited, Error> {
        match self.waiter(index).state() {
            WaiterState::Waiting | WaiterState::Free => Ok(Waited::NotYet),
            WaiterState::Refused => Err(self.refusal(index)),
            WaiterState::Granted => Ok(self.fetch_granted(index)),
        }
    }

    /// Hands the lease over if it is still good. Nothing was started with it, so otherwise it is simply given back.
    fn fetch_granted(&mut self, index: u32) -> Waited {
        if let Some(lease) = queue::unfetched(self, index).filter(|lease| !self.is_over(*lease)) {
            queue::free_slot(self, index);
            return Waited::Granted(self.handle(lease));
        }
        queue::drop_waiter(self, index);
        Waited::Lapsed
    }

    fn refusal(&mut self, index: u32) -> Error {
        let wanted = self.waiter(index).amounts.read();
        queue::free_slot(self, index);
        let (resource, amount) = wanted
            .iter()
            .find(|(resource, amount)| *amount > self.resource(*resource).limit.load(Relaxed))
            .or(wanted.iter().next())
            .expect("a demand names a resource");
        let slot = self.resource(resource);
        Error::NeverFits { resource: slot.name.read(), wanted: amount, limit: slot.limit.load(Relaxed) }
    }
}
