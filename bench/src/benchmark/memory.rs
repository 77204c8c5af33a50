//! 100 000 agents: what they take at most, and whether each costs what it costs among 1 000.

use super::{cpu_per_agent, ratios, wall_per_agent};
use crate::child::Spent;
use crate::error::Error;
use crate::figure::Figure;
use crate::rounds::{interleave, median};
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "memory";

const FILE: &str = "fan-out.yaml";
const FEW: u32 = 1_000;
const MANY: u32 = 100_000;
/// A run of a thousand is short: it is measured more often for each of the long ones.
const SHORT_ROUNDS: usize = 5;

/// At both limits.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write(FILE, &workflow::fan_out(workflow::AT_ONCE))?;
    let mut figures = at(workshop, 1_000)?;
    figures.extend(at(workshop, 60)?);
    Ok(figures)
}

fn at(workshop: &Workshop, limit: u32) -> Result<Vec<Figure>, Error> {
    let taken = interleave(workshop.rounds.few, &[1, FEW, MANY], |count| measure(workshop, limit, *count))?;
    workshop.tidy();
    let [one, few, many] = &taken[..] else { unreachable!("three cases were measured") };
    let peak = many.iter().map(|spent| spent.peak_bytes as f64 / 1e6).collect();
    let (cpu_few, cpu_many) = (cpu_per_agent(few, one, FEW), cpu_per_agent(many, one, MANY));
    let slower = ratios(&wall_per_agent(many, one, MANY), &wall_per_agent(few, one, FEW));
    let dearer = ratios(&cpu_many, &cpu_few);
    let figure = |name: &str, unit, samples| Figure::new(NAME, format!("at {limit}, {name}"), unit, samples);
    Ok(vec![
        figure("100 000 agents, peak memory", "MB", peak).at_most(600.0),
        figure("CPU per agent, 100 000 over 1 000", "×", dearer).at_most(1.5),
        figure("time per agent, 100 000 over 1 000", "×", slower).at_most(1.5),
        figure("CPU per agent at 1 000", "µs", cpu_few),
        figure("CPU per agent at 100 000", "µs", cpu_many),
    ])
}

/// One run, or the middle one of several short ones.
fn measure(workshop: &Workshop, limit: u32, count: u32) -> Result<Spent, Error> {
    let times = if count == MANY { 1 } else { SHORT_ROUNDS };
    let taken: Vec<_> =
        (0..times).map(|_| workshop.run_fan_out(FILE, limit, count)).collect::<Result<_, _>>()?;
    let middle = |of: fn(&Spent) -> f64| {
        std::time::Duration::from_secs_f64(median(&taken.iter().map(of).collect::<Vec<_>>()))
    };
    let (wall, cpu) = (middle(|spent| spent.wall.as_secs_f64()), middle(|spent| spent.cpu.as_secs_f64()));
    Ok(Spent { wall, cpu, peak_bytes: taken[0].peak_bytes })
}
