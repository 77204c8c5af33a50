//! The smallest commands: what it takes to be there at all.

use super::{cpu_ms, wall_ms};
use crate::child::{self, Spent};
use crate::error::Error;
use crate::figure::Figure;
use crate::inner::Job;
use crate::rounds::interleave;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "startup";

const VERSION: &[&str] = &["--version"];
const SET: &[&str] = &["--quiet", "run", "one-set.yaml"];
const AGENT: &[&str] = &["--quiet", "run", "one-agent.yaml"];

/// `--version`, a workflow of one step, a workflow of one agent, each beside a program that does nothing.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write("one-set.yaml", workflow::ONE_SET)?;
    workshop.write("one-agent.yaml", workflow::ONE_AGENT)?;
    let taken = interleave(workshop.rounds.many, &[VERSION, SET, AGENT], |args| command(workshop, args))?;
    let floor = interleave(workshop.rounds.many, &[Job::Nothing], |job| workshop.whole(job))?;
    workshop.tidy();
    let [version, set, agent] = &taken[..] else { unreachable!("three cases were measured") };
    let figure = |name: &str, samples| Figure::new(NAME, name, "ms", samples);
    Ok(vec![
        figure("`--version`, CPU", cpu_ms(version)).at_most(10.0),
        figure("a workflow of one set step, CPU", cpu_ms(set)).at_most(40.0),
        figure("a workflow of one agent, CPU", cpu_ms(agent)).at_most(40.0),
        figure("a workflow of one agent, wall", wall_ms(agent)),
        figure("floor: a program that does nothing, CPU", cpu_ms(&floor[0])),
    ])
}

fn command(workshop: &Workshop, args: &[&str]) -> Result<Spent, Error> {
    Ok(child::run(&mut workshop.convoke(60, args))?.0)
}
