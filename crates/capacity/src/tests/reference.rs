//! The real table against the model of it.
//!
//! Whatever happens in whatever order, both give the same answers, the same leases in the same order, the same counts; and no
//! limit is ever exceeded.

use super::audit::audit;
use super::model::{KINDS, LIMITS, Model, NAMES, PEOPLE, Said, State, TOKENS, WINDOW, Wanted};
use super::*;
use crate::{Error, LeaseStatus, Reserved};
use proptest::prelude::*;
use std::collections::BTreeMap;

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
    Pause(usize, usize, u64),
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
        1 => (who.clone(), 0..KINDS, 0..20u64).prop_map(|(p, r, s)| Act::Pause(p, r, s)),
        2 => who.clone().prop_map(Act::Heartbeat),
        2 => who.clone().prop_map(Act::Reclaim),
        1 => (who.clone(), 0..KINDS, 1..6u32).prop_map(|(p, r, n)| Act::SetLimit(p, r, n)),
        2 => (1..15u64).prop_map(Act::Pass),
        1 => who.prop_map(Act::Die),
    ];
    prop::collection::vec(act, 1..120)
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
            Act::Pause(person, resource, seconds) => self.pause(person, resource, seconds),
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

    /// A lease that both know, of any process.
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

    fn pause(&mut self, person: usize, resource: usize, seconds: u64) {
        let until = self.people[person].now() + seconds * 1_000_000_000;
        self.people[person].pause(self.ids[person][resource], until).unwrap();
        self.model.pause(resource, self.model.now + seconds);
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

    /// Time passes, and as far as the table knows a process has searched just now, so that no demand does so by itself.
    fn pass(&mut self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds));
        self.model.now += seconds;
        self.model.lapse();
        self.people[0].mapping.header.searched_at.store(self.people[0].now(), Ordering::SeqCst);
    }

    /// Killed, and another takes its place, which clears up after it.
    fn die(&mut self, person: usize) {
        let heir = self.world.open_elsewhere("gone");
        // A process that joins searches, and this one does so while the other lives.
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
            self.compare_pause(resource);
        }
        let waiting: Vec<u64> = snapshot.waiters.iter().filter(|w| !w.granted).map(|w| w.ticket).collect();
        let expected: Vec<u64> =
            self.model.waiting(self.tickets.len()).map(|index| self.tickets[index].number).collect();
        assert_eq!(waiting, expected, "who waits");
        self.compare_lease_status();
    }

    /// Paused for all processes alike, and crowded where another process waits.
    fn compare_pause(&self, resource: usize) {
        let paused = self.model.now < self.model.paused_until[resource];
        let others = |person: usize| {
            let waits = |index: usize| self.model.waiters[index].amounts[resource] > 0;
            let other = |index: usize| self.model.waiters[index].owner != self.model.me(person);
            self.model.waiting(self.tickets.len()).any(|index| waits(index) && other(index))
        };
        for (person, capacity) in self.people.iter().enumerate() {
            let id = self.ids[person][resource];
            assert_eq!(capacity.paused_until(id).is_some(), paused, "the pause of {resource}");
            let over = self.model.taken(resource) > self.model.limits[resource];
            assert!(
                capacity.crowded(id) || !(paused || over || others(person)),
                "{resource} is crowded for {person}"
            );
        }
    }

    /// A token is good for exactly whom the model says.
    fn compare_lease_status(&self) {
        for (index, lease) in &self.leases {
            let model = &self.model.leases[*index];
            for (person, capacity) in self.people.iter().enumerate() {
                let usable = model.owner == self.model.me(person)
                    && matches!(model.state, State::Held | State::Consumed)
                    && self.model.now < model.expires;
                let late = self.model.now >= model.expires - TTL.as_secs() / 2;
                let expected = match (usable, late) {
                    (false, _) => LeaseStatus::Lost,
                    (true, true) => LeaseStatus::Late,
                    (true, false) => LeaseStatus::Good,
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
