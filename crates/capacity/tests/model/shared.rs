//! Leases, fences, quarantine and the queue: processes that take turns at the tables and make calls.

use super::tables::{Handle, Held, Key, LeaseSlot, LeaseState, Store, Tables, WaiterState};
use stateright::{Model, Property};

/// What the checker explores.
#[derive(Clone, Debug)]
pub struct Shared {
    pub processes: usize,
    pub limit: u32,
    pub leases: usize,
    pub waiters: usize,
    pub kills: u8,
    /// Demands that are made with this many leases out before are the last.
    pub tokens: u8,
    /// Whether what was used lingers, for ever as far as this model sees.
    pub rate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    Reserve,
    Consume,
    Release,
    ReleaseAgain,
    ConfirmGone,
    Enqueue,
    Fetch,
    Withdraw,
    Reclaim,
}

/// What a process learns at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Learned {
    Nothing,
    Refused,
    Lease(Handle),
    Ticket(Handle),
    NoTicket,
    NoLease,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    alive: bool,
    /// The stores it has still to do in this turn, last first.
    stores: Vec<Store>,
    learns: Learned,
    recovers: bool,
    lease: Option<Handle>,
    /// A lease it gave back, and may give back again by mistake.
    old: Option<Handle>,
    ticket: Option<Handle>,
    /// It asked `check` and was told `Good`, for a call that it has not begun.
    checked: bool,
    calling: bool,
    /// It has made the one call of its lease, if it is a rate.
    called: bool,
}

impl Process {
    fn new() -> Self {
        Self {
            alive: true,
            stores: Vec::new(),
            learns: Learned::Nothing,
            recovers: false,
            lease: None,
            old: None,
            ticket: None,
            checked: false,
            calling: false,
            called: false,
        }
    }

    fn learn(&mut self) {
        match self.learns {
            Learned::Nothing | Learned::Refused => {}
            Learned::Lease(lease) => (self.lease, self.ticket, self.called) = (Some(lease), None, false),
            Learned::Ticket(ticket) => self.ticket = Some(ticket),
            Learned::NoTicket => self.ticket = None,
            Learned::NoLease => (self.lease, self.old) = (None, self.lease),
        }
        (self.learns, self.recovers) = (Learned::Nothing, false);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    tables: Tables,
    processes: Vec<Process>,
    kills: u8,
    /// Calls that the provider has counted, if it is a rate.
    begun: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Begin(usize, Turn),
    Step(usize),
    Kill(usize),
    Join(usize),
    Expire(usize),
    QuarantineEnds(usize),
    Check(usize),
    Call(usize),
    Answer(usize),
}

impl World {
    fn key(&self, process: usize) -> Key {
        (process, self.tables.generation[process])
    }

    /// What the kernel would prove: ended, and in its slot still.
    fn dead(&self) -> Vec<Key> {
        let ended = |index: &usize| self.tables.taken[*index] && !self.processes[*index].alive;
        (0..self.processes.len()).filter(ended).map(|index| self.key(index)).collect()
    }

    /// Whether the lock can be taken: it is free, or a dead process has it.
    fn can_lock(&self) -> bool {
        self.tables.holder.is_none_or(|key| self.key(key.0) != key || !self.processes[key.0].alive)
    }

    fn check(&self, process: usize) -> bool {
        self.processes[process].lease.is_some_and(|(index, token)| {
            let slot = self.tables.leases[index];
            let ours = slot.token == token && slot.owner == self.key(process);
            ours && slot.state == LeaseState::Consumed && !slot.expired
        })
    }

    /// Whether no live process is in the middle of a turn. A turn goes by the time at which it began, and a call that ends
    /// later is the worse case, so time passes and calls end between turns only: fewer states, the same outcomes.
    fn is_between_turns(&self) -> bool {
        self.processes.iter().all(|process| process.stores.is_empty())
    }

    /// Whether no process is, or died, in the middle of a turn.
    fn is_quiet(&self) -> bool {
        self.tables.holder.is_none() && !self.tables.dirty
    }
}

/// What a turn does to the tables, between `begin` and `end`.
fn turn(held: &mut Held, me: Key, process: &Process, turn: Turn) -> Learned {
    match turn {
        Turn::Reserve => reserve(held, me),
        Turn::Consume => consume(held, me, process.lease),
        Turn::Release => release(held, me, process.lease),
        Turn::ReleaseAgain => release(held, me, process.old),
        Turn::ConfirmGone => confirm_gone(held, me, process.lease),
        Turn::Enqueue => held.enqueue(me).map_or(Learned::Refused, Learned::Ticket),
        Turn::Fetch => fetch(held, process.ticket),
        Turn::Withdraw => withdraw(held, process.ticket),
        Turn::Reclaim => {
            held.sweep();
            Learned::Nothing
        }
    }
}

fn reserve(held: &mut Held, me: Key) -> Learned {
    if held.fits() { held.grant(me, 0).map_or(Learned::Refused, Learned::Lease) } else { Learned::Nothing }
}

fn consume(held: &mut Held, me: Key, lease: Option<Handle>) -> Learned {
    if let Some(index) = lease.and_then(|lease| held.in_time(me, lease)) {
        held.put(Store::LeaseState(index, LeaseState::Consumed));
    }
    Learned::Nothing
}

fn release(held: &mut Held, me: Key, lease: Option<Handle>) -> Learned {
    let Some(index) = lease.and_then(|lease| held.in_time(me, lease)) else { return Learned::Nothing };
    held.end_lease(index);
    Learned::NoLease
}

fn confirm_gone(held: &mut Held, me: Key, lease: Option<Handle>) -> Learned {
    if let Some(index) = lease.and_then(|lease| held.current(me, lease)) {
        held.end_lease(index);
    }
    Learned::NoLease
}

fn fetch(held: &mut Held, ticket: Option<Handle>) -> Learned {
    let Some((index, _)) = ticket else { return Learned::Nothing };
    let waiter = held.tables.waiters[index];
    let lease = held.tables.leases[waiter.lease];
    match waiter.state {
        WaiterState::Granted if lease.state == LeaseState::Held && !lease.expired => {
            held.put(Store::WaiterState(index, WaiterState::Free));
            Learned::Lease((waiter.lease, lease.token))
        }
        WaiterState::Granted => withdraw(held, ticket),
        WaiterState::Free | WaiterState::Waiting => Learned::Nothing,
    }
}

fn withdraw(held: &mut Held, ticket: Option<Handle>) -> Learned {
    if let Some((index, _)) = ticket {
        held.drop_waiter(index);
    }
    Learned::NoTicket
}

impl Shared {
    fn turns(&self, world: &World, index: usize, actions: &mut Vec<Action>) {
        let process = &world.processes[index];
        let idle =
            process.lease.is_none() && process.ticket.is_none() && world.tables.last_token < self.tokens;
        let quiet = !process.calling && !process.checked;
        let unused = |(slot, _): Handle| world.tables.leases[slot].state == LeaseState::Held;
        let left = world.tables.leases.iter().any(|lease| lease.expired) || !world.dead().is_empty();
        let possible = [
            (idle, Turn::Reserve),
            (idle && world.tables.last_ticket < self.tokens, Turn::Enqueue),
            (process.ticket.is_some(), Turn::Fetch),
            (process.ticket.is_some(), Turn::Withdraw),
            (process.lease.is_some_and(unused), Turn::Consume),
            (process.lease.is_some() && quiet, Turn::Release),
            (process.old.is_some(), Turn::ReleaseAgain),
            (process.lease.is_some() && quiet && !world.check(index), Turn::ConfirmGone),
            (left, Turn::Reclaim),
        ];
        actions.extend(possible.iter().filter(|(can, _)| *can).map(|(_, turn)| Action::Begin(index, *turn)));
    }

    /// Works a turn out. No other process stores to the tables before it is over, so its stores can be known from the start.
    fn begin(&self, world: &mut World, index: usize, what: Turn) {
        let me = world.key(index);
        let recovers = world.tables.dirty;
        world.tables.holder = Some(me);
        let (tables, dead) = (world.tables.clone(), world.dead());
        let mut held = Held { limit: self.limit, rate: self.rate, tables, stores: Vec::new(), dead };
        held.begin();
        let learns = turn(&mut held, me, &world.processes[index], what);
        held.end();
        held.stores.reverse();
        let process = &mut world.processes[index];
        (process.stores, process.learns, process.recovers) = (held.stores, learns, recovers);
        if what == Turn::ReleaseAgain {
            process.old = None;
        }
    }

    /// One store to what is the truth, or several in a row to what is derived: of those nothing is left if it dies among them.
    fn step(world: &mut World, index: usize) {
        let process = &mut world.processes[index];
        let store = process.stores.pop().expect("only processes with stores take steps");
        world.tables.apply(&store);
        while store.is_derived() && process.stores.last().is_some_and(Store::is_derived) {
            world.tables.apply(&process.stores.pop().expect("there is a last one"));
        }
        if process.stores.is_empty() {
            process.learn();
        }
    }

    /// Takes the dead one's slot, perhaps before anybody has cleared up after it.
    fn join(world: &mut World, index: usize) {
        world.tables.generation[index] += 1;
        world.tables.taken[index] = true;
        world.processes[index] = Process::new();
    }

    /// Longest call time and margin have passed since it expired: the assumption is that no call of its holder can be under way.
    /// All of the turn at once; `free` in the middle of one is covered by the sweep.
    fn end_quarantine(&self, mut world: World, index: usize) -> Option<World> {
        let owner = world.tables.leases[index].owner;
        let holder = &world.processes[owner.0];
        let busy = world.key(owner.0) == owner && (holder.calling || holder.checked);
        if busy || !world.is_quiet() {
            return None;
        }
        let (limit, rate, tables) = (self.limit, self.rate, world.tables);
        let mut held = Held { limit, rate, tables, stores: Vec::new(), dead: Vec::new() };
        held.end_lease(index);
        held.dispatch();
        world.tables = held.tables;
        Some(world)
    }

    fn actions_of(&self, world: &World, index: usize, actions: &mut Vec<Action>) {
        let process = &world.processes[index];
        let between = process.stores.is_empty();
        if world.kills < self.kills {
            actions.push(Action::Kill(index));
        }
        if !between {
            actions.push(Action::Step(index));
        } else if world.can_lock() {
            self.turns(world, index, actions);
        }
        let may_call = !process.checked && !process.calling && !process.called;
        if between && may_call && world.check(index) {
            actions.push(Action::Check(index));
        }
        actions.extend(process.checked.then_some(Action::Call(index)));
        actions.extend((process.calling && world.is_between_turns()).then_some(Action::Answer(index)));
    }
}

impl Model for Shared {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let tables = Tables::new(self.processes, self.leases, self.waiters);
        vec![World { tables, processes: vec![Process::new(); self.processes], kills: 0, begun: 0 }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (index, process) in world.processes.iter().enumerate() {
            match process.alive {
                true => self.actions_of(world, index, actions),
                false => actions.push(Action::Join(index)),
            }
        }
        if !world.is_between_turns() {
            return;
        }
        for (index, lease) in world.tables.leases.iter().enumerate() {
            let in_time = matches!(lease.state, LeaseState::Held | LeaseState::Consumed) && !lease.expired;
            actions.extend(in_time.then_some(Action::Expire(index)));
            actions.extend((lease.state == LeaseState::Quarantined).then_some(Action::QuarantineEnds(index)));
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Begin(index, what) => self.begin(&mut world, index, what),
            Action::Step(index) => Self::step(&mut world, index),
            Action::Kill(index) => {
                world.kills += 1;
                world.processes[index] = Process { alive: false, ..Process::new() };
            }
            Action::Join(index) => Self::join(&mut world, index),
            Action::Expire(index) => world.tables.leases[index].expired = true,
            Action::QuarantineEnds(index) => return self.end_quarantine(world, index),
            Action::Check(index) => world.processes[index].checked = true,
            Action::Call(index) => {
                let process = &mut world.processes[index];
                (process.checked, process.calling, process.called) = (false, true, self.rate);
                world.begun += u32::from(self.rate);
            }
            Action::Answer(index) => world.processes[index].calling = false,
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never above the limit", never_above_the_limit),
            Property::always("never more calls than the limit", never_more_calls),
            Property::always("never more calls in a window than the rate", |model: &Self, world: &World| {
                world.begun <= model.limit
            }),
            Property::always("nothing is counted twice", |_: &Self, world: &World| {
                world.tables.counted() <= u32::from(world.tables.last_token)
            }),
            Property::sometimes("something lingers, if it is a rate", |model: &Self, world: &World| {
                !model.rate || world.tables.lingers() > 0
            }),
            Property::always("derived values are exact between turns", exact_between_turns),
            Property::always("nobody waits for what is free", nobody_waits_for_what_is_free),
            Property::always("a ticket has one lease", one_lease_per_ticket),
            Property::always("no ticket waits for a lease that was made for it", nobody_waits_for_its_own),
            Property::always("a lease under a call is not given away", calls_are_covered),
            Property::sometimes("tables are recovered", |_: &Self, world: &World| {
                world.processes.iter().any(|p| p.recovers)
            }),
            Property::sometimes("a waiter is served", |_: &Self, world: &World| {
                world.tables.waiters.iter().any(|waiter| waiter.state == WaiterState::Granted)
            }),
            Property::sometimes("a call is made under quarantine", |_: &Self, world: &World| {
                world.processes.iter().any(|process| process.calling) && world.tables.out(true) > 0
            }),
        ]
    }
}

fn never_above_the_limit(model: &Shared, world: &World) -> bool {
    world.tables.counted() <= model.limit
}

fn never_more_calls(model: &Shared, world: &World) -> bool {
    world.processes.iter().filter(|process| process.calling).count() as u32 <= model.limit
}

fn exact_between_turns(_: &Shared, world: &World) -> bool {
    let tables = &world.tables;
    let mut free = tables.free.clone();
    free.sort_unstable_by(|one, two| two.cmp(one));
    tables.dirty
        || ((tables.in_use, tables.quarantined) == (tables.out(false), tables.out(true))
            && tables.lingering == tables.lingers()
            && !tables.decided
            && free == tables.free_leases()
            && tables.queue == tables.waiting())
}

fn nobody_waits_for_what_is_free(model: &Shared, world: &World) -> bool {
    let tables = &world.tables;
    let free = tables.counted() < model.limit && !tables.free_leases().is_empty();
    !world.is_quiet() || !free || tables.waiting().is_empty()
}

fn one_lease_per_ticket(_: &Shared, world: &World) -> bool {
    let out = |lease: &&LeaseSlot| lease.state != LeaseState::Free && lease.ticket != 0;
    let tickets: Vec<u8> = world.tables.leases.iter().filter(out).map(|lease| lease.ticket).collect();
    tickets.iter().collect::<std::collections::BTreeSet<_>>().len() == tickets.len()
}

fn nobody_waits_for_its_own(_: &Shared, world: &World) -> bool {
    let tables = &world.tables;
    let made = |ticket: u8| tables.leases.iter().any(|l| l.state != LeaseState::Free && l.ticket == ticket);
    tables.dirty || tables.waiting().iter().all(|index| !made(tables.waiters[*index].ticket))
}

fn calls_are_covered(_: &Shared, world: &World) -> bool {
    world.processes.iter().enumerate().all(|(index, process)| {
        let Some((slot, token)) = process.lease else { return !process.calling };
        let lease = world.tables.leases[slot];
        let covered =
            lease.token == token && lease.owner == world.key(index) && lease.state != LeaseState::Free;
        covered || !process.calling
    })
}
