//! Demands: their keys, their needs, and how they rank against others.

use crate::spec::Amount;

/// On whose account something runs; a small number instead of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tenant(pub(crate) u32);

/// How a demand stands against others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rank {
    /// Interactive, standard, batch; smaller comes first.
    pub class: u8,
    /// On whose account. Tenants of a class take turns.
    pub tenant: Tenant,
    /// Critical to background; smaller comes first. Never changed by waiting.
    pub priority: u8,
    /// How much work still depends on this, along the longest chain; more comes first.
    pub path: u32,
    /// Among equals, the order that their common author wants; smaller comes first.
    pub order: u64,
}

/// A request to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand<'a> {
    /// Its identity; at most one demand per key waits or holds a permit at a time.
    pub key: u64,
    /// How it stands against others.
    pub rank: Rank,
    /// All that it needs, granted together or not at all.
    pub needs: &'a [Amount],
}

/// The place of a demand among those of its class and tenant, but for its age: priority, then the longer path, then the
/// order that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(u64, u64);

/// A demand in the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub rank: Rank,
    /// The number of its arrival; unique.
    pub age: u64,
    /// The moment of its arrival.
    pub since: u64,
    pub lane: u32,
}

impl Place {
    pub fn level(&self) -> Level {
        Level(u64::from(self.rank.priority) << 32 | u64::from(!self.rank.path), self.rank.order)
    }
}
