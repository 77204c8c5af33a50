//! The `convoke` command: reads the command line, does what it says, and ends with a code that scripts can rely on.

mod advice;
mod args;
mod changes;
mod clock;
mod commands;
mod compiling;
mod config;
mod configuration;
mod console;
mod detaching;
mod diagnostics;
mod difference;
mod driving;
mod env;
mod exit;
mod failure;
mod gate;
mod given_plan;
mod handover;
mod inputs;
mod notifying;
mod paint;
mod plan_text;
mod presets;
mod sentence;
mod sources;
mod stored;
mod subject;
mod tape;
mod view;
mod watch;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before there is a thread or an open file: a worker takes these rights away from itself.
    if driving::programs::is_worker(std::env::args_os().nth(1).as_deref()) {
        return convoke_tools::serve_programs();
    }
    // Help, version and usage errors end the program in here, before any file is read.
    let cli = args::Cli::parse_from(args::as_conductor_writes(std::env::args_os()));
    let console = match console::Console::open(&cli.global) {
        Ok(console) => console,
        Err(failure) => return end_badly(&failure, paint::Paint::off()),
    };
    if cli.global.detached.is_none() && cli.command.run_flags().is_some_and(|flags| flags.detach) {
        let words = args::as_conductor_writes(std::env::args_os());
        return detaching::start(words).unwrap_or_else(|failure| end_badly(&failure, console.paint));
    }
    match commands::run(cli, &console) {
        Ok(exit) => exit.into(),
        Err(failure) => end_badly(&failure, console.paint),
    }
}

fn end_badly(failure: &failure::CommandFailure, paint: paint::Paint) -> ExitCode {
    use std::io::Write;
    let text = failure.render(paint);
    if !text.is_empty() {
        // Nobody is left to tell when standard error cannot be written.
        writeln!(std::io::stderr(), "{text}").ok();
    }
    failure.exit.into()
}
