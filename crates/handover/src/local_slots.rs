//! How many attempts a process performs by itself before it offers further ones.
//!
//! A process without a free slot offers attempts, and one with free slots claims them. So no process does both at a time,
//! and no attempt goes back and forth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

/// Attempts wait for services and commands most of the time.
const PER_CORE: usize = 4;

/// The number of slots of a process without a configured one.
pub fn default_slots() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores * PER_CORE).unwrap_or(u32::MAX)
}

/// The slots of one process.
#[derive(Debug)]
pub struct LocalSlots {
    all: u32,
    taken: AtomicU32,
    changed: Notify,
}

/// The slot of one attempt. Dropping it frees it.
#[derive(Debug)]
pub struct LocalSlot(Arc<LocalSlots>);

impl LocalSlots {
    /// So many slots.
    pub fn new(all: u32) -> Arc<LocalSlots> {
        Arc::new(LocalSlots { all, taken: AtomicU32::new(0), changed: Notify::new() })
    }

    /// Takes a slot, even if none is free: an attempt without a claimant is performed here.
    pub fn take(self: &Arc<LocalSlots>) -> LocalSlot {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        LocalSlot(self.clone())
    }

    /// How many slots are free.
    pub fn free(&self) -> u32 {
        self.all.saturating_sub(self.taken())
    }

    /// How many slots are taken.
    pub fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits for the next change of that number since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for LocalSlot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_its_attempt_ends_however_many_were_taken() {
        let slots = LocalSlots::new(2);
        let taken: Vec<_> = (0..3).map(|_| slots.take()).collect();
        assert_eq!(slots.free(), 0);
        drop(taken);
        assert_eq!(slots.free(), 2);
    }
}
