//! How many attempts a process serves by itself.
//!
//! One that has more offers what goes beyond; one that has fewer takes from others. So nobody does both, and nothing goes
//! back and forth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

/// Attempts wait for services and commands most of the time.
const PER_CORE: usize = 4;

/// As many as a process serves unless it is told otherwise.
pub fn usual_seats() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores * PER_CORE).unwrap_or(u32::MAX)
}

/// The seats of one process.
#[derive(Debug)]
pub struct Seats {
    all: u32,
    taken: AtomicU32,
    changed: Notify,
}

/// One attempt's seat, free again when it is dropped.
#[derive(Debug)]
pub struct Seat(Arc<Seats>);

impl Seats {
    /// So many.
    pub fn new(all: u32) -> Arc<Seats> {
        Arc::new(Seats { all, taken: AtomicU32::new(0), changed: Notify::new() })
    }

    /// Takes one, even if there is none left: what nobody else takes is served here.
    pub fn take(self: &Arc<Seats>) -> Seat {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        Seat(self.clone())
    }

    /// How many are left.
    pub fn free(&self) -> u32 {
        self.all.saturating_sub(self.taken())
    }

    /// How many are taken.
    pub fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits until that has changed since it was last waited for.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_when_its_attempt_ends_however_many_there_were() {
        let seats = Seats::new(2);
        let taken: Vec<_> = (0..3).map(|_| seats.take()).collect();
        assert_eq!(seats.free(), 0);
        drop(taken);
        assert_eq!(seats.free(), 2);
    }
}
