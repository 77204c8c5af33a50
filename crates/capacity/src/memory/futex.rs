//! Words in the mapping that processes wait on.
//!
//! Spurious returns are allowed: callers look again. All operations are sequentially consistent: the protocols on these words
//! (`signals.rs`, `lock_word.rs`) are of the kind "I say that I sleep, then look; you say it, then look whether I sleep". They
//! are written for any [`Word`], so that tests can try their interleavings on words that are no memory of processes.

use rustix::thread::futex::{Flags, wait, wake};
use rustix::time::Timespec;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// How many sleepers there can be at most.
pub const ALL: u32 = u32::MAX >> 1;

/// A word that can be waited on.
pub trait Word {
    /// What it is.
    fn get(&self) -> u32;
    /// Makes it this.
    fn set(&self, value: u32);
    /// Makes it this, and answers with what it was.
    fn swap(&self, value: u32) -> u32;
    /// Makes it one more.
    fn raise(&self);
    /// Makes it `to` if it is `from`. Answers whether it was.
    fn change(&self, from: u32, to: u32) -> bool;
    /// Sleeps until the word is woken, is not `expected`, or the time is over.
    fn sleep(&self, expected: u32, longest: Duration);
    /// Wakes up to so many sleepers.
    fn rouse(&self, sleepers: u32);
}

impl Word for AtomicU32 {
    fn get(&self) -> u32 {
        self.load(SeqCst)
    }

    fn set(&self, value: u32) {
        self.store(value, SeqCst);
    }

    fn swap(&self, value: u32) -> u32 {
        Self::swap(self, value, SeqCst)
    }

    fn raise(&self) {
        self.fetch_add(1, SeqCst);
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    fn sleep(&self, expected: u32, longest: Duration) {
        let timeout = Timespec {
            tv_sec: longest.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: i64::from(longest.subsec_nanos()),
        };
        // Every error means "look again": the word differs, the time is over, a signal came.
        let _ = wait(self, Flags::empty(), expected, Some(&timeout));
    }

    fn rouse(&self, sleepers: u32) {
        // Fails only for an address that is not mapped; this one is borrowed from the mapping.
        let _ = wake(self, Flags::empty(), sleepers);
    }
}
