//! 300 agents of 50 ms under a limit of 60: how close to five times 50 ms.

use crate::child::Spent;
use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::inner::Job;
use crate::workshop::Workshop;
use std::fs;

pub const NAME: &str = "limit";

const COUNT: u32 = 300;
const LIMIT: u32 = 60;
/// Five rounds of agents, 50 ms each.
const IDEAL: f64 = 0.250;
/// Commits that nobody can avoid: one before each of the five rounds and one for the end.
const COMMITS: f64 = 6.0;
const PROBES: usize = 50;

/// With the memory journal against the ideal; with SQLite against the ideal and six durable writes.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let (mut memory, mut durable, mut plain, mut syncs) = (vec![], vec![], vec![], vec![]);
    for _ in 0..workshop.rounds.many {
        memory.push(seconds(agents(workshop, false)?) / IDEAL);
        let mut probes = disk::syncs(workshop.place(), PROBES)?;
        let taken = seconds(agents(workshop, true)?);
        probes.extend(disk::syncs(workshop.place(), PROBES)?);
        let sync = disk::sync_time(&probes);
        durable.push(taken / (IDEAL + COMMITS * sync));
        plain.push(taken / IDEAL);
        syncs.push(sync * 1e3);
    }
    Ok(vec![
        Figure::new(NAME, "memory journal, over 250 ms", "×", memory).at_most(1.05),
        Figure::new(NAME, "SQLite, over 250 ms and 6 fdatasyncs", "×", durable).at_most(1.05),
        Figure::new(NAME, "SQLite, over 250 ms", "×", plain),
        Figure::new(NAME, "fdatasync of 4 KiB, median", "ms", syncs),
    ])
}

fn seconds(spent: Spent) -> f64 {
    spent.wall.as_secs_f64()
}

fn agents(workshop: &Workshop, durable: bool) -> Result<Spent, Error> {
    let state = durable.then(|| workshop.path("limit-state"));
    let spent = workshop.inner(&Job::Wait { count: COUNT, limit: LIMIT, state: state.clone() });
    if let Some(folder) = state {
        let _ = fs::remove_dir_all(folder);
    }
    spent
}
