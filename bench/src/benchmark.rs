//! The benchmarks, one file each.

mod chain;
mod departments;
mod durable;
mod fanout;
mod limit;
mod listing;
mod memory;
mod network;
mod resume;
mod startup;
mod storm;

use crate::child::Spent;
use crate::error::Error;
use crate::figure::Figure;
use crate::workshop::Workshop;

/// One benchmark.
pub struct Benchmark {
    /// As it is typed.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Measures it.
    pub run: fn(&Workshop) -> Result<Vec<Figure>, Error>,
}

/// All of them, the quiet ones first.
pub const ALL: &[Benchmark] = &[
    Benchmark { name: startup::NAME, about: "the smallest commands", run: startup::run },
    Benchmark { name: limit::NAME, about: "300 agents of 50 ms under a limit of 60", run: limit::run },
    Benchmark {
        name: departments::NAME,
        about: "a manifest of 300 agents, 50 ms each, and their synthesis",
        run: departments::run,
    },
    Benchmark { name: network::NAME, about: "300 agents over HTTP, 200 ms each", run: network::run },
    Benchmark { name: storm::NAME, about: "3 000 calls, a hidden limit of 40, 429s", run: storm::run },
    Benchmark { name: chain::NAME, about: "1 000 agents, one after the other", run: chain::run },
    Benchmark { name: resume::NAME, about: "10 000 tasks, killed when 90 % were done", run: resume::run },
    Benchmark {
        name: durable::NAME,
        about: "commits of the journal, and opening 1 000 000 events",
        run: durable::run,
    },
    Benchmark { name: listing::NAME, about: "lists of 10 000 runs", run: listing::run },
    Benchmark { name: fanout::NAME, about: "1 to 10 000 to 1 agents", run: fanout::run },
    Benchmark { name: memory::NAME, about: "100 000 agents beside 1 000", run: memory::run },
];

/// Processor time per agent in µs, round by round: what a run of many took over one of a single agent.
fn cpu_per_agent(many: &[Spent], one: &[Spent], count: u32) -> Vec<f64> {
    per_agent(many, one, count, |spent| spent.cpu.as_secs_f64())
}

/// Time per agent in µs, likewise.
fn wall_per_agent(many: &[Spent], one: &[Spent], count: u32) -> Vec<f64> {
    per_agent(many, one, count, |spent| spent.wall.as_secs_f64())
}

fn per_agent(many: &[Spent], one: &[Spent], count: u32, of: impl Fn(&Spent) -> f64) -> Vec<f64> {
    let each = |(many, one): (&Spent, &Spent)| (of(many) - of(one)) / f64::from(count) * 1e6;
    many.iter().zip(one).map(each).collect()
}

/// Processor time in ms, round by round.
fn cpu_ms(taken: &[Spent]) -> Vec<f64> {
    taken.iter().map(|spent| spent.cpu.as_secs_f64() * 1e3).collect()
}

/// Time in ms, round by round.
fn wall_ms(taken: &[Spent]) -> Vec<f64> {
    taken.iter().map(|spent| spent.wall.as_secs_f64() * 1e3).collect()
}

/// One row of numbers over another, round by round.
fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}
