//! How a sleeper and the process that answers it never miss each other, without a system call for a waiter that is awake.
//!
//! The sleeper says that it sleeps, looks, then sleeps on the word as it saw it. The other changes the word, looks whether
//! anybody sleeps, then wakes. One of the two sees the other, in whatever order that happens.

use crate::futex::{ALL, Word};

/// Rings a bell: it has rung once more, and its listeners wake.
pub fn ring(bell: &impl Word, listening: &impl Word) {
    bell.raise();
    if listening.get() != 0 {
        bell.rouse(ALL);
    }
}

/// Waits until a bell has rung more often than `heard`. `pause` sleeps on the bell, and says whether to go on waiting.
pub fn listen<E>(
    bell: &impl Word,
    listening: &impl Word,
    heard: u32,
    mut pause: impl FnMut() -> Result<bool, E>,
) -> Result<u32, E> {
    listening.set(1);
    loop {
        let rung = bell.get();
        if rung != heard || !pause()? {
            return Ok(rung);
        }
    }
}

/// Says that an answer is there. Its waiter is [woken](wake) later, when the tables are let go.
pub fn answer(signal: &impl Word) {
    signal.set(1);
}

/// Wakes the waiter that sleeps until its answer is there.
pub fn wake(signal: &impl Word, sleeping: &impl Word) {
    if sleeping.get() != 0 {
        signal.rouse(1);
    }
}

/// Waits while `is_waiting`. `pause` sleeps on the signal while it is zero, and says whether to go on. Answers whether the wait
/// is over.
pub fn await_answer<E>(
    sleeping: &impl Word,
    is_waiting: impl Fn() -> bool,
    mut pause: impl FnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    loop {
        sleeping.set(1);
        if !is_waiting() {
            return Ok(true);
        }
        if !pause()? {
            return Ok(false);
        }
    }
}
