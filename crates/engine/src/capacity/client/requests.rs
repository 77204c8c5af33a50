//! Requests and returns, in their order.

use super::{Known, Request, SharedState};
use crate::capacity::terms::{Counts, Fence, MONEY_UNIT, RequestNo, Return, Want};
use crate::fact::CapacityFact;
use convoke_capacity::{Capacity, Error, Lease, NAME_BYTES, Reserved, ResourceId};
use convoke_failpoint::failpoint;
use convoke_model::Digest;
use std::borrow::Cow;
use std::sync::mpsc::Receiver;
use std::time::Duration;

impl SharedState {
    pub(super) fn serve(&self, requests: &Receiver<Request>) {
        for request in requests {
            match request {
                Request::Lease(request, wants) => self.reserve(request, wants),
                Request::Withdraw(request) => self.withdraw(request),
                Request::GiveBack(back) => self.give_back(&back),
                Request::Subscribe(service, remembered) => self.subscribe(&service, remembered),
                Request::CallStarted(service) => {
                    self.with_service(&service, |id| self.table.call_started(id))
                }
                Request::CallEnded(service) => self.with_service(&service, |id| self.table.call_ended(id)),
                Request::ReportSample(service, sample) => self.report_sample(&service, sample),
                Request::Pause(service, pause) => self.pause(&service, pause),
                Request::Allow(budget, limit) => self.allow(&budget, limit),
            }
        }
    }

    /// Asks for a lease: at once, or with a place in the queue. A process takes few places at a time; what does not get one
    /// waits here for its turn.
    pub(super) fn reserve(&self, request: RequestNo, wants: Vec<Want>) {
        let begun = self.pending().begin(request, wants);
        if let Some(wants) = begun {
            self.request(request, wants);
        }
    }

    /// Gives requests that have waited here their place in the queue.
    pub(super) fn catch_up(&self) {
        loop {
            let next = self.pending().next();
            let Some((request, wants)) = next else { return };
            if !self.request(request, wants) {
                return;
            }
        }
    }

    /// False if the queue of the machine itself is full, or the disk that its table is on.
    fn request(&self, request: RequestNo, wants: Vec<Want>) -> bool {
        let answer = self.insist(|table| {
            let wanted = self.named(table, &wants)?;
            if let Some((budget, used)) = self.is_spent(table, &wants)? {
                return Ok(Begun::Unpaid(budget, used));
            }
            match table.reserve(&wanted, self.ttl)? {
                Reserved::Granted(lease) => Ok(Begun::Granted(lease)),
                Reserved::Blocked { on } => {
                    // The bell may ring before the ticket is noted; the listener waits for the lock.
                    let mut pending = self.pending();
                    pending.queued(table.enqueue(&wanted, self.ttl)?, request, &wants);
                    Ok(Begun::Queued(on))
                }
            }
        });
        match answer {
            Some(Ok(Begun::Granted(lease))) => {
                failpoint!("capacity.lease.reserved");
                self.pending().need_no_place(&wants);
                self.granted(request, lease);
            }
            Some(Ok(Begun::Queued(on))) => {
                failpoint!("capacity.lease.queued");
                if wants.iter().any(|want| want.of.says_spent) {
                    self.unpaid().insert(request, wants);
                }
                self.tell(CapacityFact::Queued { request, on });
            }
            Some(Ok(Begun::Unpaid(budget, used))) => {
                self.pending().need_no_place(&wants);
                self.tell(CapacityFact::Unpaid { request, budget, used });
            }
            Some(Err(error)) if error.may_pass() => {
                self.pending().put_back(request, wants);
                return false;
            }
            Some(Err(error)) => {
                self.pending().need_no_place(&wants);
                self.tell(CapacityFact::Refused { request, why: error.to_string() });
            }
            None => {}
        }
        true
    }

    /// Notes a lease and tells the run. It counts as used from here on, so that a crash is told from a change of mind.
    pub(super) fn granted(&self, request: RequestNo, lease: Lease) {
        self.unpaid().remove(&request);
        match self.insist(|table| table.consume(&lease)) {
            Some(Ok(())) => {
                let fence = Fence(lease.token);
                failpoint!("capacity.lease.in_use");
                self.leases().insert(fence, lease);
                self.tell(CapacityFact::Granted { request, fence });
            }
            // It ran out before anybody could use it: the run asks for another one.
            Some(Err(_)) => {
                let _ = self.insist(|table| table.confirm_gone(&lease));
                self.tell(CapacityFact::Lapsed { request });
            }
            None => {}
        }
    }

    /// The budget among what is wanted that is spent, and how much of it is used: what was spent does not come back today.
    fn is_spent(&self, table: &Capacity, wants: &[Want]) -> Result<Option<(String, u64)>, Error> {
        for want in wants.iter().filter(|want| want.of.says_spent) {
            let view = table.in_force(self.id(table, want)?)?;
            if view.lingering + want.count > u64::from(view.limit) {
                let used = view.lingering + u64::from(view.in_use) + u64::from(view.quarantined);
                return Ok(Some((want.of.name.clone(), used * unit(want.of.counts))));
            }
        }
        Ok(None)
    }

    /// Tells requests whose money others have spent meanwhile.
    pub(super) fn check_budgets(&self) {
        let waiting: Vec<_> =
            self.unpaid().iter().map(|(request, wants)| (*request, wants.clone())).collect();
        for (request, wants) in waiting {
            if let Some(Ok(Some((budget, used)))) = self.insist(|table| self.is_spent(table, &wants)) {
                self.withdraw(request);
                self.tell(CapacityFact::Unpaid { request, budget, used });
            }
        }
    }

    fn allow(&self, budget: &str, limit: u64) {
        let counts = self.known().get(budget).map(|known| known.counts);
        let limit = match counts {
            Some(Counts::Money) => limit / MONEY_UNIT,
            Some(_) => limit,
            None => return,
        };
        let _ =
            self.insist(|table| table.restate_limit(&table_name(budget), count(limit), "a person's answer"));
    }

    pub(super) fn withdraw(&self, request: RequestNo) {
        self.unpaid().remove(&request);
        let ticket = self.pending().withdraw(request);
        if let Some(ticket) = ticket {
            // A ticket that was answered meanwhile is gone, and so is its request: the run gives the lease back.
            let _ = self.insist(|table| table.withdraw(ticket));
        }
    }

    pub(super) fn give_back(&self, back: &Return) {
        let Some(lease) = self.leases().remove(&back.fence) else { return };
        failpoint!("capacity.lease.before_return");
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
        failpoint!("capacity.lease.returned");
        self.catch_up();
    }

    /// What was used of rates, and for how long it counts.
    fn lingering(&self, used: &[(Want, Duration)]) -> Vec<(ResourceId, u32, Duration)> {
        let known = self.known();
        let known = used.iter().filter_map(|(want, lasts)| Some((known.get(&want.of.name)?, want, *lasts)));
        known.map(|(known, want, lasts)| (known.id, count(want.count), lasts)).collect()
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
        let (name, asked, origin) = (&want.of.name, count(want.of.limit), &want.of.origin);
        let short = table_name(name);
        let defined = match want.of.window {
            Some(window) => table.define_rate(&short, asked, window, origin)?,
            None => table.define(&short, asked, origin)?,
        };
        let (id, limit, counts) = (defined.id, defined.limit, want.of.counts);
        self.known().insert(name.clone(), Known { id, limit, counts, learned: false });
        if defined.limit != asked {
            let unit = unit(counts);
            let (from, to) = (u64::from(asked) * unit, u64::from(limit) * unit);
            self.tell(CapacityFact::Changed { name: name.clone(), from, to, origin: defined.origin });
        }
        Ok(defined.id)
    }
}

enum Begun {
    Granted(Lease),
    Queued(String),
    Unpaid(String, u64),
}

/// The name of a resource in the table, which has room for short ones: a long one is cut and told apart by its digest.
pub(crate) fn table_name(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES {
        return Cow::Borrowed(name);
    }
    let digest = Digest::of(name.as_bytes()).to_string();
    let mark = &digest[digest.len() - 8..];
    let end = name.floor_char_boundary(NAME_BYTES - mark.len() - 1);
    Cow::Owned(format!("{}~{mark}", &name[..end]))
}

/// What one of the table's numbers stands for.
pub(super) fn unit(counts: Counts) -> u64 {
    if counts == Counts::Money { MONEY_UNIT } else { 1 }
}

/// The table counts in 32 bits, more than any slot or any minute's tokens.
fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        assert_eq!(table_name("machine"), "machine");
        let long = |end: &str| format!("requests:openrouter/{}-{end}", "é".repeat(40));
        let (one, other) = (long("a"), long("b"));
        assert!(table_name(&one).len() <= NAME_BYTES && table_name(&one) != table_name(&other));
        assert_eq!(table_name(&one), table_name(&one.clone()), "the same in all processes");
    }
}
