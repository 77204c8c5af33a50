//! The one lock over the tables.
//!
//! A word in the mapping names its holder: taking and leaving it uncontended costs no system call. Waiters sleep on the word.
//!
//! - **Killed inside:** a waiter that has seen no progress for [`LOOK_AFTER`] asks the kernel about the holder. From a dead
//!   one the lock is taken over, by one rescuer at a time (a byte lock, which dies with the rescuer). The dirty word is still
//!   set then, and the new holder computes the tables anew from their slots before it does anything else.
//! - **Stopped inside:** no process takes the lock from a live one, since it could go on writing at any moment. Waiters get
//!   [`Error::Stuck`] with its name after `stuck_after`; nothing is granted meanwhile, so no limit is exceeded.
//!
//! What the lock orders: every store made while holding it happens before every load of the next holder.

use crate::bytes::{self, Byte};
use crate::capacity::Capacity;
use crate::error::Error;
use crate::failpoint::step;
use crate::layout::{LockWords, PROCESSES, ProcessKey};
use crate::liveness::Liveness;
use crate::lock_word::{self, SLEEPERS, Tried};
use crate::mapping::Mapping;
use crate::table::Held;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bits for the slot's index + 1; those above, but for the highest, are the generation's lower ones.
const INDEX_BITS: u32 = 9;
/// Without progress for this long, a waiter asks whether the holder lives. Turns take microseconds.
const LOOK_AFTER: Duration = Duration::from_millis(10);
/// Looks at the word before sleeping: a turn on another core is often over by then.
const SPINS: u32 = 60;

const _: () = assert!(PROCESSES < 1 << INDEX_BITS);

/// How the word names a process. Never zero.
pub fn tag(key: ProcessKey) -> u32 {
    (key.generation << INDEX_BITS | (key.index + 1)) & !SLEEPERS
}

/// The tag of the process that the word names; zero if the lock is free.
pub fn holder_tag(words: &LockWords) -> u32 {
    words.word.load(Ordering::SeqCst) & !SLEEPERS
}

/// The process that holds the lock at this moment.
pub fn holder(mapping: &Mapping) -> Option<ProcessKey> {
    named_by(mapping, holder_tag(&mapping.header.lock))
}

/// The process that a tag names, unless its slot is a successor's by now.
fn named_by(mapping: &Mapping, holder: u32) -> Option<ProcessKey> {
    let index = (holder & ((1 << INDEX_BITS) - 1)).checked_sub(1)?.min(PROCESSES as u32 - 1);
    let (generation, _) = mapping.processes[index as usize].standing();
    let key = ProcessKey { index, generation };
    (tag(key) == holder).then_some(key)
}

/// What a waiter has seen of a holder that does not get on.
struct Watch {
    holder: u32,
    turn: u64,
    idle: Duration,
    last_look: Instant,
}

impl Watch {
    fn new() -> Self {
        Self { holder: 0, turn: 0, idle: Duration::ZERO, last_look: Instant::now() }
    }

    /// For how long nothing has moved. A waiter that was itself stopped counts no more than two naps for that time.
    fn look(&mut self, holder: u32, turn: u64) -> Duration {
        let nap = self.last_look.elapsed().min(2 * LOOK_AFTER);
        let moved = (self.holder, self.turn) != (holder, turn);
        self.idle = if moved { Duration::ZERO } else { self.idle + nap };
        (self.holder, self.turn, self.last_look) = (holder, turn, Instant::now());
        self.idle
    }
}

impl Capacity {
    /// Waits for the tables and holds them until the answer is dropped.
    pub(crate) fn lock(&self) -> Result<Held<'_>, Error> {
        self.lock_within(self.options.stuck_after)
    }

    /// As [`lock`](Self::lock), but says sooner or later that it is stuck.
    pub(crate) fn lock_within(&self, patience: Duration) -> Result<Held<'_>, Error> {
        self.mapping.require_whole()?;
        let word = &self.mapping.header.lock.word;
        let mine = tag(self.own);
        let now = self.clock.now();
        if !lock_word::take(word, mine) && !self.spin(mine) {
            self.sleep_for_lock(mine, patience)?;
        }
        // The load of the word may have been what found the file cut.
        self.mapping.require_whole()?;
        Ok(Held::begin(self, now))
    }

    fn spin(&self, mine: u32) -> bool {
        let word = &self.mapping.header.lock.word;
        (0..SPINS).any(|_| {
            std::hint::spin_loop();
            word.load(Ordering::Relaxed) == 0 && lock_word::take(word, mine)
        })
    }

    fn sleep_for_lock(&self, mine: u32, patience: Duration) -> Result<(), Error> {
        let words = &self.mapping.header.lock;
        let mut watch = Watch::new();
        loop {
            match lock_word::take_or_sleep(&words.word, mine, LOOK_AFTER) {
                Tried::Taken => return Ok(()),
                Tried::Slept if self.after_a_nap(&mut watch, mine, patience)? => return Ok(()),
                Tried::Slept | Tried::Changed => {}
            }
        }
    }

    /// Whether the lock was taken over from a dead holder.
    fn after_a_nap(&self, watch: &mut Watch, mine: u32, patience: Duration) -> Result<bool, Error> {
        let words = &self.mapping.header.lock;
        let holder = holder_tag(words);
        let idle = watch.look(holder, words.turns.load(Ordering::Relaxed));
        if holder == 0 || idle < LOOK_AFTER / 2 {
            return Ok(false);
        }
        let dead = self.has_let_go(holder);
        if dead && self.rescue(holder, mine) {
            return Ok(true);
        }
        if idle < patience {
            return Ok(false);
        }
        self.mapping.header.counters.stuck.fetch_add(1, Ordering::Relaxed);
        let pid = if dead { self.rescuer_pid() } else { self.pid_of(holder) };
        Err(Error::Stuck { pid, since: idle })
    }

    /// Takes the lock from a dead holder. Only one process does so at a time, hence the word cannot change under it: the dead
    /// do not write, and no other process takes from them.
    fn rescue(&self, holder: u32, mine: u32) -> bool {
        // Threads of this process share the file and so its byte locks; among them a mutex decides.
        let Ok(_only) = self.rescue.try_lock() else { return false };
        if !bytes::try_lock(self.mapping.file(), Byte::Rescue).unwrap_or(false) {
            return false;
        }
        let words = &self.mapping.header.lock;
        words.rescuer.store(self.own.index + 1, Ordering::Relaxed);
        step();
        let seen = words.word.load(Ordering::Acquire);
        let taken = seen & !SLEEPERS == holder
            && self.has_let_go(holder)
            && words
                .word
                .compare_exchange(seen, mine | SLEEPERS, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        step();
        words.rescuer.store(0, Ordering::Relaxed);
        bytes::unlock(self.mapping.file(), Byte::Rescue);
        if taken {
            self.mapping.header.counters.takeovers.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Whether a holder will never leave the lock by itself: it has ended, or has no part in the table any more. It keeps its
    /// byte as long as it could be inside.
    fn has_let_go(&self, holder: u32) -> bool {
        named_by(&self.mapping, holder).is_none_or(|key| self.judge().judge(key) != Liveness::Alive)
    }

    /// Process id of the process that is taking the lock from a dead holder and makes no progress either.
    fn rescuer_pid(&self) -> u32 {
        let index = self.mapping.header.lock.rescuer.load(Ordering::Relaxed).checked_sub(1);
        index
            .map_or(0, |index| self.mapping.processes[index as usize % PROCESSES].pid.load(Ordering::Relaxed))
    }

    fn pid_of(&self, holder: u32) -> u32 {
        named_by(&self.mapping, holder)
            .map_or(0, |key| self.mapping.processes[key.index as usize].pid.load(Ordering::Relaxed))
    }

    /// Leaves the lock and wakes one that waits for it.
    pub(crate) fn unlock(&self) {
        lock_word::leave(&self.mapping.header.lock.word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_names_one_slot_and_is_never_nobody(index in 0..PROCESSES as u32, generation: u32) {
            let key = ProcessKey { index, generation };
            prop_assert_ne!(tag(key), 0);
            prop_assert_eq!(tag(key) & SLEEPERS, 0);
            let next = ProcessKey { generation: generation.wrapping_add(1), ..key };
            prop_assert_ne!(tag(key), tag(next));
        }
    }
}
