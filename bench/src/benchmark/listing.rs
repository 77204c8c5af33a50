//! Ten thousand runs in one state folder: listing them, and starting another one beside them.

use super::{cpu_ms, ratios, wall_ms};
use crate::child::{self, Spent};
use crate::error::Error;
use crate::figure::Figure;
use crate::journals;
use crate::rounds::interleave;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "runs";

const RUNS: u64 = 10_000;
/// How often the least command takes what a list may take.
const MOST: f64 = 20.0;
/// How much longer a start may take beside all these runs than beside none.
const BESIDE: f64 = 1.5;
const FILE: &str = "one-set.yaml";

/// What is taken of the rounds of a command.
type Of = fn(&[Spent]) -> Vec<f64>;

/// A command, and whether it sees the runs.
type Case = (&'static [&'static str], bool);

const CASES: [Case; 6] = [
    (&["--version"], true),
    (&["runs", "-n", "20"], true),
    (&["runs"], true),
    (&["runs", "--format", "json"], true),
    (&["--quiet", "run", FILE], true),
    (&["--quiet", "run", FILE], false),
];

/// `runs` over `--version`, and a start beside all runs over one beside none.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    workshop.write(FILE, workflow::ONE_SET)?;
    journals::write_many(&workshop.path("many"), RUNS)?;
    // The first list makes the index: every journal is read once.
    let index = command(workshop, &(&["runs", "-n", "1"], true))?;
    let taken = interleave(workshop.rounds.many, &CASES, |case| command(workshop, case))?;
    workshop.tidy();
    let _ = std::fs::remove_dir_all(workshop.path("many"));
    let [version, newest, all, json, beside, alone] = &taken[..] else { unreachable!("six cases") };
    let mut figures = Vec::new();
    for (words, list) in [("`runs -n 20`", newest), ("`runs`", all)] {
        for (what, of) in [("CPU", cpu_ms as Of), ("time", wall_ms as Of)] {
            let name = format!("{words} over 10 000 runs, {what} over that of `--version`");
            figures.push(Figure::new(NAME, name, "×", ratios(&of(list), &of(version))).at_most(MOST));
        }
    }
    for (what, of) in [("CPU", cpu_ms as Of), ("time", wall_ms as Of)] {
        let name = format!("a workflow of one set step beside 10 000 runs, {what} over that beside none");
        figures.push(Figure::new(NAME, name, "×", ratios(&of(beside), &of(alone))).at_most(BESIDE));
    }
    let cases =
        [("`--version`", version), ("`runs -n 20`", newest), ("`runs`", all), ("`runs --format json`", json)];
    figures
        .extend(cases.map(|(words, taken)| Figure::new(NAME, format!("{words}, CPU"), "ms", cpu_ms(taken))));
    figures.push(Figure::new(NAME, "making the index of 10 000 runs, CPU", "ms", cpu_ms(&[index])));
    Ok(figures)
}

fn command(workshop: &Workshop, (args, sees): &Case) -> Result<Spent, Error> {
    let mut command = workshop.convoke(60, args);
    if *sees {
        command.env("CONVOKE_STATE_DIR", workshop.path("many"));
    }
    Ok(child::run(&mut command)?.0)
}
