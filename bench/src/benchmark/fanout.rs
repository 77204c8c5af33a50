//! One agent, 10 000 agents, one agent, through the real program with its journal on disk.
//!
//! Beside it, in the same rounds, what parts of it take: the runtime alone, deciding alone, everything but the disk.

use super::{cpu_ms, cpu_per_agent, ratios, wall_ms};
use crate::child::{self, Spent};
use crate::error::Error;
use crate::figure::Figure;
use crate::inner::{Job, Shape};
use crate::rounds::interleave;
use crate::workflow;
use crate::workshop::Workshop;
use std::process::Stdio;

pub const NAME: &str = "fanout";

const FILE: &str = "fan-out.yaml";
const COUNT: u32 = 10_000;
const WIDE: u32 = 1_000;
const NARROW: u32 = 60;

#[derive(Clone, Copy)]
enum Case {
    /// The whole program: items, attempts at once.
    Whole(u32, u32),
    /// The same, and it tells every event on standard error.
    Telling,
    /// A part of it, inside this program.
    Part(fn(u32) -> Job),
}

const CASES: [Case; 9] = [
    Case::Whole(1, WIDE),
    Case::Whole(COUNT, WIDE),
    Case::Whole(1, NARROW),
    Case::Whole(COUNT, NARROW),
    Case::Telling,
    Case::Part(|count| Job::Floor { count }),
    Case::Part(|count| Job::Decide { shape: Shape::FanOut, count, limit: WIDE }),
    Case::Part(|count| Job::FanOut { count, limit: WIDE }),
    Case::Part(|count| Job::FanOut { count, limit: NARROW }),
];

/// Processor time per agent at two limits, and of the parts.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write(FILE, &workflow::fan_out(workflow::AT_ONCE))?;
    let taken = interleave(workshop.rounds.some, &CASES, |case| measure(workshop, *case))?;
    workshop.tidy();
    let [one_wide, wide, one_narrow, narrow, telling, floor, decide, memory_wide, memory_narrow] = &taken[..]
    else {
        unreachable!("as many as there are cases")
    };
    let nothing = vec![Spent::default(); floor.len()];
    let part = |taken: &[Spent]| cpu_per_agent(taken, &nothing, COUNT);
    let (wide_each, narrow_each) =
        (cpu_per_agent(wide, one_wide, COUNT), cpu_per_agent(narrow, one_narrow, COUNT));
    let over_floor = ratios(&wide_each, &part(floor));
    let each = |name: &str, samples| Figure::new(NAME, name, "µs", samples);
    let whole = |name: &str, samples| Figure::new(NAME, name, "ms", samples);
    Ok(vec![
        each("10 000 agents at 1000, CPU per agent", wide_each).at_most(20.0),
        each("10 000 agents at 60, CPU per agent", narrow_each).at_most(35.0),
        each(
            "at 1000, telling every event on stderr, CPU per agent",
            cpu_per_agent(telling, one_wide, COUNT),
        ),
        whole("at 1000, the whole run, CPU", cpu_ms(wide)),
        whole("at 1000, the whole run, wall", wall_ms(wide)),
        whole("at 60, the whole run, CPU", cpu_ms(narrow)),
        whole("at 60, the whole run, wall", wall_ms(narrow)),
        whole("one agent in the middle, CPU (taken off)", cpu_ms(one_wide)),
        each("floor: tokio JoinSet, per task", part(floor)),
        each("part: deciding alone, per agent", part(decide)),
        each("part: the engine with the memory journal at 1000, per agent", part(memory_wide)),
        each("part: the engine with the memory journal at 60, per agent", part(memory_narrow)),
        Figure::new(NAME, "at 1000, over the floor", "×", over_floor),
    ])
}

fn measure(workshop: &Workshop, case: Case) -> Result<Spent, Error> {
    match case {
        Case::Whole(count, limit) => workshop.run_fan_out(FILE, limit, count),
        Case::Telling => {
            let mut command = workshop.convoke(WIDE, &["run", FILE, "-i", &format!("count={COUNT}")]);
            Ok(child::run(command.stderr(Stdio::null()))?.0)
        }
        Case::Part(job) => workshop.inner(&job(COUNT)),
    }
}
