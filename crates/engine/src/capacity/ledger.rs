//! The ledger of lease requests: what this process has requested of the machine, and what it holds. Pure: the table itself is
//! asked by `client`.
//!
//! Every request has a purpose, and its lease serves that purpose: the run's own slot (`run_slot`), attempts of one kind
//! (`attempt_leases`), or one call (`calls`). The way of a request is the same for all: open, perhaps queued, then granted or
//! refused; its lease may be lost, and goes back. What a grant or a refusal means for its purpose is decided by the callers.
//!
//! Keeps true: a request has one answer; every lease goes back once, also that of a request that was withdrawn.

use crate::capacity::terms::{CallNo, Fence, KindNo, RequestNo, Return, Want, Wants};
use crate::core::Effect;
use convoke_model::hash::HashMap;
use indexmap::IndexSet;
use std::collections::VecDeque;
use std::time::Duration;

/// What a lease is requested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Purpose {
    /// The run: its slot among the runs of the machine.
    Run,
    /// Attempts of one kind, whichever of them starts next.
    Attempts(KindNo),
    /// One call.
    Call(CallNo),
}

/// Requests and leases, by their purposes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    last: u64,
    /// Requests without an answer.
    open: HashMap<RequestNo, (Purpose, Wants)>,
    /// Requests that were withdrawn: their leases may be on the way.
    withdrawn: HashMap<RequestNo, Wants>,
    held: HashMap<Fence, Lease>,
    of: HashMap<Purpose, Standing>,
}

#[derive(Debug)]
struct Lease {
    purpose: Purpose,
    wants: Wants,
    /// It ran out while it was held.
    lost: bool,
}

/// How one purpose stands.
#[derive(Debug, Default)]
struct Standing {
    /// Its open requests, oldest first.
    requests: VecDeque<RequestNo>,
    leases: IndexSet<Fence>,
    /// The machine has said that a request has to wait, and has answered none since.
    queued: bool,
}

/// How many withdrawn requests are remembered.
const REMEMBERED: u64 = 4096;

impl Ledger {
    /// Requests a lease of all that is wanted.
    pub fn request(&mut self, purpose: Purpose, wants: Wants) -> Effect {
        self.last += 1;
        let request = RequestNo(self.last);
        let effect = Effect::RequestLease { request, wants: wants.to_vec() };
        self.open.insert(request, (purpose, wants));
        self.of.entry(purpose).or_default().requests.push_back(request);
        effect
    }

    /// Requests a lease once more that ran out before it could be used.
    pub fn request_again(&self, request: RequestNo) -> Option<Effect> {
        let (_, wants) = self.open.get(&request)?;
        Some(Effect::RequestLease { request, wants: wants.to_vec() })
    }

    /// Takes the newest request of a purpose back.
    pub fn withdraw(&mut self, purpose: Purpose) -> Option<Effect> {
        let request = self.of.get_mut(&purpose)?.requests.pop_back()?;
        let (_, wants) = self.open.remove(&request)?;
        self.withdrawn.insert(request, wants);
        self.withdrawn.retain(|old, _| old.0 + REMEMBERED > request.0);
        self.tidy(purpose);
        Some(Effect::WithdrawRequest(request))
    }

    /// The machine has granted a request. The lease of one that was withdrawn goes back, unused.
    pub fn granted(&mut self, request: RequestNo, fence: Fence) -> Result<Purpose, Return> {
        let Some((purpose, wants)) = self.answered(request) else {
            let wants = self.withdrawn.remove(&request).unwrap_or_default();
            return Err(returned(fence, &wants, |_| (0, Duration::ZERO)));
        };
        self.of.entry(purpose).or_default().leases.insert(fence);
        self.held.insert(fence, Lease { purpose, wants, lost: false });
        Ok(purpose)
    }

    /// The machine has nothing free for a request, which waits in its queue.
    pub fn queued(&mut self, request: RequestNo) {
        let purpose = self.open.get(&request).map(|(purpose, _)| *purpose);
        if let Some(standing) = purpose.and_then(|purpose| self.of.get_mut(&purpose)) {
            standing.queued = true;
        }
    }

    /// The machine can never grant a request.
    pub fn refused(&mut self, request: RequestNo) -> Option<Purpose> {
        let (purpose, _) = self.answered(request)?;
        self.tidy(purpose);
        Some(purpose)
    }

    fn answered(&mut self, request: RequestNo) -> Option<(Purpose, Wants)> {
        let (purpose, wants) = self.open.remove(&request)?;
        if let Some(standing) = self.of.get_mut(&purpose) {
            standing.requests.retain(|open| *open != request);
            standing.queued = false;
        }
        Some((purpose, wants))
    }

    /// Leases ran out: what they were for, in order. They are held until they go back.
    pub fn lose(&mut self, fences: &[u64]) -> Vec<(Purpose, Fence)> {
        let mut lost = Vec::new();
        for fence in fences.iter().copied().map(Fence) {
            if let Some(lease) = self.held.get_mut(&fence) {
                lease.lost = true;
                lost.push((lease.purpose, fence));
            }
        }
        lost.sort_unstable();
        lost
    }

    /// A lease goes back, unused as far as rates and budgets are concerned.
    pub fn give_back(&mut self, fence: Fence) -> Option<Return> {
        self.settle(fence, |_| (0, Duration::ZERO))
    }

    /// A lease goes back, after so much of its rates and budgets was used, for so long.
    pub fn settle(&mut self, fence: Fence, used: impl Fn(&Want) -> (u64, Duration)) -> Option<Return> {
        let Lease { purpose, wants, .. } = self.held.remove(&fence)?;
        if let Some(standing) = self.of.get_mut(&purpose) {
            standing.leases.swap_remove(&fence);
        }
        self.tidy(purpose);
        Some(returned(fence, &wants, used))
    }

    /// The requests of a purpose that have no answer.
    pub fn open(&self, purpose: Purpose) -> u64 {
        self.of.get(&purpose).map_or(0, |standing| standing.requests.len() as u64)
    }

    /// Whether the machine has said that a purpose has to wait, and has answered no request of it since.
    pub fn is_queued(&self, purpose: Purpose) -> bool {
        self.of.get(&purpose).is_some_and(|standing| standing.queued)
    }

    /// How many leases are held for a purpose.
    pub fn held(&self, purpose: Purpose) -> u64 {
        self.of.get(&purpose).map_or(0, |standing| standing.leases.len() as u64)
    }

    /// The lease of a purpose that has one at most.
    pub fn lease(&self, purpose: Purpose) -> Option<Fence> {
        self.of.get(&purpose)?.leases.first().copied()
    }

    /// What a lease is of.
    pub fn wants(&self, fence: Fence) -> &[Want] {
        self.held.get(&fence).map_or(&[], |lease| &lease.wants)
    }

    /// Whether a lease ran out while it was held.
    pub fn is_lost(&self, fence: Fence) -> bool {
        self.held.get(&fence).is_some_and(|lease| lease.lost)
    }

    /// A call that is over leaves no trace.
    fn tidy(&mut self, purpose: Purpose) {
        let is_over = |standing: &Standing| standing.requests.is_empty() && standing.leases.is_empty();
        if matches!(purpose, Purpose::Call(_)) && self.of.get(&purpose).is_some_and(is_over) {
            self.of.remove(&purpose);
        }
    }
}

/// What counts on after its use is said; everything else is free again.
fn returned(fence: Fence, wants: &[Want], used: impl Fn(&Want) -> (u64, Duration)) -> Return {
    let counted = wants.iter().filter(|want| want.of.window.is_some());
    let used = counted.map(|want| {
        let (count, lasts) = used(want);
        (Want { of: want.of.clone(), count }, lasts)
    });
    Return { fence, used: used.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::terms::{Counts, Shared};
    use std::sync::Arc;

    const CALL: Purpose = Purpose::Call(CallNo(1));
    const KIND: Purpose = Purpose::Attempts(KindNo(0));

    fn wants() -> Wants {
        let (counts, origin) = (Counts::Tokens, "test".into());
        let window = Some(Duration::from_secs(60));
        let of = Shared { name: "tokens".into(), limit: 100, origin, counts, window, says_spent: false };
        Arc::new([Want { of: Arc::new(of), count: 50 }])
    }

    fn requested(ledger: &mut Ledger, purpose: Purpose) -> RequestNo {
        match ledger.request(purpose, wants()) {
            Effect::RequestLease { request, .. } => request,
            _ => panic!("a request"),
        }
    }

    #[test]
    fn of_rates_it_is_said_what_was_used_and_once() {
        let mut ledger = Ledger::default();
        let request = requested(&mut ledger, CALL);
        assert_eq!(ledger.granted(request, Fence(3)), Ok(CALL));
        assert_eq!((ledger.lease(CALL), ledger.open(CALL)), (Some(Fence(3)), 0));
        let used = |_: &Want| (12, Duration::from_secs(60));
        let back = ledger.settle(Fence(3), used).unwrap();
        assert_eq!((back.fence, back.used[0].0.count), (Fence(3), 12));
        assert_eq!(ledger.settle(Fence(3), used), None, "once");
        assert!(ledger.of.is_empty(), "a call that is over leaves no trace");
    }

    #[test]
    fn the_lease_of_a_withdrawn_request_goes_back_unused() {
        let mut ledger = Ledger::default();
        let request = requested(&mut ledger, CALL);
        assert!(matches!(ledger.withdraw(CALL), Some(Effect::WithdrawRequest(taken)) if taken == request));
        let back = ledger.granted(request, Fence(3)).unwrap_err();
        assert_eq!((back.fence, back.used[0].0.count), (Fence(3), 0), "nothing of the rate is gone");
        assert_eq!(ledger.refused(request), None);
    }

    #[test]
    fn the_newest_request_is_withdrawn_first_and_an_answer_ends_the_wait() {
        let mut ledger = Ledger::default();
        let [first, second] = [(); 2].map(|()| requested(&mut ledger, KIND));
        ledger.queued(first);
        assert!(ledger.is_queued(KIND) && !ledger.is_queued(CALL));
        assert!(matches!(ledger.withdraw(KIND), Some(Effect::WithdrawRequest(taken)) if taken == second));
        assert!(ledger.is_queued(KIND), "the other one still waits");
        assert_eq!(ledger.granted(first, Fence(3)), Ok(KIND));
        assert_eq!((ledger.is_queued(KIND), ledger.held(KIND), ledger.open(KIND)), (false, 1, 0));
    }

    #[test]
    fn a_lost_lease_is_held_until_it_goes_back() {
        let mut ledger = Ledger::default();
        let [run, call] = [Purpose::Run, CALL].map(|purpose| requested(&mut ledger, purpose));
        ledger.granted(call, Fence(4)).unwrap();
        ledger.granted(run, Fence(5)).unwrap();
        assert_eq!(ledger.lose(&[5, 4, 9]), [(Purpose::Run, Fence(5)), (CALL, Fence(4))]);
        assert!(ledger.is_lost(Fence(5)) && ledger.held(Purpose::Run) == 1);
        assert_eq!(ledger.give_back(Fence(5)).map(|back| back.fence), Some(Fence(5)));
        assert!(!ledger.is_lost(Fence(5)));
    }
}
