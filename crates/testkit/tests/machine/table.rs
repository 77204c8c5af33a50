//! What the processes of a machine share, as a model: limits, leases with fencing tokens, and who waits.
//!
//! A lease that ran out stays counted until it is given back (quarantine): what was begun on it may still be going on.

use convoke_engine::{RequestNo, Return, Want};
use std::collections::BTreeMap;

/// A lease that is held.
struct Lease {
    process: usize,
    wants: Vec<Want>,
    lost: bool,
}

#[derive(Default)]
pub struct Table {
    last: u64,
    leases: BTreeMap<u64, Lease>,
    waiting: Vec<(usize, RequestNo, Vec<Want>)>,
}

impl Table {
    pub fn request(&mut self, process: usize, request: RequestNo, wants: Vec<Want>) {
        self.waiting.push((process, request, wants));
    }

    pub fn withdraw(&mut self, process: usize, request: RequestNo) {
        self.waiting.retain(|(of, number, _)| (*of, *number) != (process, request));
    }

    /// A lease goes back, once, and from the process that holds it.
    pub fn give_back(&mut self, process: usize, back: &Return) {
        let lease = self.leases.remove(&back.fence.0).expect("a lease goes back once");
        assert_eq!(lease.process, process, "a lease goes back from its process");
    }

    fn used(&self, name: &str) -> u64 {
        let wants = self.leases.values().flat_map(|lease| &lease.wants);
        wants.filter(|want| want.of.name == name).map(|want| want.count).sum()
    }

    /// Grants what can be granted, oldest first: process, request, fencing token.
    pub fn grant(&mut self) -> Vec<(usize, RequestNo, u64)> {
        let mut granted = Vec::new();
        let mut at = 0;
        while at < self.waiting.len() {
            let fits = |want: &Want| self.used(&want.of.name) + want.count <= want.of.limit;
            if !self.waiting[at].2.iter().all(fits) {
                at += 1;
                continue;
            }
            let (process, request, wants) = self.waiting.remove(at);
            self.last += 1;
            self.leases.insert(self.last, Lease { process, wants, lost: false });
            granted.push((process, request, self.last));
        }
        granted
    }

    /// The grant of a request ran out before its process had heard of it.
    pub fn lapse(&mut self, fence: u64) {
        self.leases.remove(&fence);
    }

    /// The process was away for too long: its leases ran out.
    pub fn lose(&mut self, process: usize) -> Vec<u64> {
        let own = self.leases.iter_mut().filter(|(_, lease)| lease.process == process && !lease.lost);
        own.map(|(fence, lease)| {
            lease.lost = true;
            *fence
        })
        .collect()
    }

    pub fn is_lost(&self, fence: u64) -> bool {
        self.leases.get(&fence).is_none_or(|lease| lease.lost)
    }

    /// The leases that are held, in words.
    pub fn held(&self) -> Vec<String> {
        let words = |(fence, lease): (&u64, &Lease)| {
            let wants: Vec<_> = lease.wants.iter().map(|want| want.of.name.as_str()).collect();
            format!("lease {fence} of process {}: {} (lost: {})", lease.process, wants.join(", "), lease.lost)
        };
        self.leases.iter().map(words).collect()
    }
}
