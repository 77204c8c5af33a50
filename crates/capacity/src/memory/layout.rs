//! How the mapped file is laid out.
//!
//! One fixed layout: a header, the process slots, then extents. Each extent holds the same share of six tables, and the file
//! has as many extents as its fullest table needs (`extents.rs`). Nothing moves, so that an index is a name and a full table
//! is a refusal. Decisions:
//!
//! - **Every field is an atomic.** Other processes write to the same bytes at any moment; atomics make that defined, and
//!   an all-zero page is a valid, empty table. Plain loads and stores suffice under the lock, because the lock word orders them.
//! - **Slots are the truth.** What a lease, a waiter or a resource *is* stands in its own slot, and one store to its state
//!   word makes a change real. Counters, free lists, the order of the queue and the hints in [`Derived`] can be computed
//!   from the slots, and are computed anew when a process died inside the lock (`recover.rs`).
//! - **What a rate has counted is in buckets, not in leases.** It belongs to no process and outlives all of them until its moment
//!   comes (`buckets.rs`). Ending a lease and filling buckets are several stores and one change: the [`SettlementWords`] say what
//!   it will be before the first of them is made, and a dead process's settlement is carried out by the next (`settle.rs`).
//! - **An owner is a slot and a generation.** The generation of a process slot rises with each process that takes it, so
//!   what a dead process left behind can never be mistaken for its successor's.
//! - **Times are nanoseconds on the monotonic clock.** It stands still while the machine sleeps, and no process can set it.
//! - **The file belongs to one boot.** The boot id is in the header; another boot's content is void. Hence no fsync.
//!
//! Byte locks for liveness (`bytes.rs`) lie far beyond the end of the file, so they never touch these bytes.

use crate::buckets::Buckets;
use crate::cells::{Amounts, Text};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"cvk-capa");
/// Rises with every change of this file's meaning.
pub const VERSION: u32 = 6;
/// Processes that can take part at the same time.
pub const PROCESSES: usize = 256;
/// Named resources.
pub const RESOURCES: usize = 1024;
/// Leases that are out at the same time, quarantined ones included.
pub const LEASES: usize = 16_384;
/// Demands that wait at the same time.
pub const WAITERS: usize = 4096;
/// Tasks on offer at the same time.
pub const OFFERS: usize = 4096;
/// Resources that one demand can name.
pub const VECTOR: usize = 16;
/// Requirements that one offer can name.
pub const NEEDS: usize = 8;
/// Words that processes agree on for a resource.
pub const WORDS: usize = 19;
/// Steps in which the file grows.
pub const EXTENTS: usize = 64;
/// The end of a list.
pub const NONE: u32 = u32::MAX;

/// The whole file.
#[repr(C)]
pub struct Layout {
    pub header: Header,
    pub processes: [ProcessSlot; PROCESSES],
    /// Only the first [`Header::extents`] of them are in the file: see `extents.rs`.
    pub(crate) extents: [Extent; EXTENTS],
}

/// A share of each table that grows.
#[repr(C, align(4096))]
pub struct Extent {
    pub(crate) resources: [ResourceSlot; RESOURCES / EXTENTS],
    pub(crate) leases: [LeaseSlot; LEASES / EXTENTS],
    pub(crate) waiters: [WaiterSlot; WAITERS / EXTENTS],
    pub(crate) offers: [OfferSlot; OFFERS / EXTENTS],
    pub(crate) lingering: [Buckets; RESOURCES / EXTENTS],
    pub(crate) learned: [LearnedSlot; RESOURCES / EXTENTS],
    /// Means nothing. A file system that cannot reserve space is made to by a write to its last byte.
    pub(crate) unused: AtomicU64,
}

/// What there is once.
#[repr(C, align(64))]
pub struct Header {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    /// Process id of the process that opens the file right now, for processes that wait to open it.
    pub opener: AtomicU32,
    pub size: AtomicU64,
    pub boot_id: [AtomicU64; 2],
    /// Last fencing token given out. Outlives boots.
    pub last_token: AtomicU64,
    pub last_ticket: AtomicU64,
    pub lock: LockWords,
    pub derived: Derived,
    pub counters: CounterWords,
    pub settlement: SettlementWords,
    /// Rises when a limit was changed for processes that live.
    pub limits_generation: AtomicU64,
    /// Time of the last search for dead processes, so that many waiters do not all search.
    pub searched_at: AtomicU64,
    /// Futex: rises when work is offered.
    pub offered: AtomicU32,
    pub offers_top: AtomicU32,
    pub last_offer: AtomicU64,
    /// How many extents are in the file. Raised when their space is taken, never lowered.
    pub extents: AtomicU32,
}

/// The lock over everything but process slots and offers. See `lock.rs`.
#[repr(C, align(64))]
pub struct LockWords {
    /// Futex: the tag of its holder, and whether others wait.
    pub word: AtomicU32,
    /// Not zero while the tables are being changed.
    pub dirty: AtomicU32,
    /// Rises with every holder, so that a waiter can tell a busy lock from a stuck one.
    pub turns: AtomicU64,
    /// Slot + 1 of the process that is taking the lock from a dead one.
    pub rescuer: AtomicU32,
}

/// What can be computed from the slots.
#[repr(C, align(64))]
pub struct Derived {
    /// No lease at or above this index was ever used. Raised before the slot is, never lowered.
    pub leases_top: AtomicU32,
    pub leases_free: AtomicU32,
    pub leases_out: AtomicU32,
    pub waiters_top: AtomicU32,
    pub waiters_free: AtomicU32,
    pub queue_head: AtomicU32,
    pub queue_tail: AtomicU32,
    pub queue_length: AtomicU32,
    pub resources_top: AtomicU32,
    /// Nothing expires or leaves quarantine before this time.
    pub next_due: AtomicU64,
    /// No amount of a rate and no pause ends before this time.
    pub next_moment: AtomicU64,
}

/// What went wrong so far, and how much was done. Never clamped, never reset within a boot.
#[repr(C, align(64))]
pub struct CounterWords {
    pub grants: AtomicU64,
    pub releases: AtomicU64,
    pub double_releases: AtomicU64,
    pub late_releases: AtomicU64,
    pub stale_tokens: AtomicU64,
    pub double_consumes: AtomicU64,
    pub lost_leases: AtomicU64,
    pub quarantined: AtomicU64,
    pub reclaimed: AtomicU64,
    pub takeovers: AtomicU64,
    pub recoveries: AtomicU64,
    pub stuck: AtomicU64,
}

/// How a lease ends of which something lingers: decided as one, carried out store by store.
#[repr(C, align(64))]
pub struct SettlementWords {
    /// Not zero while it is decided and not known to be carried out.
    pub decided: AtomicU32,
    pub lease: AtomicU32,
    pub count: AtomicU32,
    pub entries: [SettlementEntry; VECTOR],
}

/// What one bucket holds after a settlement.
#[repr(C)]
pub struct SettlementEntry {
    pub resource: AtomicU32,
    pub bucket: AtomicU32,
    pub ends_at: AtomicU64,
    pub amount: AtomicU64,
}

/// A process that takes part.
#[repr(C, align(64))]
pub struct ProcessSlot {
    /// Generation (upper half) and state: one word, so that no process frees a successor's slot.
    pub standing: AtomicU64,
    pub pid: AtomicU32,
    pub start_time: AtomicU64,
    pub namespace: AtomicU64,
    /// Offset of its boot clock: processes in other time namespaces cannot compare start times.
    pub clock_offset: AtomicU64,
    pub joined_at: AtomicU64,
    pub heartbeat: AtomicU64,
    pub working_dir: AtomicU64,
    /// Futex: rises when something happened that this process waits for.
    pub bell: AtomicU32,
    pub listening: AtomicU32,
    /// Derived: its demands in the queue.
    pub waiting: AtomicU32,
    /// How many tasks of others it would take at this moment.
    pub spare: AtomicU32,
    pub label: Text<6>,
    pub run: Text<6>,
}

/// Something with a limit.
#[repr(C, align(64))]
pub struct ResourceSlot {
    pub state: AtomicU32,
    pub generation: AtomicU32,
    pub limit: AtomicU32,
    /// Derived: held and consumed.
    pub in_use: AtomicU32,
    /// Derived.
    pub quarantined: AtomicU32,
    /// Derived: demands in the queue that name it.
    pub waiting: AtomicU32,
    /// How many grants in a row the last process had.
    pub streak: AtomicU32,
    /// Not zero if a person set its limit, which then stays for the boot.
    pub by_hand: AtomicU32,
    /// Which process had the last grant.
    pub last: AtomicU64,
    /// For how long a rate counts what it counted; zero for what is no rate.
    pub window: AtomicU64,
    /// Derived: what of it lingers.
    pub lingering: AtomicU64,
    /// Nothing of it is granted before this time. Later only, never earlier.
    pub paused_until: AtomicU64,
    /// One bit per process slot that defined it.
    pub users: [AtomicU64; PROCESSES / 64],
    pub name: Text<8>,
    pub origin: Text<12>,
}

/// Capacity that is out.
#[repr(C, align(64))]
pub struct LeaseSlot {
    pub state: AtomicU32,
    pub next: AtomicU32,
    pub token: AtomicU64,
    pub owner: AtomicU64,
    pub granted_at: AtomicU64,
    pub expires_at: AtomicU64,
    pub ttl: AtomicU64,
    /// How long after its expiry a call made with it may still be running.
    pub hold_after: AtomicU64,
    /// The ticket it was granted for, or zero. Joins the two halves of a hand-over after a crash.
    pub ticket: AtomicU64,
    pub amounts: Amounts,
}

/// A demand that waits.
#[repr(C, align(64))]
pub struct WaiterSlot {
    pub state: AtomicU32,
    /// Futex: zero while it waits.
    pub signal: AtomicU32,
    pub ticket: AtomicU64,
    pub owner: AtomicU64,
    pub since: AtomicU64,
    pub ttl: AtomicU64,
    pub hold_after: AtomicU64,
    pub lease: AtomicU32,
    /// How often others that came later were served from what it wants.
    pub passed: AtomicU32,
    pub previous: AtomicU32,
    pub next: AtomicU32,
    pub sleeping: AtomicU32,
    pub amounts: Amounts,
}

/// A task on offer. Its word is changed by compare-and-swap alone; see `steal.rs`.
#[repr(C, align(64))]
pub struct OfferSlot {
    pub word: AtomicU64,
    /// Tells this offer from all others that were or will be in the slot.
    pub number: AtomicU64,
    /// The process that offers it: its slot and its generation.
    pub owner: AtomicU64,
    pub offered_at: AtomicU64,
    pub need_count: AtomicU32,
    pub needs: [AtomicU64; NEEDS],
    pub payload: [AtomicU64; 4],
    pub run: Text<6>,
    pub task: Text<32>,
}

/// What the users of a resource have learned of it together. See `learning.rs`.
#[repr(C, align(64))]
pub struct LearnedSlot {
    /// Which of the two copies counts. The other one is written, then this word is turned: no process reads half a sample.
    pub which: AtomicU32,
    pub copies: [[AtomicU64; WORDS]; 2],
    /// How many calls each process has under way without a lease.
    pub unleased: [AtomicU32; PROCESSES],
}

/// A process, as slots name it: the index of its slot and which of the processes in that slot it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    /// Index of the slot.
    pub index: u32,
    /// Generation of the slot.
    pub generation: u32,
}

impl ProcessKey {
    /// As one word.
    pub fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// From one word.
    pub fn unpack(word: u64) -> Self {
        Self { index: word as u32 % PROCESSES as u32, generation: (word >> 32) as u32 }
    }
}

/// What a process slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Without a process.
    Free,
    /// Taken, its facts not written yet.
    Joining,
    /// In use.
    Live,
    /// Its process has let go of the table, but lives, and may still have calls under way.
    Closed,
}

impl ProcessSlot {
    /// Generation and state.
    pub fn standing(&self) -> (u32, Standing) {
        let word = self.standing.load(Ordering::Acquire);
        let state = match word as u32 {
            0 => Standing::Free,
            1 => Standing::Joining,
            2 => Standing::Live,
            _ => Standing::Closed,
        };
        ((word >> 32) as u32, state)
    }

    /// The word that says so.
    pub fn standing_word(generation: u32, standing: Standing) -> u64 {
        u64::from(generation) << 32 | standing as u64
    }
}

/// What a lease slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// Not in use.
    Free,
    /// Granted, nothing started with it yet.
    Held,
    /// Work is running on it.
    Consumed,
    /// Expired, and perhaps still in use at the other end.
    Quarantined,
}

impl LeaseSlot {
    /// Its state.
    pub fn state(&self) -> LeaseState {
        match self.state.load(Ordering::Acquire) {
            0 => LeaseState::Free,
            1 => LeaseState::Held,
            2 => LeaseState::Consumed,
            _ => LeaseState::Quarantined,
        }
    }

    /// Makes a change real: a reader that sees the state sees everything that was written before it.
    pub fn commit(&self, state: LeaseState) {
        self.state.store(state as u32, Ordering::Release);
    }

    /// When nothing can be running on it any more.
    pub fn quarantine_ends(&self) -> u64 {
        self.expires_at.load(Ordering::Relaxed).saturating_add(self.hold_after.load(Ordering::Relaxed))
    }
}

/// What a waiter slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaiterState {
    /// Not in use.
    Free,
    /// In the queue.
    Waiting,
    /// A lease was made for it, and waits to be fetched.
    Granted,
    /// A limit was lowered below what it wants.
    Refused,
}

impl WaiterSlot {
    /// Its state.
    pub fn state(&self) -> WaiterState {
        match self.state.load(Ordering::Acquire) {
            0 => WaiterState::Free,
            1 => WaiterState::Waiting,
            2 => WaiterState::Granted,
            _ => WaiterState::Refused,
        }
    }

    /// Makes a change real.
    pub fn commit(&self, state: WaiterState) {
        self.state.store(state as u32, Ordering::Release);
    }
}

impl ResourceSlot {
    /// Whether it is in use.
    pub fn is_defined(&self) -> bool {
        self.state.load(Ordering::Acquire) != 0
    }

    /// Everything that counts against the limit: granted, quarantined, lingering.
    pub fn out(&self) -> u64 {
        u64::from(self.in_use.load(Ordering::Relaxed))
            + u64::from(self.quarantined.load(Ordering::Relaxed))
            + self.lingering.load(Ordering::Relaxed)
    }

    /// What can be granted now. Nothing, when a limit was lowered below what is out, when calls used more than was reserved for
    /// them, or while it pauses.
    pub fn free(&self, now: u64) -> u32 {
        if self.is_paused(now) {
            return 0;
        }
        u64::from(self.limit.load(Ordering::Relaxed)).saturating_sub(self.out()) as u32
    }

    /// Whether it pauses.
    pub fn is_paused(&self, now: u64) -> bool {
        now < self.paused_until.load(Ordering::Relaxed)
    }

    /// Whether it counts by time.
    pub fn is_rate(&self) -> bool {
        self.window.load(Ordering::Relaxed) != 0
    }

    /// Whether no process uses it, so that its slot can serve another name.
    pub fn is_idle(&self, now: u64) -> bool {
        let kept = self.by_hand.load(Ordering::Relaxed) != 0 || self.is_paused(now);
        let used = self.users.iter().any(|bits| bits.load(Ordering::Relaxed) != 0);
        !kept && !used && self.out() == 0 && self.waiting.load(Ordering::Relaxed) == 0
    }
}
