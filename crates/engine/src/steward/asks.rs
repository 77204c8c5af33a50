//! Wishes and returns, in their order.

use super::{Books, Known, Office, Order};
use crate::fact::Capacity as News;
use crate::terms::{AskNo, Fence, Return, Want};
use convoke_capacity::{Capacity, Error, Lease, Reserved, ResourceId};
use std::sync::mpsc::Receiver;
use std::time::Duration;

impl Office {
    pub(super) fn serve(&self, orders: &Receiver<Order>) {
        for order in orders {
            match order {
                Order::Ask(ask, wants) => self.reserve(ask, wants),
                Order::Withdraw(ask) => self.withdraw(ask),
                Order::GiveBack(back) => self.give_back(&back),
            }
        }
    }

    /// Asks for a lease: at once, or with a place in the queue. A process takes few places at a time; what does not get one
    /// waits here for its turn.
    fn reserve(&self, ask: AskNo, wants: Vec<Want>) {
        if self.books().is_full() {
            self.books().backlog.push_back((ask, wants));
            return;
        }
        self.request(ask, wants);
    }

    /// Gives wishes that have waited here their place in the queue.
    pub(super) fn catch_up(&self) {
        loop {
            let next = self.books().next_in_backlog();
            let Some((ask, wants)) = next else { return };
            if !self.request(ask, wants) {
                return;
            }
        }
    }

    /// False if the queue of the machine itself is full.
    fn request(&self, ask: AskNo, wants: Vec<Want>) -> bool {
        let answer = self.insist(|table| {
            let wanted = self.named(table, &wants)?;
            match table.reserve(&wanted, self.ttl)? {
                Reserved::Granted(lease) => Ok(Begun::Granted(lease)),
                Reserved::Blocked { on } => {
                    // The bell may ring before the ticket is in the books; who answers it waits for them.
                    let mut books = self.books();
                    books.waiting.insert(table.enqueue(&wanted, self.ttl)?, ask);
                    Ok(Begun::Queued(on))
                }
            }
        });
        match answer {
            Some(Ok(Begun::Granted(lease))) => self.granted(ask, lease),
            Some(Ok(Begun::Queued(on))) => self.tell(News::Queued { ask, on }),
            Some(Err(Error::Full { .. })) => {
                self.books().backlog.push_front((ask, wants));
                return false;
            }
            Some(Err(error)) => self.tell(News::Refused { ask, why: error.to_string() }),
            None => {}
        }
        true
    }

    /// Notes a lease and tells the run. It counts as used from here on, so that a crash is told from a change of mind.
    pub(super) fn granted(&self, ask: AskNo, lease: Lease) {
        match self.insist(|table| table.consume(&lease)) {
            Some(Ok(())) => {
                let fence = Fence(lease.token);
                self.leases().insert(fence, lease);
                self.tell(News::Granted { ask, fence });
            }
            // It ran out before anybody could use it: the run asks for another one.
            Some(Err(_)) => self.tell(News::Lapsed { ask }),
            None => {}
        }
    }

    fn withdraw(&self, ask: AskNo) {
        let ticket = {
            let mut books = self.books();
            books.backlog.retain(|(waiting, _)| *waiting != ask);
            let ticket =
                books.waiting.iter().find(|(_, waiting)| **waiting == ask).map(|(ticket, _)| *ticket);
            ticket.filter(|ticket| books.waiting.remove(ticket).is_some())
        };
        if let Some(ticket) = ticket {
            // A ticket that was answered meanwhile is gone, and so is its wish: the run gives the lease back.
            let _ = self.insist(|table| table.withdraw(ticket));
        }
    }

    fn give_back(&self, back: &Return) {
        let Some(lease) = self.leases().remove(&back.fence) else { return };
        let lingering = self.lingering(&back.used);
        let _ = self.insist(|table| {
            let answer =
                if lingering.is_empty() { table.release(&lease) } else { table.settle(&lease, &lingering) };
            match answer {
                // In quarantine: nothing runs on it any more.
                Err(Error::Expired { .. }) => table.confirm_gone(&lease),
                answer => answer,
            }
        });
        self.catch_up();
    }

    /// What was used of rates, and for how long it counts.
    fn lingering(&self, used: &[Want]) -> Vec<(ResourceId, u32, Duration)> {
        let known = self.known();
        let known = used.iter().filter_map(|want| Some((known.get(&want.of.name)?, want)));
        known.map(|(known, want)| (known.id, count(want.count), want.of.window.unwrap_or_default())).collect()
    }

    /// The table's names for what is wanted.
    fn named(&self, table: &Capacity, wants: &[Want]) -> Result<Vec<(ResourceId, u32)>, Error> {
        wants.iter().map(|want| Ok((self.id(table, want)?, count(want.count)))).collect()
    }

    fn id(&self, table: &Capacity, want: &Want) -> Result<ResourceId, Error> {
        let known = self.known().get(&want.of.name).map(|known| known.id);
        if let Some(known) = known {
            return Ok(known);
        }
        let (name, limit, origin) = (&want.of.name, count(want.of.limit), &want.of.origin);
        let defined = match want.of.window {
            Some(window) => table.define_rate(name, limit, window, origin)?,
            None => table.define(name, limit, origin)?,
        };
        self.known().insert(name.clone(), Known { id: defined.id, limit: defined.limit });
        Ok(defined.id)
    }
}

enum Begun {
    Granted(Lease),
    Queued(String),
}

/// The table counts in 32 bits, more than any slot or any minute's tokens.
fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Places in the queue that one process takes at a time. More than one, so that the next is there before the last was fetched.
/// Few, because whoever frees capacity gives it to who waits and cannot know that this is stopped: what is given to a stopped
/// process is idle for as long as that is stopped, and with a place for each of its tasks that would soon be everything.
const PLACES: usize = 4;

impl Books {
    fn is_full(&self) -> bool {
        self.waiting.len() >= PLACES || !self.backlog.is_empty()
    }

    fn next_in_backlog(&mut self) -> Option<(AskNo, Vec<Want>)> {
        if self.waiting.len() >= PLACES { None } else { self.backlog.pop_front() }
    }

    pub(super) fn tickets(&self) -> Vec<(convoke_capacity::Ticket, AskNo)> {
        self.waiting.iter().map(|(ticket, ask)| (*ticket, *ask)).collect()
    }
}
