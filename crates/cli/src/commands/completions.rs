//! `convoke completions`: what a shell needs to complete our command line.

use crate::args::Cli;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use clap::CommandFactory;

/// Prints the script for a shell.
pub fn run(console: &Console, shell: clap_complete::Shell) -> Result<Exit, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "convoke", &mut script);
    console.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
