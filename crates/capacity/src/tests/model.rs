//! A model of the table that is too simple to be wrong: lists, and the rules as they are promised.

use super::{HOLD, TTL};
use crate::{IN_A_ROW, PASSES};

pub const PEOPLE: usize = 3;
pub const KINDS: usize = 3;
pub const NAMES: [&str; KINDS] = ["slots", "gpu", "tokens"];
pub const LIMITS: [u32; KINDS] = [4, 2, 6];
/// The one that is a rate.
pub const TOKENS: usize = 2;
/// So that a bucket is one second wide, and nothing in this model needs rounding.
pub const WINDOW: u64 = crate::buckets::PARTS;

pub type Wanted = [u32; KINDS];

/// What the model says of an answer: enough to compare, nothing that only the table can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Yes,
    Lost,
    No,
    NeverFits,
    Stale,
    Double,
    Expired,
    Again,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Held,
    Consumed,
    Quarantined,
    Freed,
}

/// A lease in the model. `order` is its place among all that were ever granted, as its token is in the table.
#[derive(Debug, Clone)]
pub struct ModelLease {
    pub owner: (usize, u32),
    pub amounts: Wanted,
    pub state: State,
    pub expires: u64,
}

#[derive(Debug, Clone)]
pub struct ModelWaiter {
    pub owner: (usize, u32),
    pub amounts: Wanted,
    pub passed: u32,
    /// `None` while it waits; then its lease, or that it can never be.
    pub answer: Option<Result<usize, ()>>,
    pub fetched: bool,
}

/// Time in seconds, leases and waiters in the order they came, nothing cached.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub now: u64,
    pub limits: Wanted,
    pub life: [u32; PEOPLE],
    pub leases: Vec<ModelLease>,
    pub waiters: Vec<ModelWaiter>,
    /// What lingers: of what, how much, until when.
    pub lingering: Vec<(usize, u32, u64)>,
    pub paused_until: [u64; KINDS],
    pub last: [Option<(usize, u32)>; KINDS],
    pub streak: [u32; KINDS],
}

impl Model {
    pub fn me(&self, person: usize) -> (usize, u32) {
        (person, self.life[person])
    }

    pub fn out(&self, resource: usize, quarantined: bool) -> u32 {
        let counts = |lease: &&ModelLease| {
            lease.state != State::Freed && (lease.state == State::Quarantined) == quarantined
        };
        self.leases.iter().filter(counts).map(|lease| lease.amounts[resource]).sum()
    }

    pub fn lingers(&self, resource: usize) -> u32 {
        self.lingering.iter().filter(|(of, _, _)| *of == resource).map(|(_, amount, _)| amount).sum()
    }

    /// Everything that counts against a limit.
    pub fn taken(&self, resource: usize) -> u32 {
        self.out(resource, false) + self.out(resource, true) + self.lingers(resource)
    }

    pub fn lacks(&self, wanted: Wanted, r: usize) -> bool {
        let open = self.now >= self.paused_until[r];
        wanted[r] > 0 && !(open && self.taken(r) + wanted[r] <= self.limits[r])
    }

    pub fn fits(&self, wanted: Wanted) -> bool {
        (0..KINDS).all(|r| !self.lacks(wanted, r))
    }

    pub fn never_fits(&self, wanted: Wanted) -> bool {
        (0..KINDS).any(|r| wanted[r] > self.limits[r])
    }

    pub fn shares(one: Wanted, two: Wanted) -> bool {
        (0..KINDS).any(|r| one[r] > 0 && two[r] > 0)
    }

    /// The waiters that came before `end`.
    pub fn waiting(&self, end: usize) -> impl Iterator<Item = usize> + '_ {
        (0..end).filter(|index| self.waiters[*index].answer.is_none())
    }

    /// What is kept for one that was passed often enough: all it wants, but while it waits for time only the rates it lacks.
    pub fn kept_for(&self, index: usize) -> Wanted {
        let ModelWaiter { amounts, passed, .. } = self.waiters[index];
        if passed < PASSES {
            return [0; KINDS];
        }
        let for_time = |r: usize| self.lacks(amounts, r) && (r == TOKENS || self.now < self.paused_until[r]);
        match (0..KINDS).any(for_time) {
            true => {
                std::array::from_fn(|r| if r == TOKENS && self.lacks(amounts, r) { amounts[r] } else { 0 })
            }
            false => amounts,
        }
    }

    /// Whether something this demand wants is kept for one that came before and was passed often enough.
    pub fn is_kept(&self, wanted: Wanted, end: usize) -> bool {
        let kept = |index: usize| {
            !self.fits(self.waiters[index].amounts) && Self::shares(self.kept_for(index), wanted)
        };
        // One that is itself held back keeps nothing from others.
        self.waiting(end).any(|index| kept(index) && !self.is_kept(self.waiters[index].amounts, index))
    }

    pub fn grant(&mut self, owner: (usize, u32), amounts: Wanted, before: usize) -> usize {
        let passed: Vec<usize> = self
            .waiting(before)
            .filter(|index| {
                Self::shares(self.waiters[*index].amounts, amounts)
                    && !self.fits(self.waiters[*index].amounts)
            })
            .collect();
        passed.into_iter().for_each(|index| self.waiters[index].passed += 1);
        for r in (0..KINDS).filter(|r| amounts[*r] > 0) {
            self.streak[r] = if self.last[r] == Some(owner) { self.streak[r] + 1 } else { 1 };
            self.last[r] = Some(owner);
        }
        let expires = self.now + TTL.as_secs();
        self.leases.push(ModelLease { owner, amounts, state: State::Held, expires });
        self.leases.len() - 1
    }

    /// Serves the queue as it is promised: first come first served, two in a row, passing bounded.
    pub fn serve(&mut self) {
        loop {
            let can_go: Vec<usize> = self
                .waiting(self.waiters.len())
                .filter(|index| self.fits(self.waiters[*index].amounts))
                .filter(|index| !self.is_kept(self.waiters[*index].amounts, *index))
                .collect();
            let Some(next) = self.politely(&can_go) else { return };
            let (owner, amounts) = (self.waiters[next].owner, self.waiters[next].amounts);
            let lease = self.grant(owner, amounts, next);
            self.waiters[next].answer = Some(Ok(lease));
        }
    }

    /// The first, unless it has had its turns of something that another process, which can go, waits for.
    pub fn politely(&self, can_go: &[usize]) -> Option<usize> {
        let first = *can_go.first()?;
        let (owner, amounts) = (self.waiters[first].owner, self.waiters[first].amounts);
        let had = |r: usize| amounts[r] > 0 && self.last[r] == Some(owner) && self.streak[r] >= IN_A_ROW;
        let other = |index: &&usize| {
            let waiter = &self.waiters[**index];
            waiter.owner != owner && (0..KINDS).any(|r| had(r) && waiter.amounts[r] > 0)
        };
        Some(can_go.iter().find(other).copied().unwrap_or(first))
    }

    pub fn reserve(&mut self, person: usize, wanted: Wanted) -> Said {
        let end = self.waiters.len();
        // A newcomer yields to everybody for whom something is kept, held back or not.
        let kept = self.waiting(end).any(|index| Self::shares(self.kept_for(index), wanted));
        match () {
            () if self.never_fits(wanted) => Said::NeverFits,
            () if !self.fits(wanted) || kept => Said::No,
            () => {
                self.grant(self.me(person), wanted, end);
                Said::Yes
            }
        }
    }

    pub fn enqueue(&mut self, person: usize, wanted: Wanted) -> Said {
        if self.never_fits(wanted) {
            return Said::NeverFits;
        }
        let owner = self.me(person);
        self.waiters.push(ModelWaiter { owner, amounts: wanted, passed: 0, answer: None, fetched: false });
        self.serve();
        Said::Yes
    }

    pub fn fetch(&mut self, index: usize) -> Said {
        let waiter = &self.waiters[index];
        let answer = match waiter.answer {
            _ if waiter.fetched || waiter.owner != self.me(waiter.owner.0) => return Said::Unknown,
            None => return Said::No,
            Some(answer) => answer,
        };
        self.waiters[index].fetched = true;
        let Ok(lease) = answer else { return Said::NeverFits };
        if self.leases[lease].state == State::Held && self.now < self.leases[lease].expires {
            return Said::Yes;
        }
        self.leases[lease].state = State::Freed;
        self.serve();
        Said::Lost
    }

    pub fn withdraw(&mut self, index: usize) -> Said {
        let waiter = &mut self.waiters[index];
        if waiter.fetched || waiter.owner.1 != self.life[waiter.owner.0] {
            return Said::Unknown;
        }
        waiter.fetched = true;
        if let Ok(lease) = waiter.answer.get_or_insert(Err(())) {
            self.leases[*lease].state = State::Freed;
        }
        self.serve();
        Said::Yes
    }

    /// The state of a lease for a process that wants to use it in time; an expired one goes into quarantine.
    pub fn in_time(&mut self, person: usize, index: usize) -> Result<(), Said> {
        self.is_out(person, index)?;
        let now = self.now;
        let lease = &mut self.leases[index];
        if lease.state != State::Quarantined && now < lease.expires {
            return Ok(());
        }
        lease.state = State::Quarantined;
        Err(Said::Expired)
    }

    /// Whether a token was used again is for the table to tell: both errors mean that it is not out.
    pub fn is_out(&self, person: usize, index: usize) -> Result<(), Said> {
        let lease = &self.leases[index];
        let ours = lease.owner == self.me(person);
        if ours && lease.state != State::Freed { Ok(()) } else { Err(Said::Stale) }
    }

    pub fn consume(&mut self, person: usize, index: usize) -> Result<(), Said> {
        self.in_time(person, index)?;
        if self.leases[index].state == State::Consumed {
            return Err(Said::Again);
        }
        self.leases[index].state = State::Consumed;
        Ok(())
    }

    /// Ends a lease whose use is not reported.
    pub fn end(&mut self, index: usize) {
        let used = matches!(self.leases[index].state, State::Consumed | State::Quarantined);
        let tokens = if used { self.leases[index].amounts[TOKENS] } else { 0 };
        self.settle(index, tokens, WINDOW);
    }

    pub fn settle(&mut self, index: usize, tokens: u32, seconds: u64) {
        self.leases[index].state = State::Freed;
        self.lingering.push((TOKENS, tokens, self.now + seconds));
        self.lapse();
    }

    pub fn lapse(&mut self) {
        let now = self.now;
        self.lingering.retain(|(_, amount, until)| *until > now && *amount > 0);
        self.serve();
    }

    pub fn pause(&mut self, resource: usize, until: u64) {
        self.paused_until[resource] = self.paused_until[resource].max(until);
        self.serve();
    }

    pub fn heartbeat(&mut self, person: usize) -> (u32, usize) {
        let (me, now) = (self.me(person), self.now);
        let (mut renewed, mut lost) = (0, 0);
        for lease in self.leases.iter_mut().filter(|lease| lease.owner == me && lease.state != State::Freed) {
            if lease.state == State::Quarantined || now >= lease.expires {
                lease.state = State::Quarantined;
                lost += 1;
            } else {
                lease.expires = now + TTL.as_secs();
                renewed += 1;
            }
        }
        (renewed, lost)
    }

    /// Everything that time or death has ended.
    pub fn reclaim(&mut self) {
        let (now, life) = (self.now, self.life);
        for waiter in self.waiters.iter().filter(|waiter| !waiter.fetched) {
            let Some(Ok(lease)) = waiter.answer else { continue };
            let lease = &mut self.leases[lease];
            if lease.state == State::Quarantined || now >= lease.expires {
                lease.state = State::Freed;
            }
        }
        for lease in self.leases.iter_mut().filter(|lease| lease.state != State::Freed) {
            let dead = lease.owner.1 != life[lease.owner.0];
            let quarantined = lease.state == State::Quarantined;
            if dead || (quarantined && now >= lease.expires + HOLD.as_secs()) {
                let used = lease.state != State::Held;
                self.lingering.push((TOKENS, if used { lease.amounts[TOKENS] } else { 0 }, now + WINDOW));
                lease.state = State::Freed;
            } else if !quarantined && now >= lease.expires {
                lease.state = State::Quarantined;
            }
        }
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.owner.1 != life[waiter.owner.0]) {
            waiter.answer.get_or_insert(Err(()));
        }
        self.lapse();
    }

    pub fn set_limit(&mut self, resource: usize, limit: u32) {
        self.limits[resource] = limit;
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.amounts[resource] > limit) {
            waiter.answer.get_or_insert(Err(()));
        }
        self.serve();
    }
}
