//! The word of a lock: zero, or the tag of its holder, and whether others sleep until it is left.
//!
//! Taking and leaving it uncontended is one operation each. A sleeper takes it with the mark on, since others may sleep
//! still: one wake-up too many, never one too few.

use crate::futex::Word;
use std::time::Duration;

/// The mark: a waiter sleeps on the word.
pub const SLEEPERS: u32 = 1 << 31;

/// What came of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// It is ours.
    Taken,
    /// Another holder had it, and we slept.
    Slept,
    /// It changed under us.
    Changed,
}

/// Takes the lock if it is free, for a waiter that has not slept for it.
pub fn take(word: &impl Word, mine: u32) -> bool {
    word.change(0, mine)
}

/// Takes the lock, or sleeps until it is left, for so long at most.
pub fn take_or_sleep(word: &impl Word, mine: u32, longest: Duration) -> Tried {
    let seen = word.get();
    if seen & !SLEEPERS == 0 {
        return if word.change(seen, mine | SLEEPERS) { Tried::Taken } else { Tried::Changed };
    }
    let marked = seen | SLEEPERS;
    if seen != marked && !word.change(seen, marked) {
        return Tried::Changed;
    }
    word.sleep(marked, longest);
    Tried::Slept
}

/// Leaves the lock and wakes one that waits for it.
pub fn leave(word: &impl Word) {
    if word.swap(0) & SLEEPERS != 0 {
        word.rouse(1);
    }
}
