//! Listening: requests that were granted, and heartbeats.

use super::requests::unit;
use super::{Known, SharedState};
use crate::capacity::run_slot::ORCHESTRATIONS;
use crate::fact::CapacityFact;
use convoke_capacity::{Error, LeaseStatus, Waited};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the end of a run may have to wait for this thread.
const LONGEST_NAP: Duration = Duration::from_millis(100);

impl SharedState {
    pub(super) fn watch(&self) {
        let (mut heard, mut beaten, mut limits) = (0, Instant::now(), self.table.limits_generation());
        while !self.closed.load(Ordering::Relaxed) {
            match self.table.listen(heard, LONGEST_NAP.min(self.ttl / 4)) {
                Ok(rung) if rung != heard => {
                    heard = rung;
                    self.fetch();
                }
                _ => {}
            }
            self.catch_up();
            self.check_pauses();
            let generation = self.table.limits_generation();
            if std::mem::replace(&mut limits, generation) != generation {
                self.check_limits();
                self.check_samples();
            }
            if beaten.elapsed() >= self.ttl / 4 {
                beaten = Instant::now();
                self.heartbeat();
            }
        }
    }

    /// Looks at everything that waits.
    pub(super) fn fetch(&self) {
        let tickets = self.pending().tickets();
        for (ticket, request) in tickets {
            match self.insist(|table| table.fetch(ticket)) {
                Some(Ok(Waited::NotYet)) | None => {}
                Some(Ok(Waited::Granted(lease))) => {
                    self.pending().answered(ticket);
                    self.granted(request, lease);
                }
                Some(Ok(Waited::Lapsed)) => {
                    self.pending().answered(ticket);
                    self.tell(CapacityFact::Lapsed { request });
                }
                Some(Err(error)) => {
                    // Taken back meanwhile, or never to be met any more.
                    if self.pending().answered(ticket).is_some() {
                        self.tell(CapacityFact::Refused { request, why: error.to_string() });
                    }
                }
            }
        }
    }

    pub(super) fn heartbeat(&self) {
        match self.insist(|table| table.heartbeat()) {
            Some(Ok(renewal)) => {
                self.troubled.store(false, Ordering::Relaxed);
                let fences = self.lost(renewal.lost);
                if !fences.is_empty() {
                    self.tell(CapacityFact::Lost { fences });
                }
            }
            Some(Err(error)) => self.complain(&error),
            None => {}
        }
        self.check_budgets();
    }

    /// The leases that ran out: those in quarantine, and those that the table has freed since, which it knows no more.
    fn lost(&self, mut lost: Vec<u64>) -> Vec<u64> {
        let leases = self.leases();
        let gone = leases.values().filter(|lease| self.table.check(lease) == LeaseStatus::Lost);
        lost.extend(gone.map(|lease| lease.token));
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Says once that leases cannot be renewed, and why: they run out, and with them what this process may do.
    fn complain(&self, error: &Error) {
        if !self.troubled.swap(true, Ordering::Relaxed) {
            let message = format!("what this process holds cannot be renewed and will run out: {error}");
            self.tell(CapacityFact::Noted { code: "capacity_unusable", message });
        }
    }

    /// Tells the run which limits were changed.
    fn check_limits(&self) {
        // The table is asked without holding what the run looks at in every turn.
        let stated: Vec<_> = {
            let known = self.known();
            let stated = known.iter().filter(|(_, known)| !known.learned);
            stated.map(|(name, known)| (name.clone(), known.id)).collect()
        };
        let looked = stated.into_iter().filter_map(|(name, id)| Some((name, self.table.in_force(id).ok()?)));
        let views: Vec<_> = looked.collect();
        let mut changed = Vec::new();
        let mut all = self.known();
        for (name, view) in views {
            let Some(known) = all.get_mut(&name) else { continue };
            let from = std::mem::replace(&mut known.limit, view.limit);
            if from != view.limit {
                let unit = unit(known.counts);
                let (from, to) = (u64::from(from) * unit, u64::from(view.limit) * unit);
                changed.push(CapacityFact::Changed { name, from, to, origin: view.origin });
            }
        }
        drop(all);
        changed.into_iter().for_each(|fact| self.tell(fact));
    }

    pub(super) fn is_crowded(&self) -> bool {
        // What is learned is held for a call, and a run's place to its end: no attempt can give them back.
        let given = |name: &str, known: &Known| !known.learned && name != ORCHESTRATIONS;
        self.known().iter().any(|(name, known)| given(name, known) && self.table.crowded(known.id))
    }
}
