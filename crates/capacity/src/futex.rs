//! Waiting for a word in the mapping to change, across processes.
//!
//! Spurious returns are allowed: callers look again.

use rustix::thread::futex::{Flags, wait, wake};
use rustix::time::Timespec;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until the word is woken, is not `expected`, or the time is over.
pub fn sleep(word: &AtomicU32, expected: u32, longest: Duration) {
    let timeout = Timespec {
        tv_sec: longest.as_secs().min(i64::MAX as u64) as i64,
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    // Every error means "look again": the word differs, the time is over, a signal came.
    let _ = wait(word, Flags::empty(), expected, Some(&timeout));
}

/// Wakes up to so many sleepers.
pub fn rouse(word: &AtomicU32, sleepers: u32) {
    // Fails only for an address that is not mapped; this one is borrowed from the mapping.
    let _ = wake(word, Flags::empty(), sleepers);
}
