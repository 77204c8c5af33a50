//! Named nowhere, counted everywhere: the places inside the lock at which a test can kill or stop its process.
//!
//! Outside this crate's own tests a step is nothing at all.

/// A place at which the process may die.
#[cfg(not(test))]
#[inline(always)]
pub fn step() {}

#[cfg(test)]
pub use armed::{arm, passed, step};

#[cfg(test)]
mod armed {
    use rustix::process::Signal;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    static PASSED: AtomicU32 = AtomicU32::new(0);
    static TARGET: AtomicU32 = AtomicU32::new(0);
    static SIGNAL: AtomicI32 = AtomicI32::new(0);

    /// From now on, the `target`-th step sends this process the signal. Zero disarms.
    pub fn arm(target: u32, signal: Signal) {
        SIGNAL.store(signal.as_raw(), Ordering::SeqCst);
        PASSED.store(0, Ordering::SeqCst);
        TARGET.store(target, Ordering::SeqCst);
    }

    /// How many steps were passed since `arm`.
    pub fn passed() -> u32 {
        PASSED.load(Ordering::SeqCst)
    }

    /// A place at which the process may die.
    pub fn step() {
        let target = TARGET.load(Ordering::Relaxed);
        if target != 0 && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == target {
            // To this very thread: sent to the process, another thread could take it, and this one run on for a while.
            // SAFETY: takes a number and has no other condition.
            unsafe { libc::raise(SIGNAL.load(Ordering::SeqCst)) };
        }
    }
}
