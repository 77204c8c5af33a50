//! The protocols of the table, checked exhaustively within small bounds.
//!
//! `shared` is the part under the lock: what a process does in one turn is a list of single stores, in the order of the code
//! (`table.rs`, `queue.rs`, `recover.rs`, `reclaim.rs`, `settle.rs`; same names here), and it can be killed, or stop for ever,
//! before each of them. A call to the provider may begin any time after its check, however late, as it does in a process that
//! is stopped in between. `steal` is the part without the lock: compare-and-swap on one word.
//!
//! `CONVOKE_MODEL_DEATHS` says how many processes die where that takes long (1 unless told; 2 for the long version).
//!
//! A model proves nothing about the code; `src/tests` kills and stops the real one. It shows that the protocol has no hole at any
//! interleaving of these bounds.

mod shared;
mod steal;
mod tables;

use shared::Shared;
use stateright::{Checker, Model};
use std::fmt::Debug;
use std::hash::Hash;
use steal::Steal;

/// Explores everything. Few states would mean that the model does nothing.
fn check<M>(model: M, least: usize)
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Send + Sync + Clone + Debug + PartialEq,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > least, "only {} states", checker.unique_state_count());
}

fn deaths() -> u8 {
    std::env::var("CONVOKE_MODEL_DEATHS").map_or(1, |text| text.parse().expect("a number"))
}

#[test]
fn one_place_two_processes_and_deaths() {
    let kills = deaths();
    check(Shared { processes: 2, limit: 1, leases: 2, waiters: 2, kills, tokens: 2, rate: false }, 10_000);
}

#[test]
fn one_place_three_processes_one_death() {
    check(Shared { processes: 3, limit: 1, leases: 2, waiters: 1, kills: 1, tokens: 2, rate: false }, 10_000);
}

#[test]
fn a_full_table_of_leases() {
    let kills = deaths();
    check(Shared { processes: 2, limit: 2, leases: 1, waiters: 1, kills, tokens: 2, rate: false }, 10_000);
}

#[test]
fn a_rate_of_one_two_processes_and_deaths() {
    let kills = deaths();
    check(Shared { processes: 2, limit: 1, leases: 1, waiters: 1, kills, tokens: 2, rate: true }, 10_000);
}

#[test]
fn a_rate_of_one_and_room_for_two_leases() {
    check(Shared { processes: 2, limit: 1, leases: 2, waiters: 1, kills: 1, tokens: 2, rate: true }, 10_000);
}

#[test]
fn three_claimants_and_an_owner() {
    check(Steal { processes: 4, kills: 2, revokes: 1 }, 1_000);
}
