//! `convoke goal`: a sentence becomes a workflow of one goal, which runs like any other.

use super::run::begin;
use crate::args::{Format, GoalArgs, InputArgs, RunArgs, RunFlags};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::sentence;
use crate::subject::Subject;
use std::io::IsTerminal;

/// Makes the workflow and starts it.
pub fn run(console: &Console, args: &GoalArgs) -> Result<Exit, CommandFailure> {
    let made = sentence::of(args, &console.config.goal)?.yaml();
    if args.print_workflow {
        console.data(&made)?;
        return Ok(Exit::Success);
    }
    begin(console, &as_run(args), &Subject::made(sentence::FILE, made))
}

/// The same, as `run` takes it.
fn as_run(args: &GoalArgs) -> RunArgs {
    let in_words = match args.format {
        Some(format) => format == Format::Text,
        None => std::io::stdout().is_terminal(),
    };
    RunArgs {
        file: sentence::FILE.into(),
        inputs: InputArgs { inputs: Vec::new(), input_file: None },
        metadata: Vec::new(),
        dry_run: args.dry_run,
        print_manifest: false,
        replies: None,
        flags: RunFlags { in_words, guided: args.interactive, ..args.flags.clone() },
    }
}
