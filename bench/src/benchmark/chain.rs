//! 1 000 agents, one after the other: each step's end and the next one's start share one durable write.

use crate::child;
use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "chain";

const FILE: &str = "chain.yaml";
const STEPS: usize = 1_000;
const PROBES: usize = 200;

/// The whole run, start-up and compiling included, against one durable write per step.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write(FILE, &workflow::chain(STEPS))?;
    let (mut over, mut wall, mut cpu, mut syncs) = (vec![], vec![], vec![], vec![]);
    for _ in 0..workshop.rounds.some {
        let mut probes = disk::syncs(workshop.place(), PROBES)?;
        let (spent, _) = child::run(&mut workshop.convoke(60, &["--quiet", "run", FILE]))?;
        probes.extend(disk::syncs(workshop.place(), PROBES)?);
        let sync = disk::sync_time(&probes);
        over.push(spent.wall.as_secs_f64() / STEPS as f64 / sync);
        wall.push(spent.wall.as_secs_f64() * 1e3 / STEPS as f64);
        cpu.push(spent.cpu.as_secs_f64() * 1e6 / STEPS as f64);
        syncs.push(sync * 1e3);
    }
    workshop.tidy();
    Ok(vec![
        Figure::new(NAME, "time per step, over one fdatasync", "×", over).at_most(1.3),
        Figure::new(NAME, "time per step", "ms", wall),
        Figure::new(NAME, "CPU per step", "µs", cpu),
        Figure::new(NAME, "fdatasync of 4 KiB, median", "ms", syncs),
    ])
}
