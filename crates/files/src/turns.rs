//! Who writes a file waits for the one that writes it now: what reads a file, changes it and writes it back loses no change of
//! another call of this process.

use crate::Place;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Places share so many locks.
const LOCKS: usize = 64;

static TURNS: [Mutex<()>; LOCKS] = [const { Mutex::new(()) }; LOCKS];

/// The turn at some files; over when it is dropped.
pub(crate) struct Turn {
    _held: Vec<MutexGuard<'static, ()>>,
}

/// Waits until nobody else writes any of these.
pub(crate) fn turn<'p>(root: &Path, places: impl IntoIterator<Item = &'p Place>) -> Turn {
    let name = |place: &Place| root.join(place.as_str()).display().to_string();
    let mut locks: Vec<usize> = places
        .into_iter()
        .map(|place| convoke_model::fnv(name(place).into_bytes()) as usize % LOCKS)
        .collect();
    // All take them in one order.
    locks.sort_unstable();
    locks.dedup();
    // A panic elsewhere leaves no half-written file.
    let held = locks.into_iter().map(|lock| TURNS[lock].lock().unwrap_or_else(|held| held.into_inner()));
    Turn { _held: held.collect() }
}
