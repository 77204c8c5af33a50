//! Taking a process slot, and leaving it.
//!
//! A slot belongs to the process that holds its byte. Taking one raises its generation, so everything an earlier process left
//! under the old generation is known to be a dead one's. Runs under the byte lock of opening, not under the table's lock: a
//! process needs a slot before it can hold that.

use crate::bytes::{self, Byte};
use crate::capacity::Identity;
use crate::error::Error;
use crate::failpoint::step;
use crate::kernel::Facts;
use crate::layout::{PROCESSES, ProcessKey, ProcessSlot, Standing};
use crate::liveness::{Judge, Liveness};
use crate::lock;
use crate::mapping::Mapping;
use std::sync::atomic::Ordering;

/// Takes a slot: a free one if there is one, else one whose process has ended.
pub fn join(mapping: &Mapping, facts: &Facts, identity: &Identity, now: u64) -> Result<ProcessKey, Error> {
    let free = (0..PROCESSES as u32)
        .filter(|index| mapping.processes[*index as usize].standing().1 == Standing::Free);
    let judge = Judge { mapping, own: None, facts };
    let ended = judge.taken().filter(|key| judge.judge(*key) == Liveness::Dead).map(|key| key.index);
    for index in free.chain(ended) {
        if take_byte(mapping, index)? {
            return Ok(occupy(mapping, index, facts, identity, now));
        }
    }
    Err(Error::Full { table: "process slots", size: PROCESSES })
}

/// A byte can be taken although its slot is free: a child of an ended process may still have the file open.
fn take_byte(mapping: &Mapping, index: u32) -> Result<bool, Error> {
    bytes::try_lock(mapping.file(), Byte::Process(index)).map_err(|source| Error::Io {
        doing: "lock",
        path: mapping.path().to_owned(),
        source,
    })
}

fn occupy(mapping: &Mapping, index: u32, facts: &Facts, identity: &Identity, now: u64) -> ProcessKey {
    let slot = &mapping.processes[index as usize];
    let key = ProcessKey { index, generation: next_generation(mapping, index) };
    slot.standing.store(ProcessSlot::standing_word(key.generation, Standing::Joining), Ordering::SeqCst);
    step();
    slot.pid.store(facts.pid, Ordering::Relaxed);
    slot.start_time.store(facts.start_time, Ordering::Relaxed);
    slot.namespace.store(facts.namespace, Ordering::Relaxed);
    slot.clock_offset.store(facts.clock_offset as u64, Ordering::Relaxed);
    slot.joined_at.store(now, Ordering::Relaxed);
    slot.heartbeat.store(now, Ordering::Relaxed);
    slot.working_dir.store(identity.working_dir, Ordering::Relaxed);
    slot.listening.store(0, Ordering::Relaxed);
    slot.spare.store(0, Ordering::Relaxed);
    slot.label.write(&identity.label);
    slot.run.write(&identity.run);
    step();
    slot.standing.store(ProcessSlot::standing_word(key.generation, Standing::Live), Ordering::SeqCst);
    key
}

/// The next generation, skipping one that the lock word would take for a dead holder of the same slot.
fn next_generation(mapping: &Mapping, index: u32) -> u32 {
    let (last, _) = mapping.processes[index as usize].standing();
    let holder = lock::holder_tag(&mapping.header.lock);
    (1..)
        .map(|more| last.wrapping_add(more))
        .find(|&generation| lock::tag(ProcessKey { index, generation }) != holder)
        .expect("two generations in a row have different tags")
}

/// Marks a slot as free, unless it is a successor's already.
pub fn vacate(mapping: &Mapping, key: ProcessKey) {
    let slot = &mapping.processes[key.index as usize];
    let free = ProcessSlot::standing_word(key.generation, Standing::Free);
    let (generation, standing) = slot.standing();
    if generation == key.generation {
        let seen = ProcessSlot::standing_word(generation, standing);
        // A failure means that a successor has it.
        let _ = slot.standing.compare_exchange(seen, free, Ordering::SeqCst, Ordering::Relaxed);
    }
}
