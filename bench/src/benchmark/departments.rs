//! A manifest of 300 agents in seven departments, 50 ms each, under a limit of 60; then one answer of all outputs.

use crate::child::Spent;
use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::inner::Job;
use crate::workshop::Workshop;
use std::fs;

pub const NAME: &str = "departments";

const COUNT: u32 = 300;
const LIMIT: u32 = 60;
/// Five rounds of agents, 50 ms each.
const AGENTS: f64 = 0.250;
/// And three rounds of questions: 30, 3 and 1.
const WITH_SYNTHESIS: f64 = 0.400;
/// Commits that nobody can avoid: one before each of the rounds and one for the end.
const COMMITS: [f64; 2] = [6.0, 9.0];
const PROBES: usize = 50;

/// Agents alone (their outputs one after the other) and with a synthesis by levels, each with both journals.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let mut figures = measured(workshop, "flat", AGENTS, COMMITS[0])?;
    figures.extend(measured(workshop, "hierarchical", WITH_SYNTHESIS, COMMITS[1])?);
    Ok(figures)
}

fn measured(workshop: &Workshop, strategy: &str, ideal: f64, commits: f64) -> Result<Vec<Figure>, Error> {
    let (mut memory, mut durable) = (vec![], vec![]);
    for _ in 0..workshop.rounds.many {
        memory.push(seconds(agents(workshop, strategy, false)?) / ideal);
        let mut probes = disk::syncs(workshop.place(), PROBES)?;
        let taken = seconds(agents(workshop, strategy, true)?);
        probes.extend(disk::syncs(workshop.place(), PROBES)?);
        durable.push(taken / (ideal + commits * disk::sync_time(&probes)));
    }
    let ms = ideal * 1e3;
    let named = |words: String, values| Figure::new(NAME, words, "×", values).at_most(1.05);
    Ok(vec![
        named(format!("{strategy}: memory journal, over {ms} ms"), memory),
        named(format!("{strategy}: SQLite, over {ms} ms and {commits} fdatasyncs"), durable),
    ])
}

fn seconds(spent: Spent) -> f64 {
    spent.wall.as_secs_f64()
}

fn agents(workshop: &Workshop, strategy: &str, durable: bool) -> Result<Spent, Error> {
    let state = durable.then(|| workshop.path("departments-state"));
    let (strategy, kept) = (strategy.to_owned(), state.clone());
    let spent = workshop.inner(&Job::Manifest { count: COUNT, limit: LIMIT, strategy, state: kept });
    if let Some(folder) = state {
        let _ = fs::remove_dir_all(folder);
    }
    spent
}
