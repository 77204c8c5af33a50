//! What the processes of a machine share, as a model of `capacity`: limits, leases with fencing tokens, and a wait queue.
//!
//! A lease lives until a time after the last heartbeat of its process. One that ran out before it was fetched is free at once;
//! one that was in use stays counted (quarantine) until nothing can be running on it any more. What was used of rates and
//! budgets lingers. The leases of a process that is gone are free at once, unless another process performs one of its attempts
//! still.

use super::agenda::Life;
use super::lingering::Lingering;
use super::sabotage::Sabotage;
use convoke_engine::{RequestNo, Return, Want};
use convoke_model::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

/// How long a lease lives after a heartbeat.
pub(super) const LIVES: Duration = Duration::from_secs(10);

/// Heartbeats come so often.
pub(super) const BEAT: Duration = Duration::from_millis(2500);

/// How long one that ran out stays counted: longer than any call takes.
pub(super) const QUARANTINE: Duration = Duration::from_secs(30);

/// How good a lease is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseStatus {
    Good,
    /// It waits for a heartbeat.
    Late,
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its process has not fetched it yet.
    Granted,
    Used,
    Quarantined,
}

#[derive(Debug)]
struct Lease {
    life: Life,
    request: RequestNo,
    wants: Vec<Want>,
    expires: Timestamp,
    state: State,
}

/// The answer to a request that is not granted at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Queued { on: String },
    Unpaid { budget: String },
    Never { why: String },
}

#[derive(Debug, Default)]
pub(super) struct Table {
    last: u64,
    leases: BTreeMap<u64, Lease>,
    waiting: Vec<(Life, RequestNo, Vec<Want>)>,
    limits: BTreeMap<String, u64>,
    lingering: Lingering,
    /// Until when nothing is granted of a resource.
    paused: BTreeMap<String, Timestamp>,
    /// What each process has asked for so far.
    known: BTreeSet<(Life, String)>,
    /// Leases that ended by themselves, and whose they were if that has fetched them; and those that went back.
    ended: BTreeMap<u64, Option<Life>>,
    returned: HashSet<u64>,
    sabotage: Option<Sabotage>,
}

impl Table {
    pub fn new(sabotage: Option<Sabotage>) -> Table {
        Table { sabotage, ..Table::default() }
    }

    /// A request takes its place in the queue; `serve` grants it. `Some`: it has to wait, or is not taken.
    pub fn request(
        &mut self,
        life: Life,
        request: RequestNo,
        wants: Vec<Want>,
        now: Timestamp,
    ) -> Option<Answer> {
        self.sweep(now);
        for want in &wants {
            self.known.insert((life, want.of.name.clone()));
            let limit = *self.limits.entry(want.of.name.clone()).or_insert(want.of.limit);
            if want.count > limit {
                let why = format!("{} of {} is more than {limit}", want.count, want.of.name);
                return Some(Answer::Never { why });
            }
        }
        if let Some(budget) = self.spent(&wants) {
            return Some(Answer::Unpaid { budget });
        }
        let lacks = self.lacks(&wants, now);
        self.waiting.push((life, request, wants));
        lacks.map(|on| Answer::Queued { on })
    }

    /// The budget among these that is spent: what was used of it does not come back today.
    fn spent(&self, wants: &[Want]) -> Option<String> {
        let told = wants.iter().filter(|want| want.of.says_spent);
        let mut spent =
            told.filter(|want| self.lingering.of(&want.of.name) + want.count > self.limit(&want.of.name));
        spent.next().map(|want| want.of.name.clone())
    }

    /// Requests of a process whose money others have spent meanwhile. They wait no longer.
    pub fn unpaid(&mut self, life: Life, now: Timestamp) -> Vec<(RequestNo, String)> {
        self.lingering.lapse(now);
        let waiting = self.waiting.iter().filter(|(of, ..)| *of == life);
        let unpaid = waiting.filter_map(|(_, request, wants)| Some((*request, self.spent(wants)?)));
        let unpaid: Vec<_> = unpaid.collect();
        unpaid.iter().for_each(|(request, _)| self.withdraw(life, *request));
        unpaid
    }

    /// Takes a request back. What was granted and not fetched is free again.
    pub fn withdraw(&mut self, life: Life, request: RequestNo) {
        self.waiting.retain(|(of, number, _)| (*of, *number) != (life, request));
        let unfetched =
            |lease: &Lease| lease.state == State::Granted && (lease.life, lease.request) == (life, request);
        self.leases.retain(|_, lease| !unfetched(lease));
    }

    /// A lease goes back, once, and from the process that holds it.
    pub fn give_back(&mut self, life: Life, back: &Return, now: Timestamp) {
        self.sweep(now);
        let fence = back.fence.0;
        assert!(self.returned.insert(fence), "lease {fence} goes back a second time");
        let Some(lease) = self.leases.remove(&fence) else {
            return assert!(self.ended.contains_key(&fence), "lease {fence} goes back, and was never given");
        };
        assert_eq!(lease.life, life, "lease {fence} goes back from another process than its own");
        if self.sabotage == Some(Sabotage::ForgetsUse) {
            return;
        }
        if back.used.is_empty() {
            return self.lingering.keep_all(&lease.wants, now);
        }
        for (want, lasts) in &back.used {
            self.lingering.keep(want, now + *lasts);
        }
    }

    fn limit(&self, name: &str) -> u64 {
        self.limits.get(name).copied().unwrap_or(u64::MAX)
    }

    /// How much of a resource is out, used or in quarantine.
    pub fn out(&self, name: &str) -> u64 {
        let wants = self.leases.values().flat_map(|lease| &lease.wants);
        wants.filter(|want| want.of.name == name).map(|want| want.count).sum()
    }

    /// What there is not enough of.
    fn lacks(&self, wants: &[Want], now: Timestamp) -> Option<String> {
        let lacks = |want: &&Want| {
            let name = &want.of.name;
            let out = if self.sabotage == Some(Sabotage::GrantsTooMuch) { 0 } else { self.out(name) };
            let taken = out + self.lingering.of(name);
            taken + want.count > self.limit(name) || self.paused_until(name, now).is_some()
        };
        wants.iter().find(lacks).map(|want| want.of.name.clone())
    }

    /// Grants what can be granted, oldest first: process, request, fencing token.
    pub fn serve(&mut self, now: Timestamp) -> Vec<(Life, RequestNo, u64)> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        self.sweep(now);
        let mut granted = Vec::new();
        let mut at = 0;
        while at < self.waiting.len() {
            if self.lacks(&self.waiting[at].2, now).is_some() {
                at += 1;
                continue;
            }
            let (life, request, wants) = self.waiting.remove(at);
            self.last += 1;
            let (expires, state) = (now + LIVES, State::Granted);
            self.leases.insert(self.last, Lease { life, request, wants, expires, state });
            granted.push((life, request, self.last));
        }
        granted
    }

    /// The process looks at what it was given: it is used from here on. False if it ran out before, or was taken back.
    pub fn fetch(&mut self, fence: u64, now: Timestamp) -> Option<bool> {
        let lease = self.leases.get_mut(&fence);
        let Some(lease) = lease else { return self.ended.contains_key(&fence).then_some(false) };
        if lease.expires <= now {
            self.end(fence, now);
            return Some(false);
        }
        lease.state = State::Used;
        Some(true)
    }

    /// Renews what a process holds. Those that ran out, in quarantine or free since, until they go back.
    /// The next heartbeat comes at `next`.
    pub fn beat(&mut self, life: Life, now: Timestamp, next: Timestamp) -> Vec<u64> {
        self.sweep(now);
        let ended = self.ended.iter().filter(|(fence, of)| {
            let is_told = self.sabotage != Some(Sabotage::HidesLoss);
            is_told && **of == Some(life) && !self.returned.contains(fence)
        });
        let mut lost: Vec<u64> = ended.map(|(fence, _)| *fence).collect();
        for (fence, lease) in self.leases.iter_mut().filter(|(_, lease)| lease.life == life) {
            match lease.state {
                State::Quarantined => lost.push(*fence),
                State::Granted | State::Used => lease.expires = next + (LIVES - BEAT),
            }
        }
        lost
    }

    /// Whether a lease of a process ran out.
    pub fn is_lost(&self, fence: u64) -> bool {
        self.leases.get(&fence).is_none_or(|lease| lease.state == State::Quarantined)
    }

    pub fn lease_status(&self, fence: u64, now: Timestamp) -> LeaseStatus {
        match self.leases.get(&fence).filter(|lease| lease.state == State::Used) {
            Some(lease) if now >= lease.expires => LeaseStatus::Lost,
            Some(lease) if now + LIVES / 2 >= lease.expires => LeaseStatus::Late,
            Some(_) => LeaseStatus::Good,
            None => LeaseStatus::Lost,
        }
    }

    /// Puts what ran out where it belongs.
    fn sweep(&mut self, now: Timestamp) {
        self.lingering.lapse(now);
        let mut over = Vec::new();
        for (fence, lease) in self.leases.iter_mut().filter(|(_, lease)| lease.expires <= now) {
            match lease.state {
                State::Granted => over.push(*fence),
                State::Used | State::Quarantined if lease.expires + QUARANTINE <= now => over.push(*fence),
                State::Used | State::Quarantined => lease.state = State::Quarantined,
            }
        }
        over.into_iter().for_each(|fence| self.end(fence, now));
    }

    /// A lease ends by itself. Of what was in use all is taken for used.
    fn end(&mut self, fence: u64, now: Timestamp) {
        let lease = self.leases.remove(&fence).expect("it is out");
        let is_fetched = lease.state != State::Granted;
        if is_fetched {
            self.lingering.keep_all(&lease.wants, now);
        }
        self.ended.insert(fence, is_fetched.then_some(lease.life));
    }

    /// A process is gone. What it held is free, unless others perform its attempts still: then it runs out.
    pub fn reclaim(&mut self, life: Life, survived: bool, now: Timestamp) {
        self.waiting.retain(|(of, ..)| *of != life);
        self.known.retain(|(of, _)| *of != life);
        let own = self.leases.iter().filter(|(_, lease)| lease.life == life);
        let own: Vec<_> = own.filter(|(_, lease)| !survived || lease.state == State::Granted).collect();
        let own: Vec<_> = own.into_iter().map(|(fence, _)| *fence).collect();
        own.into_iter().for_each(|fence| self.end(fence, now));
    }

    /// Nothing is granted of a resource until then. Later only.
    pub fn pause(&mut self, name: &str, until: Timestamp) {
        let known = self.paused.entry(name.to_owned()).or_default();
        *known = until.max(*known);
    }

    pub fn paused_until(&self, name: &str, now: Timestamp) -> Option<Timestamp> {
        self.paused.get(name).copied().filter(|until| now < *until)
    }

    pub fn set_limit(&mut self, name: &str, limit: u64) -> bool {
        self.limits.insert(name.to_owned(), limit) != Some(limit)
    }

    /// Whether others wait for what a process uses, or too much is out: what is learned and places of runs aside.
    pub fn is_crowded(&self, life: Life) -> bool {
        let known = self.known.range((life, String::new())..).take_while(|(of, _)| *of == life);
        let given = known.filter(|(_, name)| !name.starts_with("learned:") && name != SLOTS_OF_RUNS);
        let waits = |name: &String| {
            let others = self.waiting.iter().filter(|(of, ..)| *of != life);
            others.flat_map(|(.., wants)| wants).any(|want| want.of.name == *name)
        };
        let is_over = |name: &String| self.out(name) > self.limit(name);
        given.into_iter().any(|(_, name)| waits(name) || is_over(name))
    }

    /// The next moment at which time alone may let something be granted.
    pub fn next_moment(&self, now: Timestamp) -> Option<Timestamp> {
        if self.waiting.is_empty() {
            return None;
        }
        let ends = self.leases.values().map(|lease| match lease.state {
            State::Granted => lease.expires,
            State::Used | State::Quarantined => lease.expires + QUARANTINE,
        });
        ends.chain(self.lingering.next()).chain(self.paused.values().copied()).filter(|at| *at > now).min()
    }

    /// What a process has fetched and holds: fencing tokens, and of what.
    pub fn held(&self, life: Life) -> Vec<(u64, Vec<String>)> {
        let own = self.leases.iter().filter(|(_, lease)| lease.life == life);
        let own = own.filter(|(_, lease)| lease.state != State::Granted);
        own.map(|(fence, lease)| (*fence, lease.wants.iter().map(|want| want.of.name.clone()).collect()))
            .collect()
    }

    /// What a process waits for.
    pub fn waits(&self, life: Life) -> Vec<Vec<String>> {
        let own = self.waiting.iter().filter(|(of, ..)| *of == life);
        own.map(|(.., wants)| wants.iter().map(|want| want.of.name.clone()).collect()).collect()
    }

    /// Whether no process waits, and nothing is held a while from now.
    pub fn is_empty_after(&mut self, now: Timestamp) -> bool {
        self.sweep(now + LIVES + QUARANTINE);
        self.waiting.is_empty() && self.leases.is_empty()
    }
}

/// The name of places of runs.
pub(super) const SLOTS_OF_RUNS: &str = "orchestrations";
