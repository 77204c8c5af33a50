//! The end of a lease of which something lingers: what was used stays taken for a while, the rest is free at once.
//!
//! A model call takes a slot, one request and an estimate of tokens as one lease. When it has ended,
//! [`settle`](Capacity::settle) gives the slot back and says how much of the rates was used, which lingers until the provider
//! forgets it. Without such a settlement all that was reserved counts, from now on for a whole window: a consumed lease that is
//! released, confirmed gone or reclaimed from the dead. Only a lease that nothing was started with before it expired leaves no
//! trace.
//!
//! One change, several stores: the settlement is written down whole before the first store to a bucket or lease. From the store
//! that says "decided" it is real, and carrying it out twice is carrying it out once.
//!
//! A settlement may go past a limit, since it has happened. A grant never does: nothing is granted until enough has lapsed.

use crate::buckets::Filling;
use crate::capacity::Capacity;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::failpoint::step;
use crate::layout::{LeaseState, SettlementEntry, VECTOR};
use crate::leases::Lease;
use crate::resources::ResourceId;
use crate::table::{Held, Relaxed};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What lingers of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lingering {
    resource: u32,
    amount: u32,
    until: u64,
}

impl Capacity {
    /// Ends a lease whose call has ended. Of each rate that is named, this much lingers for this long from now, more or less than
    /// was reserved; a rate of which nothing was reserved may be named too. Everything that is not named is given back at
    /// once. Right also for a lease that expired meanwhile, as [`confirm_gone`](Self::confirm_gone) is; that is recorded as late.
    ///
    /// Nothing lingers longer than the rate's window, nor of what is no rate: both are refused, and the lease stays.
    pub fn settle(&self, lease: &Lease, lingering: &[(ResourceId, u32, Duration)]) -> Result<(), Error> {
        let mut held = self.lock()?;
        let lingering = held.lingering(lingering)?;
        let index = held.current(lease)?;
        let slot = held.lease(index);
        if slot.state() == LeaseState::Quarantined || held.now >= slot.expires_at.load(Relaxed) {
            held.count(|counters| &counters.late_releases);
        }
        held.settle(index, &lingering);
        held.count(|counters| &counters.releases);
        Ok(())
    }
}

impl Held<'_> {
    fn lingering(&self, wanted: &[(ResourceId, u32, Duration)]) -> Result<Vec<Lingering>, Error> {
        if wanted.len() > VECTOR {
            let count = wanted.len();
            return Err(Error::invalid(format!("of a lease up to {VECTOR} rates linger, not {count}")));
        }
        let mut lingering: Vec<Lingering> = Vec::with_capacity(wanted.len());
        for (id, amount, time) in wanted {
            let resource = self.rate_for(*id, *time)?;
            if lingering.iter().any(|other| other.resource == resource) {
                return Err(Error::invalid(format!(
                    "`{}` is settled twice",
                    self.resource(resource).name.read()
                )));
            }
            let until = self.now.saturating_add(nanoseconds(*time));
            lingering.push(Lingering { resource, amount: *amount, until });
        }
        // What is over now would otherwise count until the next turn.
        lingering.retain(|part| part.amount != 0 && part.until > self.now);
        Ok(lingering)
    }

    /// A rate that this process has defined, and that counts for so long.
    fn rate_for(&self, id: ResourceId, time: Duration) -> Result<u32, Error> {
        let slot = self.known(id)?;
        let window = Duration::from_nanos(slot.window.load(Relaxed));
        match () {
            () if window.is_zero() => Err(Error::invalid(format!("`{}` is no rate", slot.name.read()))),
            () if time > window => {
                Err(Error::invalid(format!("`{}` counts for {window:?}, not for {time:?}", slot.name.read())))
            }
            () => Ok(id.index()),
        }
    }

    /// Ends a lease whose use is not reported: all of its rates count, for a window from now, if anything was started with it.
    pub(crate) fn end(&mut self, index: u32) {
        let lingering = match self.lease(index).state() {
            LeaseState::Free | LeaseState::Held => Vec::new(),
            LeaseState::Consumed | LeaseState::Quarantined => self.counted_now(index),
        };
        self.settle(index, &lingering);
    }

    fn counted_now(&self, index: u32) -> Vec<Lingering> {
        let amounts = self.lease(index).amounts.read();
        let rates = amounts.iter().filter(|(resource, _)| self.resource(*resource).is_rate());
        rates
            .map(|(resource, amount)| {
                let until = self.now.saturating_add(self.resource(resource).window.load(Relaxed));
                Lingering { resource, amount, until }
            })
            .collect()
    }

    fn settle(&mut self, index: u32, lingering: &[Lingering]) {
        if lingering.is_empty() {
            self.free(index);
            return;
        }
        self.write_down(index, lingering);
        for (place, part) in lingering.iter().enumerate() {
            let filling = self.fill(place);
            step();
            self.resource(part.resource).lingering.fetch_add(u64::from(part.amount), Relaxed);
            self.note_moment(filling.ends_at);
        }
        self.note_spent();
        self.free(index);
        self.close_settlement();
    }

    /// Decides a settlement. It is real from the last store in here.
    fn write_down(&self, index: u32, lingering: &[Lingering]) {
        let record = &self.table().header.settlement;
        for (entry, part) in record.entries.iter().zip(lingering) {
            let window = self.resource(part.resource).window.load(Relaxed);
            let buckets = self.table().lingering(part.resource);
            let filling = buckets.filling(part.amount, part.until, window);
            entry.resource.store(part.resource, Relaxed);
            entry.bucket.store(filling.bucket, Relaxed);
            entry.ends_at.store(filling.ends_at, Relaxed);
            entry.amount.store(filling.amount, Relaxed);
        }
        record.lease.store(index, Relaxed);
        record.count.store(lingering.len() as u32, Relaxed);
        step();
        record.decided.store(1, Ordering::Release);
        step();
    }

    fn fill(&self, place: usize) -> Filling {
        let entry = &self.table().header.settlement.entries[place];
        let filling = entry.filling();
        self.table().lingering(entry.resource.load(Relaxed)).fill(filling);
        filling
    }

    fn close_settlement(&self) {
        step();
        self.table().header.settlement.decided.store(0, Ordering::Release);
        step();
    }

    /// Carries out what a dead process had decided. Counters and lists are computed anew after this.
    pub(crate) fn finish_settlement(&self) {
        let record = &self.table().header.settlement;
        if record.decided.load(Ordering::Acquire) == 0 {
            return;
        }
        for place in 0..record.count.load(Relaxed) as usize {
            self.fill(place);
            step();
        }
        self.lease(record.lease.load(Relaxed)).commit(LeaseState::Free);
        self.close_settlement();
    }
}

impl SettlementEntry {
    fn filling(&self) -> Filling {
        Filling {
            bucket: self.bucket.load(Relaxed),
            ends_at: self.ends_at.load(Relaxed),
            amount: self.amount.load(Relaxed),
        }
    }
}
