//! Leases: capacity that is out, for a time, under a fencing token.
//!
//! Rules for the holder, which make expiry safe:
//!
//! 1. [`consume`](Capacity::consume) before any work is started with a lease.
//! 2. Ask [`check`](Capacity::check) just before each send, and send only if the answer is [`LeaseStatus::Good`]. It is good for
//!    half the time to live, counted from before the lease was asked for or renewed, so clocks may differ in speed by two.
//! 3. No call lasts longer than `max_call_time`.
//! 4. [`heartbeat`](Capacity::heartbeat) at least every quarter of the shortest time to live. What it reports lost is lost: stop,
//!    drop the connections, then [`confirm_gone`](Capacity::confirm_gone).
//!
//! Expiry frees nothing: an expired lease is in quarantine, and counts, until its holder confirms, the kernel proves that the
//! holder has ended, or `max_call_time` and a margin have passed.

use crate::capacity::Capacity;
use crate::cells::Vector;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::extents::Table;
use crate::failpoint::step;
use crate::layout::{LEASES, LeaseState, ProcessKey};
use crate::queue;
use crate::resources::{ResourceId, check_length};
use crate::table::{Held, Relaxed, Terms};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest time to live: a lease is renewed by heartbeats, not made for days.
pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);

/// Capacity this process holds. A plain value: giving it back is `release`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub(crate) index: u32,
    /// The fencing token: larger than that of every lease before.
    pub token: u64,
    /// When it was granted, in nanoseconds on the monotonic clock; counted from before it was asked for.
    pub granted_at: u64,
}

/// The answer to a demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// All of it, at once.
    Granted(Lease),
    /// None of it.
    Blocked {
        /// The resource there is not enough of, or which is kept for a demand that has waited long.
        on: String,
    },
}

/// How good a lease is at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// Work may be started.
    Good,
    /// What runs may end, nothing may be started: past half its time. A heartbeat makes it good again.
    Late,
    /// Stop: expired, in quarantine, given back, or never this process's.
    Lost,
}

/// What a heartbeat did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renewal {
    /// Leases that live on.
    pub renewed: u32,
    /// Tokens of leases that had expired. They are in quarantine until confirmed gone.
    pub lost: Vec<u64>,
}

impl Capacity {
    /// Takes all of a demand now, or nothing. More than a limit is refused with an error: it would never fit.
    pub fn reserve(&self, wanted: &[(ResourceId, u32)], ttl: Duration) -> Result<Reserved, Error> {
        check_length(wanted)?;
        check_ttl(ttl)?;
        match self.try_reserve(wanted, ttl) {
            // Capacity of the dead is not what anybody should wait for, nor slots of theirs.
            Ok(Reserved::Blocked { .. }) | Err(Error::Full { .. }) if self.search_if_due()? => {
                self.try_reserve(wanted, ttl)
            }
            answer => answer,
        }
    }

    fn try_reserve(&self, wanted: &[(ResourceId, u32)], ttl: Duration) -> Result<Reserved, Error> {
        let mut held = self.lock()?;
        let amounts = held.vector(wanted)?;
        let missing = held.lacking(&amounts).or_else(|| queue::kept_for_others(&held, &amounts));
        if let Some(index) = missing {
            return Ok(Reserved::Blocked { on: held.resource(index).name.read() });
        }
        let terms = self.terms(amounts, ttl);
        queue::note_passing(&held, None, &terms.amounts);
        let index = held.grant(&terms)?;
        Ok(Reserved::Granted(held.handle(index)))
    }

    pub(crate) fn terms(&self, amounts: Vector, ttl: Duration) -> Terms {
        Terms { owner: self.own, amounts, ttl: nanoseconds(ttl), hold_after: self.hold_after(), ticket: 0 }
    }

    /// Says that work starts with a lease. Twice is an error, and recorded.
    pub fn consume(&self, lease: &Lease) -> Result<(), Error> {
        let mut held = self.lock()?;
        let index = held.in_time(lease, |counters| &counters.stale_tokens)?;
        let slot = held.lease(index);
        if slot.state() == LeaseState::Consumed {
            held.count(|counters| &counters.double_consumes);
            return Err(Error::AlreadyConsumed { token: lease.token });
        }
        slot.commit(LeaseState::Consumed);
        step();
        Ok(())
    }

    /// Whether work may be started with a lease at this moment. Needs no lock, so it answers also when the table is stuck.
    pub fn check(&self, lease: &Lease) -> LeaseStatus {
        if lease.index >= self.mapping.slots(Table::Leases) {
            return LeaseStatus::Lost;
        }
        let slot = self.mapping.lease(lease.index);
        let is_it = || slot.token.load(Ordering::Acquire) == lease.token;
        if !is_it() || slot.owner.load(Relaxed) != self.own.pack() {
            return LeaseStatus::Lost;
        }
        let usable = matches!(slot.state(), LeaseState::Held | LeaseState::Consumed);
        let (expires_at, ttl) = (slot.expires_at.load(Ordering::Acquire), slot.ttl.load(Ordering::Acquire));
        // The slot may have become another lease's between the loads; then its token is another by now.
        match self.clock.now() {
            now if !usable || !is_it() || now >= expires_at => LeaseStatus::Lost,
            now if now >= expires_at - ttl / 2 => LeaseStatus::Late,
            _ => LeaseStatus::Good,
        }
    }

    /// Renews every lease of this process that has not expired, and says that this process is well.
    pub fn heartbeat(&self) -> Result<Renewal, Error> {
        if self.mapping.is_removed() {
            return Err(Error::Io {
                doing: "share",
                path: self.mapping.path().to_owned(),
                source: std::io::Error::other("the file was removed while in use"),
            });
        }
        let mut held = self.lock()?;
        self.slot().heartbeat.store(held.now, Relaxed);
        let mut renewal = Renewal::default();
        for index in held.leases_out() {
            if ProcessKey::unpack(held.lease(index).owner.load(Relaxed)) == self.own {
                held.renew(index, &mut renewal);
            }
        }
        Ok(renewal)
    }

    /// Gives a lease back; rates it was consumed with linger as reserved, unless it is [settled](Self::settle) instead. A
    /// second time, or after it expired, is an error, and recorded; counters stay exact.
    pub fn release(&self, lease: &Lease) -> Result<(), Error> {
        let mut held = self.lock()?;
        let index = held.in_time(lease, |counters| &counters.late_releases)?;
        held.end(index);
        held.count(|counters| &counters.releases);
        Ok(())
    }

    /// Says that nothing runs on a lease any more. What frees a quarantined one; also right for one that is not.
    pub fn confirm_gone(&self, lease: &Lease) -> Result<(), Error> {
        let mut held = self.lock()?;
        let index = held.current(lease)?;
        held.end(index);
        held.count(|counters| &counters.releases);
        Ok(())
    }
}

impl Held<'_> {
    /// The handle of a lease.
    pub(crate) fn handle(&self, index: u32) -> Lease {
        let slot = self.lease(index);
        Lease { index, token: slot.token.load(Relaxed), granted_at: slot.granted_at.load(Relaxed) }
    }

    /// The slot of a lease that is this process's and out. Anything else is recorded.
    pub(crate) fn current(&self, lease: &Lease) -> Result<u32, Error> {
        let slot = self.lease(lease.index % LEASES as u32);
        let same = slot.token.load(Relaxed) == lease.token && slot.owner.load(Relaxed) == self.own().pack();
        match (same, slot.state()) {
            (true, LeaseState::Free) => {
                self.count(|counters| &counters.double_releases);
                Err(Error::DoubleRelease { token: lease.token })
            }
            (false, _) => {
                self.count(|counters| &counters.stale_tokens);
                Err(Error::Stale { token: lease.token })
            }
            (true, _) => Ok(lease.index),
        }
    }

    /// As `current`, and not expired. One that has is put into quarantine if it is not there yet, and `counter` says so.
    fn in_time(
        &mut self,
        lease: &Lease,
        counter: impl Fn(&crate::layout::CounterWords) -> &AtomicU64,
    ) -> Result<u32, Error> {
        let index = self.current(lease)?;
        let slot = self.lease(index);
        let in_quarantine = slot.state() == LeaseState::Quarantined;
        if !in_quarantine && self.now < slot.expires_at.load(Relaxed) {
            return Ok(index);
        }
        if !in_quarantine {
            self.quarantine(index);
        }
        self.count(counter);
        Err(Error::Expired { token: lease.token })
    }

    /// Whether a lease has run out, noticed or not.
    pub(crate) fn is_over(&self, index: u32) -> bool {
        let slot = self.lease(index);
        slot.state() == LeaseState::Quarantined || self.now >= slot.expires_at.load(Relaxed)
    }

    fn renew(&mut self, index: u32, renewal: &mut Renewal) {
        let slot = self.lease(index);
        let expired = self.now >= slot.expires_at.load(Relaxed);
        if expired && slot.state() != LeaseState::Quarantined {
            self.quarantine(index);
            self.count(|counters| &counters.lost_leases);
        }
        if slot.state() == LeaseState::Quarantined {
            renewal.lost.push(slot.token.load(Relaxed));
        } else {
            slot.expires_at.store(self.now.saturating_add(slot.ttl.load(Relaxed)), Ordering::Release);
            renewal.renewed += 1;
        }
        step();
    }

    /// Raises one of the counters that are never derived.
    pub(crate) fn count(&self, counter: impl Fn(&crate::layout::CounterWords) -> &AtomicU64) {
        counter(&self.table().header.counters).fetch_add(1, Relaxed);
    }
}

/// A time to live is some time, and not days.
pub(crate) fn check_ttl(ttl: Duration) -> Result<(), Error> {
    if ttl < Duration::from_millis(1) || ttl > LONGEST_TTL {
        return Err(Error::invalid(format!("a lease lives 1 ms to {LONGEST_TTL:?}, not {ttl:?}")));
    }
    Ok(())
}
