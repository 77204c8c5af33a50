//! Measures what Convoke costs, as ratios in one run.
//!
//! The program under test is the real binary as it is shipped, run as a child and charged with what the kernel says it used;
//! what has no command of its own (the memory journal, the floor of the runtime) runs in a child of this program, so
//! that this process stays small and disturbs nothing. What the figures mean is in `docs/reference/performance.md`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod args;
mod benchmark;
mod child;
mod disk;
mod error;
mod figure;
mod inner;
mod journals;
mod machine;
mod rounds;
mod served;
mod table;
mod workflow;
mod workshop;

use args::Args;
use clap::Parser;
use error::Error;
use figure::Figure;
use machine::Load;
use std::process::ExitCode;
use workshop::Workshop;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let outcome = match (words.next().as_deref(), words.next()) {
        (Some("inner"), Some(job)) => inner::run(&job),
        _ => measure(&Args::parse()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {}", error::chain(&error));
        ExitCode::from(2)
    })
}

/// Runs the chosen benchmarks, prints them, keeps them.
fn measure(args: &Args) -> Result<ExitCode, Error> {
    let workshop = Workshop::open(args)?;
    let before = Load::now();
    let mut figures = Vec::new();
    for benchmark in args.what.benchmarks() {
        eprintln!("measuring {}: {}", benchmark.name, benchmark.about);
        figures.extend((benchmark.run)(&workshop)?);
    }
    let loads = [before, Load::now()];
    println!("{}", table::of(&figures));
    loads[0].warnings().iter().for_each(|warning| println!("{warning}"));
    println!("written to {}", table::keep(args, &loads, &figures)?.display());
    Ok(verdict(args, &figures))
}

/// With `--check`, a missed bound is a failure.
fn verdict(args: &Args, figures: &[Figure]) -> ExitCode {
    let missed = figures.iter().filter(|figure| figure.met() == Some(false)).count();
    println!("{missed} of {} bounds missed", figures.iter().filter(|figure| figure.bound.is_some()).count());
    if args.check && missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
