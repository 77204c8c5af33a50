//! The real table against a model of it that is too simple to be wrong: lists, and the rules as they are promised.
//!
//! Whatever happens in whatever order, both give the same answers, the same leases in the same order, the same counts; and no limit
//! is ever exceeded.

use super::audit::audit;
use super::*;
use crate::{Error, Footing, IN_A_ROW, PASSES, Reserved};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PEOPLE: usize = 3;
const KINDS: usize = 3;
const NAMES: [&str; KINDS] = ["slots", "gpu", "tokens"];
const LIMITS: [u32; KINDS] = [4, 2, 6];
/// The one that is a rate.
const TOKENS: usize = 2;
/// So that a bucket is one second wide, and nothing in this model needs rounding.
const WINDOW: u64 = crate::buckets::PARTS;

type Wanted = [u32; KINDS];

#[derive(Debug, Clone)]
enum Act {
    Reserve(usize, Wanted),
    Enqueue(usize, Wanted),
    Fetch(usize),
    Withdraw(usize),
    Consume(usize, usize),
    Release(usize, usize),
    ConfirmGone(usize, usize),
    /// So many tokens were used, and linger for so many seconds.
    Settle(usize, usize, u32, u64),
    Shut(usize, usize, u64),
    Heartbeat(usize),
    Reclaim(usize),
    SetLimit(usize, usize, u32),
    Pass(u64),
    Die(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let who = 0..PEOPLE;
    let wanted = prop_oneof![
        4 => (1..=3u32).prop_map(|n| [n, 0, 0]),
        2 => (1..=2u32).prop_map(|n| [0, n, 0]),
        2 => (1..=4u32, 1..=2u32).prop_map(|(a, b)| [a, b, 0]),
        4 => (0..=2u32, 1..=4u32).prop_map(|(a, c)| [a, 0, c]),
        1 => Just([5, 0, 0]),
    ];
    let any = 0..64usize;
    let act = prop_oneof![
        6 => (who.clone(), wanted.clone()).prop_map(|(p, w)| Act::Reserve(p, w)),
        6 => (who.clone(), wanted).prop_map(|(p, w)| Act::Enqueue(p, w)),
        6 => any.clone().prop_map(Act::Fetch),
        1 => any.clone().prop_map(Act::Withdraw),
        3 => (who.clone(), any.clone()).prop_map(|(p, n)| Act::Consume(p, n)),
        9 => (who.clone(), any.clone()).prop_map(|(p, n)| Act::Release(p, n)),
        2 => (who.clone(), any.clone()).prop_map(|(p, n)| Act::ConfirmGone(p, n)),
        5 => (who.clone(), any, 0..8u32, 0..=WINDOW).prop_map(|(p, n, a, s)| Act::Settle(p, n, a, s)),
        1 => (who.clone(), 0..KINDS, 0..20u64).prop_map(|(p, r, s)| Act::Shut(p, r, s)),
        2 => who.clone().prop_map(Act::Heartbeat),
        2 => who.clone().prop_map(Act::Reclaim),
        1 => (who.clone(), 0..KINDS, 1..6u32).prop_map(|(p, r, n)| Act::SetLimit(p, r, n)),
        2 => (1..15u64).prop_map(Act::Pass),
        1 => who.prop_map(Act::Die),
    ];
    prop::collection::vec(act, 1..120)
}

/// What the model says of an answer: enough to compare, nothing that only the table can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
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

fn said<T>(answer: Result<T, Error>, good: impl FnOnce(T) -> Said) -> Said {
    match answer {
        Ok(value) => good(value),
        Err(Error::NeverFits { .. }) => Said::NeverFits,
        Err(Error::Stale { .. }) => Said::Stale,
        Err(Error::DoubleRelease { .. }) => Said::Double,
        Err(Error::Expired { .. }) => Said::Expired,
        Err(Error::AlreadyConsumed { .. }) => Said::Again,
        Err(Error::NoTicket { .. }) => Said::Unknown,
        Err(error) => panic!("{error}"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Held,
    Consumed,
    Quarantined,
    Freed,
}

/// A lease in the model. `order` is its place among all that were ever granted, as its token is in the table.
#[derive(Debug, Clone)]
struct ModelLease {
    owner: (usize, u32),
    amounts: Wanted,
    state: State,
    expires: u64,
}

#[derive(Debug, Clone)]
struct ModelWaiter {
    owner: (usize, u32),
    amounts: Wanted,
    passed: u32,
    /// `None` while it waits; then its lease, or that it can never be.
    answer: Option<Result<usize, ()>>,
    fetched: bool,
}

/// Time in seconds, leases and waiters in the order they came, nothing cached.
#[derive(Debug, Clone, Default)]
struct Model {
    now: u64,
    limits: Wanted,
    life: [u32; PEOPLE],
    leases: Vec<ModelLease>,
    waiters: Vec<ModelWaiter>,
    /// What lingers: of what, how much, until when.
    lingering: Vec<(usize, u32, u64)>,
    shut_until: [u64; KINDS],
    last: [Option<(usize, u32)>; KINDS],
    streak: [u32; KINDS],
}

impl Model {
    fn me(&self, person: usize) -> (usize, u32) {
        (person, self.life[person])
    }

    fn out(&self, resource: usize, quarantined: bool) -> u32 {
        let counts = |lease: &&ModelLease| {
            lease.state != State::Freed && (lease.state == State::Quarantined) == quarantined
        };
        self.leases.iter().filter(counts).map(|lease| lease.amounts[resource]).sum()
    }

    fn lingers(&self, resource: usize) -> u32 {
        self.lingering.iter().filter(|(of, _, _)| *of == resource).map(|(_, amount, _)| amount).sum()
    }

    /// Everything that counts against a limit.
    fn taken(&self, resource: usize) -> u32 {
        self.out(resource, false) + self.out(resource, true) + self.lingers(resource)
    }

    fn lacks(&self, wanted: Wanted, r: usize) -> bool {
        let open = self.now >= self.shut_until[r];
        wanted[r] > 0 && !(open && self.taken(r) + wanted[r] <= self.limits[r])
    }

    fn fits(&self, wanted: Wanted) -> bool {
        (0..KINDS).all(|r| !self.lacks(wanted, r))
    }

    fn never_fits(&self, wanted: Wanted) -> bool {
        (0..KINDS).any(|r| wanted[r] > self.limits[r])
    }

    fn shares(one: Wanted, two: Wanted) -> bool {
        (0..KINDS).any(|r| one[r] > 0 && two[r] > 0)
    }

    /// Those who wait, that came before `end`.
    fn waiting(&self, end: usize) -> impl Iterator<Item = usize> + '_ {
        (0..end).filter(|index| self.waiters[*index].answer.is_none())
    }

    /// What is kept for one that was passed often enough: all it wants, but while it waits for time only the rates it lacks.
    fn kept_for(&self, index: usize) -> Wanted {
        let ModelWaiter { amounts, passed, .. } = self.waiters[index];
        if passed < PASSES {
            return [0; KINDS];
        }
        let for_time = |r: usize| self.lacks(amounts, r) && (r == TOKENS || self.now < self.shut_until[r]);
        match (0..KINDS).any(for_time) {
            true => {
                std::array::from_fn(|r| if r == TOKENS && self.lacks(amounts, r) { amounts[r] } else { 0 })
            }
            false => amounts,
        }
    }

    /// Whether something this demand wants is kept for one that came before and was passed often enough.
    fn is_kept(&self, wanted: Wanted, end: usize) -> bool {
        let kept = |index: usize| {
            !self.fits(self.waiters[index].amounts) && Self::shares(self.kept_for(index), wanted)
        };
        // One that is itself held back keeps nothing from others.
        self.waiting(end).any(|index| kept(index) && !self.is_kept(self.waiters[index].amounts, index))
    }

    fn grant(&mut self, owner: (usize, u32), amounts: Wanted, before: usize) -> usize {
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
    fn serve(&mut self) {
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
    fn politely(&self, can_go: &[usize]) -> Option<usize> {
        let first = *can_go.first()?;
        let (owner, amounts) = (self.waiters[first].owner, self.waiters[first].amounts);
        let had = |r: usize| amounts[r] > 0 && self.last[r] == Some(owner) && self.streak[r] >= IN_A_ROW;
        let other = |index: &&usize| {
            let waiter = &self.waiters[**index];
            waiter.owner != owner && (0..KINDS).any(|r| had(r) && waiter.amounts[r] > 0)
        };
        Some(can_go.iter().find(other).copied().unwrap_or(first))
    }

    fn reserve(&mut self, person: usize, wanted: Wanted) -> Said {
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

    fn enqueue(&mut self, person: usize, wanted: Wanted) -> Said {
        if self.never_fits(wanted) {
            return Said::NeverFits;
        }
        let owner = self.me(person);
        self.waiters.push(ModelWaiter { owner, amounts: wanted, passed: 0, answer: None, fetched: false });
        self.serve();
        Said::Yes
    }

    fn fetch(&mut self, index: usize) -> Said {
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

    fn withdraw(&mut self, index: usize) -> Said {
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

    /// The state of a lease for somebody who wants to use it in time; an expired one goes into quarantine.
    fn in_time(&mut self, person: usize, index: usize) -> Result<(), Said> {
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
    fn is_out(&self, person: usize, index: usize) -> Result<(), Said> {
        let lease = &self.leases[index];
        let ours = lease.owner == self.me(person);
        if ours && lease.state != State::Freed { Ok(()) } else { Err(Said::Stale) }
    }

    fn consume(&mut self, person: usize, index: usize) -> Result<(), Said> {
        self.in_time(person, index)?;
        if self.leases[index].state == State::Consumed {
            return Err(Said::Again);
        }
        self.leases[index].state = State::Consumed;
        Ok(())
    }

    /// Ends a lease of which nobody says what was used.
    fn end(&mut self, index: usize) {
        let used = matches!(self.leases[index].state, State::Consumed | State::Quarantined);
        let tokens = if used { self.leases[index].amounts[TOKENS] } else { 0 };
        self.settle(index, tokens, WINDOW);
    }

    fn settle(&mut self, index: usize, tokens: u32, seconds: u64) {
        self.leases[index].state = State::Freed;
        self.lingering.push((TOKENS, tokens, self.now + seconds));
        self.lapse();
    }

    fn lapse(&mut self) {
        let now = self.now;
        self.lingering.retain(|(_, amount, until)| *until > now && *amount > 0);
        self.serve();
    }

    fn shut(&mut self, resource: usize, until: u64) {
        self.shut_until[resource] = self.shut_until[resource].max(until);
        self.serve();
    }

    fn heartbeat(&mut self, person: usize) -> (u32, usize) {
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
    fn reclaim(&mut self) {
        let (now, life) = (self.now, self.life);
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

    fn set_limit(&mut self, resource: usize, limit: u32) {
        self.limits[resource] = limit;
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.amounts[resource] > limit) {
            waiter.answer.get_or_insert(Err(()));
        }
        self.serve();
    }
}

/// Both of them side by side.
struct Pair {
    world: World,
    people: Vec<Capacity>,
    ids: Vec<[ResourceId; KINDS]>,
    model: Model,
    /// The table's leases that came to light, by the model's number.
    leases: BTreeMap<usize, Lease>,
    tickets: Vec<Ticket>,
}

impl Pair {
    fn new() -> Self {
        let world = World::new();
        let people: Vec<Capacity> = (0..PEOPLE).map(|_| world.open_elsewhere("person")).collect();
        let ids = people.iter().map(both).collect();
        let model = Model { limits: LIMITS, ..Model::default() };
        let mut pair = Self { world, people, ids, model, leases: BTreeMap::new(), tickets: Vec::new() };
        pair.pass(0);
        pair
    }

    fn wanted(&self, person: usize, wanted: Wanted) -> Vec<(ResourceId, u32)> {
        (0..KINDS).filter(|r| wanted[*r] > 0).map(|r| (self.ids[person][r], wanted[r])).collect()
    }

    /// One act on both, and everything that must be alike afterwards.
    fn act(&mut self, act: &Act) {
        match *act {
            Act::Reserve(person, wanted) => self.reserve(person, wanted),
            Act::Enqueue(person, wanted) => self.enqueue(person, wanted),
            Act::Fetch(number) => self.fetch(number),
            Act::Withdraw(number) => self.withdraw(number),
            Act::Consume(person, number) => self.consume(person, number),
            Act::Release(person, number) => self.release(person, number),
            Act::ConfirmGone(person, number) => self.confirm_gone(person, number),
            Act::Settle(person, number, tokens, seconds) => self.settle(person, number, tokens, seconds),
            Act::Shut(person, resource, seconds) => self.shut(person, resource, seconds),
            Act::Heartbeat(person) => self.heartbeat(person),
            Act::Reclaim(person) => self.reclaim(person),
            Act::SetLimit(person, resource, limit) => self.set_limit(person, resource, limit),
            Act::Pass(seconds) => self.pass(seconds),
            Act::Die(person) => self.die(person),
        }
        self.compare();
    }

    fn reserve(&mut self, person: usize, wanted: Wanted) {
        let answer = self.people[person].reserve(&self.wanted(person, wanted), TTL);
        let expected = self.model.reserve(person, wanted);
        let number = self.model.leases.len().wrapping_sub(1);
        let said = said(answer, |answer| match answer {
            Reserved::Granted(lease) => {
                self.leases.insert(number, lease);
                Said::Yes
            }
            Reserved::Blocked { .. } => Said::No,
        });
        assert_eq!(said, expected);
    }

    fn enqueue(&mut self, person: usize, wanted: Wanted) {
        let answer = self.people[person].enqueue(&self.wanted(person, wanted), TTL);
        let expected = self.model.enqueue(person, wanted);
        let said = said(answer, |ticket| {
            self.tickets.push(ticket);
            Said::Yes
        });
        assert_eq!(said, expected);
    }

    fn fetch(&mut self, number: usize) {
        let Some(index) = number.checked_rem(self.tickets.len()) else { return };
        let owner = self.model.waiters[index].owner.0;
        let answer = self.people[owner].fetch(self.tickets[index]);
        let expected = self.model.fetch(index);
        let said = said(answer, |answer| match answer {
            Waited::Granted(lease) => {
                let granted = self.model.waiters[index].answer.expect("the model granted it as well");
                self.leases.insert(granted.expect("with a lease"), lease);
                Said::Yes
            }
            Waited::Lapsed => Said::Lost,
            Waited::NotYet => Said::No,
        });
        assert_eq!(said, expected);
    }

    fn withdraw(&mut self, number: usize) {
        let Some(index) = number.checked_rem(self.tickets.len()) else { return };
        let answer = self.people[self.model.waiters[index].owner.0].withdraw(self.tickets[index]);
        assert_eq!(said(answer, |()| Said::Yes), self.model.withdraw(index));
    }

    /// A lease that both know, whoever it belongs to.
    fn known(&self, number: usize) -> Option<(usize, Lease)> {
        let known: Vec<_> = self.leases.iter().map(|(index, lease)| (*index, *lease)).collect();
        number.checked_rem(known.len()).map(|place| known[place])
    }

    fn consume(&mut self, person: usize, number: usize) {
        let Some((index, lease)) = self.known(number) else { return };
        let answer = self.people[person].consume(&lease);
        let expected = self.model.consume(person, index);
        assert_eq!(not_out(said(answer, |()| Said::Yes)), expected.err().unwrap_or(Said::Yes));
    }

    fn release(&mut self, person: usize, number: usize) {
        let Some((index, lease)) = self.known(number) else { return };
        let answer = self.people[person].release(&lease);
        let expected = self.model.in_time(person, index).map(|()| self.model.end(index));
        assert_eq!(not_out(said(answer, |()| Said::Yes)), expected.err().unwrap_or(Said::Yes));
    }

    fn confirm_gone(&mut self, person: usize, number: usize) {
        let Some((index, lease)) = self.known(number) else { return };
        let answer = self.people[person].confirm_gone(&lease);
        let expected = self.model.is_out(person, index).map(|()| self.model.end(index));
        assert_eq!(not_out(said(answer, |()| Said::Yes)), expected.err().unwrap_or(Said::Yes));
    }

    fn settle(&mut self, person: usize, number: usize, tokens: u32, seconds: u64) {
        let Some((index, lease)) = self.known(number) else { return };
        let lingering = [(self.ids[person][TOKENS], tokens, Duration::from_secs(seconds))];
        let answer = self.people[person].settle(&lease, &lingering);
        let expected = self.model.is_out(person, index).map(|()| self.model.settle(index, tokens, seconds));
        assert_eq!(not_out(said(answer, |()| Said::Yes)), expected.err().unwrap_or(Said::Yes));
    }

    fn shut(&mut self, person: usize, resource: usize, seconds: u64) {
        let until = self.people[person].now() + seconds * 1_000_000_000;
        self.people[person].shut(self.ids[person][resource], until).unwrap();
        self.model.shut(resource, self.model.now + seconds);
    }

    fn heartbeat(&mut self, person: usize) {
        let renewal = self.people[person].heartbeat().unwrap();
        assert_eq!((renewal.renewed, renewal.lost.len()), self.model.heartbeat(person));
    }

    fn reclaim(&mut self, person: usize) {
        self.people[person].reclaim().unwrap();
        self.model.reclaim();
    }

    fn set_limit(&mut self, person: usize, resource: usize, limit: u32) {
        self.people[person].set_limit(NAMES[resource], limit, "test").unwrap();
        self.model.set_limit(resource, limit);
    }

    /// Time passes, and as far as the table knows somebody has searched just now, so that no demand does so by itself.
    fn pass(&mut self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds));
        self.model.now += seconds;
        self.model.lapse();
        self.people[0].mapping.header.searched_at.store(self.people[0].now(), Ordering::SeqCst);
    }

    /// Killed, and another takes its place, which clears up after it.
    fn die(&mut self, person: usize) {
        let heir = self.world.open_elsewhere("gone");
        // Whoever joins looks around, and this one does so while the other lives.
        self.model.reclaim();
        std::mem::replace(&mut self.people[person], heir).die();
        self.people[person].reclaim().unwrap();
        self.ids[person] = both(&self.people[person]);
        self.model.life[person] += 1;
        self.model.reclaim();
    }

    fn compare(&self) {
        audit(&self.people[0]);
        let snapshot = self.people[0].snapshot();
        for (resource, name) in NAMES.iter().enumerate() {
            let expected = (self.model.out(resource, false), self.model.out(resource, true));
            assert_eq!(usage(&snapshot, name), expected, "{name}: in use, quarantined");
            let view = snapshot.resources.iter().find(|view| view.name == *name).unwrap();
            assert_eq!(view.lingering, u64::from(self.model.lingers(resource)), "{name}: lingering");
            self.compare_door(resource);
        }
        let waiting: Vec<u64> = snapshot.waiters.iter().filter(|w| !w.granted).map(|w| w.ticket).collect();
        let expected: Vec<u64> =
            self.model.waiting(self.tickets.len()).map(|index| self.tickets[index].number).collect();
        assert_eq!(waiting, expected, "who waits");
        self.compare_footing();
    }

    /// Shut for everybody alike, and crowded for whom somebody else waits.
    fn compare_door(&self, resource: usize) {
        let shut = self.model.now < self.model.shut_until[resource];
        let others = |person: usize| {
            let waits = |index: usize| self.model.waiters[index].amounts[resource] > 0;
            let other = |index: usize| self.model.waiters[index].owner != self.model.me(person);
            self.model.waiting(self.tickets.len()).any(|index| waits(index) && other(index))
        };
        for (person, capacity) in self.people.iter().enumerate() {
            let id = self.ids[person][resource];
            assert_eq!(capacity.shut_until(id).is_some(), shut, "the door of {resource}");
            let over = self.model.taken(resource) > self.model.limits[resource];
            assert!(
                capacity.crowded(id) || !(shut || over || others(person)),
                "{resource} is crowded for {person}"
            );
        }
    }

    /// A token is good for exactly whom the model says.
    fn compare_footing(&self) {
        for (index, lease) in &self.leases {
            let model = &self.model.leases[*index];
            for (person, capacity) in self.people.iter().enumerate() {
                let usable = model.owner == self.model.me(person)
                    && matches!(model.state, State::Held | State::Consumed)
                    && self.model.now < model.expires;
                let late = self.model.now >= model.expires - TTL.as_secs() / 2;
                let expected = match (usable, late) {
                    (false, _) => Footing::Lost,
                    (true, true) => Footing::Late,
                    (true, false) => Footing::Good,
                };
                assert_eq!(capacity.check(lease), expected, "lease {index} for {person}");
            }
        }
    }
}

fn both(capacity: &Capacity) -> [ResourceId; KINDS] {
    let window = Duration::from_secs(WINDOW);
    std::array::from_fn(|r| match r {
        TOKENS => capacity.define_rate(NAMES[r], LIMITS[r], window, "test").unwrap().id,
        _ => capacity.define(NAMES[r], LIMITS[r], "test").unwrap().id,
    })
}

/// The table can tell a token given back from one of another lease as long as its slot was not used again.
fn not_out(said: Said) -> Said {
    if said == Said::Double { Said::Stale } else { said }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_does_what_the_model_does(acts in acts()) {
        let mut pair = Pair::new();
        for act in &acts {
            let before = pair.model.clone();
            pair.act(act);
            for r in 0..KINDS {
                let (then, now) = (before.taken(r), pair.model.taken(r));
                let happened = matches!(act, Act::Settle(..));
                prop_assert!(now <= then || now <= pair.model.limits[r] || happened, "{now} out after {act:?}");
            }
        }
    }
}
