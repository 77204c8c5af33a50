//! Which processes are alive. Doubt is always "alive": capacity is freed on proof only.
//!
//! Two proofs, both the kernel's: the process (id, start time, same pid namespace, same boot) has ended; or the byte lock of its
//! slot is free, for processes whose ids mean nothing here. A process that let go of its byte but lives has closed the
//! table: it takes no new work, but calls of its may still be under way.

use crate::bytes::{self, Byte};
use crate::kernel::{self, Facts};
use crate::layout::{PROCESSES, ProcessKey, ProcessSlot, Standing};
use crate::mapping::Mapping;
use std::sync::atomic::Ordering;

/// What is known about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It takes part.
    Alive,
    /// It lives, and has let go of the table.
    Closed,
    /// It has ended: proven.
    Dead,
}

/// How one process judges the others.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// The table.
    pub mapping: &'a Mapping,
    /// The judging process, if it takes part.
    pub own: Option<ProcessKey>,
    /// What tells it from others.
    pub facts: &'a Facts,
}

impl Judge<'_> {
    /// Whether this process, in this slot and generation, is alive.
    pub fn judge(&self, key: ProcessKey) -> Liveness {
        let slot = &self.mapping.processes[key.index as usize];
        let (generation, standing) = slot.standing();
        if generation != key.generation || standing == Standing::Free {
            return Liveness::Dead;
        }
        if self.own == Some(key) {
            return Liveness::Alive;
        }
        // An error of the question itself is doubt.
        let byte = bytes::is_locked(self.mapping.file(), Byte::Process(key.index)).unwrap_or(true);
        let facts = read_facts(slot);
        // A slot that is being taken has no facts yet.
        let comparable = standing != Standing::Joining && facts.comparable(self.facts);
        match (comparable, standing) {
            (true, _) if kernel::has_ended(&facts) => Liveness::Dead,
            _ if byte => Liveness::Alive,
            // It let go of the byte itself, so that proves nothing.
            (true, _) | (false, Standing::Closed) => Liveness::Closed,
            (false, _) => Liveness::Dead,
        }
    }

    /// The processes that have ended, slots and generations.
    pub fn dead(&self) -> Vec<ProcessKey> {
        self.taken().filter(|key| self.judge(*key) == Liveness::Dead).collect()
    }

    /// Every slot in use, with its generation.
    pub fn taken(&self) -> impl Iterator<Item = ProcessKey> + '_ {
        (0..PROCESSES as u32).filter_map(|index| {
            let (generation, standing) = self.mapping.processes[index as usize].standing();
            (standing != Standing::Free).then_some(ProcessKey { index, generation })
        })
    }
}

/// What tells the process in a slot from others.
pub fn read_facts(slot: &ProcessSlot) -> Facts {
    Facts {
        pid: slot.pid.load(Ordering::Relaxed),
        start_time: slot.start_time.load(Ordering::Relaxed),
        namespace: slot.namespace.load(Ordering::Relaxed),
        clock_offset: slot.clock_offset.load(Ordering::Relaxed) as i64,
    }
}
