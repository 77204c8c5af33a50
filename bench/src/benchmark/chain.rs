//! 1 000 agents, one after the other: each step's end and the next one's start share one durable write.

use crate::child::{self, Spent};
use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "chain";

const FILE: &str = "chain.yaml";
const STEPS: usize = 1_000;
const PROBES: usize = 500;

/// The whole run, start-up and compiling included, against one durable write per step.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write(FILE, &workflow::chain(STEPS))?;
    let rounds = (0..workshop.rounds.some).map(|_| round(workshop)).collect::<Result<Vec<_>, _>>()?;
    workshop.tidy();
    let samples = |of: fn(&Round) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
    let wall = |round: &Round| per_step(round.run.wall.as_secs_f64());
    Ok(vec![
        Figure::new(NAME, "time per step, over one fdatasync", "×", samples(|round| round.over_syncs(0.0)))
            .at_most(1.3),
        Figure::new(
            NAME,
            "the same without start and compiling",
            "×",
            samples(|round| round.over_syncs(round.dry.wall.as_secs_f64())),
        ),
        Figure::new(NAME, "time per step", "ms", samples(wall).iter().map(|time| time * 1e3).collect()),
        Figure::new(NAME, "CPU per step", "µs", samples(|round| per_step(round.run.cpu.as_secs_f64()) * 1e6)),
        Figure::new(
            NAME,
            "start and compiling, CPU",
            "ms",
            samples(|round| round.dry.cpu.as_secs_f64() * 1e3),
        ),
        Figure::new(NAME, "fdatasync of 4 KiB, mean", "ms", samples(|round| round.sync * 1e3)),
    ])
}

struct Round {
    run: Spent,
    /// The same without running anything.
    dry: Spent,
    /// One durable write, in seconds.
    sync: f64,
}

impl Round {
    /// Time per step, less some seconds of the whole, in durable writes.
    fn over_syncs(&self, less: f64) -> f64 {
        per_step(self.run.wall.as_secs_f64() - less) / self.sync
    }
}

fn per_step(whole: f64) -> f64 {
    whole / STEPS as f64
}

fn round(workshop: &Workshop) -> Result<Round, Error> {
    let (dry, _) = child::run(&mut workshop.convoke(60, &["--quiet", "run", "--dry-run", FILE]))?;
    let mut probes = disk::syncs(workshop.place(), PROBES)?;
    let (run, _) = child::run(&mut workshop.convoke(60, &["--quiet", "run", FILE]))?;
    probes.extend(disk::syncs(workshop.place(), PROBES)?);
    // The mean, as for the steps: a disk that is sometimes slow is sometimes slow for both.
    Ok(Round { run, dry, sync: disk::mean_sync_time(&probes) })
}
