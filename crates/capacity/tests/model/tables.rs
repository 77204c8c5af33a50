//! The mapped file, and a turn at it as a list of stores. There is one resource, a rate or not, and
//! every demand wants one of it.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseState {
    Free,
    Held,
    Consumed,
    Quarantined,
}

/// A process slot and its generation.
pub type Key = (usize, u8);
/// The index of a slot, and the number that tells whose it is.
pub type Handle = (usize, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseSlot {
    pub state: LeaseState,
    pub owner: Key,
    pub token: u8,
    pub ticket: u8,
    /// Its time is over. No process writes this: it happens.
    pub expired: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaiterState {
    Free,
    Waiting,
    Granted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaiterSlot {
    pub state: WaiterState,
    pub owner: Key,
    pub ticket: u8,
    pub lease: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tables {
    pub holder: Option<Key>,
    pub dirty: bool,
    pub leases: Vec<LeaseSlot>,
    pub waiters: Vec<WaiterSlot>,
    pub generation: Vec<u8>,
    pub taken: Vec<bool>,
    pub last_token: u8,
    pub last_ticket: u8,
    /// What lingers, if it is a rate. Nothing lapses here: a window is longer than anything that happens.
    pub bucket: u32,
    /// How a lease ends of which something lingers: which one, and what the bucket holds then.
    pub settlement: (usize, u32),
    pub decided: bool,
    /// Derived.
    pub in_use: u32,
    pub quarantined: u32,
    pub lingering: u32,
    pub queue: Vec<usize>,
    pub free: Vec<usize>,
}

/// One store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    Dirty(bool),
    Unlock,
    LastToken(u8),
    LastTicket(u8),
    LeaseFields(usize, LeaseSlot),
    LeaseState(usize, LeaseState),
    WaiterFields(usize, WaiterSlot),
    WaiterLease(usize, usize),
    WaiterState(usize, WaiterState),
    Settlement(usize, u32),
    Decided(bool),
    Bucket(u32),
    InUse(u32),
    Quarantined(u32),
    Lingering(u32),
    Queue(Vec<usize>),
    Free(Vec<usize>),
    Vacate(Key),
}

impl Store {
    /// Whether recovery computes it anew.
    pub fn is_derived(&self) -> bool {
        let counter = matches!(self, Self::InUse(_) | Self::Quarantined(_) | Self::Lingering(_));
        counter || matches!(self, Self::Queue(_) | Self::Free(_))
    }
}

impl Tables {
    pub fn new(processes: usize, leases: usize, waiters: usize) -> Self {
        let lease = LeaseSlot { state: LeaseState::Free, owner: (0, 0), token: 0, ticket: 0, expired: false };
        let waiter = WaiterSlot { state: WaiterState::Free, owner: (0, 0), ticket: 0, lease: 0 };
        Self {
            holder: None,
            dirty: false,
            leases: vec![lease; leases],
            waiters: vec![waiter; waiters],
            generation: vec![0; processes],
            taken: vec![true; processes],
            last_token: 0,
            last_ticket: 0,
            bucket: 0,
            settlement: (0, 0),
            decided: false,
            in_use: 0,
            quarantined: 0,
            lingering: 0,
            queue: Vec::new(),
            free: (0..leases).rev().collect(),
        }
    }

    pub fn apply(&mut self, store: &Store) {
        match store.clone() {
            Store::Dirty(dirty) => self.dirty = dirty,
            Store::Unlock => self.holder = None,
            Store::LastToken(token) => self.last_token = token,
            Store::LastTicket(ticket) => self.last_ticket = ticket,
            Store::LeaseFields(index, fields) => self.leases[index] = fields,
            Store::LeaseState(index, state) => self.leases[index].state = state,
            Store::WaiterFields(index, fields) => self.waiters[index] = fields,
            Store::WaiterLease(index, lease) => self.waiters[index].lease = lease,
            Store::WaiterState(index, state) => self.waiters[index].state = state,
            Store::Settlement(lease, bucket) => self.settlement = (lease, bucket),
            Store::Decided(decided) => self.decided = decided,
            Store::Bucket(amount) => self.bucket = amount,
            Store::InUse(count) => self.in_use = count,
            Store::Quarantined(count) => self.quarantined = count,
            Store::Lingering(count) => self.lingering = count,
            Store::Queue(queue) => self.queue = queue,
            Store::Free(free) => self.free = free,
            Store::Vacate(key) => self.taken[key.0] &= self.generation[key.0] != key.1,
        }
    }

    /// How much is out, by what the slots say. A settlement is real once it is decided.
    pub fn out(&self, quarantined: bool) -> u32 {
        let ends = |index: usize| self.decided && self.settlement.0 == index;
        let counts = |(index, lease): &(usize, &LeaseSlot)| {
            let out = lease.state != LeaseState::Free && !ends(*index);
            out && (lease.state == LeaseState::Quarantined) == quarantined
        };
        self.leases.iter().enumerate().filter(counts).count() as u32
    }

    /// How much lingers.
    pub fn lingers(&self) -> u32 {
        if self.decided { self.settlement.1 } else { self.bucket }
    }

    /// Everything that counts against the limit.
    pub fn counted(&self) -> u32 {
        self.out(false) + self.out(true) + self.lingers()
    }

    pub fn is_current(&self, key: Key) -> bool {
        self.taken[key.0] && self.generation[key.0] == key.1
    }

    /// The queue, by what the slots say.
    pub fn waiting(&self) -> Vec<usize> {
        let waits = |index: &usize| self.waiters[*index].state == WaiterState::Waiting;
        let mut waiting: Vec<usize> = (0..self.waiters.len()).filter(waits).collect();
        waiting.sort_by_key(|index| self.waiters[*index].ticket);
        waiting
    }

    /// The free leases, by what the slots say.
    pub fn free_leases(&self) -> Vec<usize> {
        (0..self.leases.len()).rev().filter(|index| self.leases[*index].state == LeaseState::Free).collect()
    }
}

/// A turn being worked out: the tables as they will be, and the stores that lead there.
pub struct Held {
    pub limit: u32,
    /// Whether what was used lingers.
    pub rate: bool,
    pub tables: Tables,
    pub stores: Vec<Store>,
    /// Whom the kernel has proven dead.
    pub dead: Vec<Key>,
}

impl Held {
    pub fn put(&mut self, store: Store) {
        self.tables.apply(&store);
        self.stores.push(store);
    }

    pub fn begin(&mut self) {
        let died_inside = self.tables.dirty;
        self.put(Store::Dirty(true));
        if died_inside {
            self.recover();
        }
    }

    pub fn end(&mut self) {
        self.dispatch();
        self.put(Store::Dirty(false));
        self.put(Store::Unlock);
    }

    fn recover(&mut self) {
        self.finish_settlement();
        self.put(Store::InUse(0));
        self.put(Store::Quarantined(0));
        self.put(Store::InUse(self.tables.out(false)));
        self.put(Store::Quarantined(self.tables.out(true)));
        self.put(Store::Lingering(self.tables.bucket));
        self.put(Store::Free(self.tables.free_leases()));
        for index in self.tables.waiting() {
            let ticket = self.tables.waiters[index].ticket;
            let made = |lease: &LeaseSlot| lease.state != LeaseState::Free && lease.ticket == ticket;
            if let Some(lease) = self.tables.leases.iter().position(made) {
                self.answer(index, lease);
            }
        }
        self.put(Store::Queue(self.tables.waiting()));
    }

    pub fn fits(&self) -> bool {
        self.tables.in_use + self.tables.quarantined + self.tables.lingering < self.limit
    }

    /// `None` if the table of leases is full.
    pub fn grant(&mut self, owner: Key, ticket: u8) -> Option<Handle> {
        let mut free = self.tables.free.clone();
        let index = free.pop()?;
        self.put(Store::Free(free));
        let token = self.tables.last_token + 1;
        self.put(Store::LastToken(token));
        let fields = LeaseSlot { state: LeaseState::Free, owner, token, ticket, expired: false };
        self.put(Store::LeaseFields(index, fields));
        self.put(Store::LeaseState(index, LeaseState::Held));
        self.put(Store::InUse(self.tables.in_use + 1));
        Some((index, token))
    }

    /// Not clamped here either: an underflow would stop the checker.
    pub fn free(&mut self, index: usize) {
        let quarantined = self.tables.leases[index].state == LeaseState::Quarantined;
        self.put(Store::LeaseState(index, LeaseState::Free));
        self.put(match quarantined {
            true => Store::Quarantined(self.tables.quarantined - 1),
            false => Store::InUse(self.tables.in_use - 1),
        });
        let mut free = self.tables.free.clone();
        free.push(index);
        self.put(Store::Free(free));
    }

    /// Ends a lease. What was started with it lingers.
    pub fn end_lease(&mut self, index: usize) {
        let used = matches!(self.tables.leases[index].state, LeaseState::Consumed | LeaseState::Quarantined);
        if !(self.rate && used) {
            return self.free(index);
        }
        self.put(Store::Settlement(index, self.tables.bucket + 1));
        self.put(Store::Decided(true));
        self.put(Store::Bucket(self.tables.settlement.1));
        self.put(Store::Lingering(self.tables.lingering + 1));
        self.free(index);
        self.put(Store::Decided(false));
    }

    fn finish_settlement(&mut self) {
        if self.tables.decided {
            let (lease, bucket) = self.tables.settlement;
            self.put(Store::Bucket(bucket));
            self.put(Store::LeaseState(lease, LeaseState::Free));
            self.put(Store::Decided(false));
        }
    }

    pub fn quarantine(&mut self, index: usize) {
        self.put(Store::LeaseState(index, LeaseState::Quarantined));
        self.put(Store::InUse(self.tables.in_use - 1));
        self.put(Store::Quarantined(self.tables.quarantined + 1));
    }

    fn answer(&mut self, index: usize, lease: usize) {
        self.put(Store::WaiterLease(index, lease));
        self.put(Store::WaiterState(index, WaiterState::Granted));
    }

    fn unlink(&mut self, index: usize) {
        let queue = self.tables.queue.iter().copied().filter(|other| *other != index).collect();
        self.put(Store::Queue(queue));
    }

    pub fn dispatch(&mut self) {
        while let (true, Some(index)) = (self.fits(), self.tables.queue.first().copied()) {
            let waiter = self.tables.waiters[index];
            let Some((lease, _)) = self.grant(waiter.owner, waiter.ticket) else { return };
            self.answer(index, lease);
            self.unlink(index);
        }
    }

    pub fn drop_waiter(&mut self, index: usize) {
        let waiter = self.tables.waiters[index];
        let lease = self.tables.leases[waiter.lease];
        let unfetched = waiter.state == WaiterState::Granted && lease.ticket == waiter.ticket;
        if unfetched && lease.state != LeaseState::Free {
            self.free(waiter.lease);
        }
        self.put(Store::WaiterState(index, WaiterState::Free));
        if waiter.state == WaiterState::Waiting {
            self.unlink(index);
        }
    }

    fn is_gone(&self, owner: Key) -> bool {
        self.dead.contains(&owner) || !self.tables.is_current(owner)
    }

    pub fn sweep(&mut self) {
        for index in 0..self.tables.leases.len() {
            let lease = self.tables.leases[index];
            match lease.state {
                LeaseState::Free => {}
                _ if self.is_gone(lease.owner) => self.end_lease(index),
                LeaseState::Held | LeaseState::Consumed if lease.expired => self.quarantine(index),
                _ => {}
            }
        }
        for index in 0..self.tables.waiters.len() {
            let waiter = self.tables.waiters[index];
            if waiter.state != WaiterState::Free && self.is_gone(waiter.owner) {
                self.drop_waiter(index);
            }
        }
        for key in self.dead.clone() {
            self.put(Store::Vacate(key));
        }
    }

    /// The slot of a lease that is this process's and out.
    pub fn current(&self, me: Key, (index, token): Handle) -> Option<usize> {
        let slot = self.tables.leases[index];
        (slot.token == token && slot.owner == me && slot.state != LeaseState::Free).then_some(index)
    }

    /// As `current`, and not expired; one that has is put into quarantine.
    pub fn in_time(&mut self, me: Key, lease: Handle) -> Option<usize> {
        let index = self.current(me, lease)?;
        let slot = self.tables.leases[index];
        if slot.expired && slot.state != LeaseState::Quarantined {
            self.quarantine(index);
        }
        (self.tables.leases[index].state != LeaseState::Quarantined).then_some(index)
    }

    /// `None` if the queue is full.
    pub fn enqueue(&mut self, me: Key) -> Option<Handle> {
        let index = self.tables.waiters.iter().position(|waiter| waiter.state == WaiterState::Free)?;
        let ticket = self.tables.last_ticket + 1;
        self.put(Store::LastTicket(ticket));
        let fields = WaiterSlot { state: WaiterState::Free, owner: me, ticket, lease: 0 };
        self.put(Store::WaiterFields(index, fields));
        self.put(Store::WaiterState(index, WaiterState::Waiting));
        let mut queue = self.tables.queue.clone();
        queue.push(index);
        self.put(Store::Queue(queue));
        Some((index, ticket))
    }
}
