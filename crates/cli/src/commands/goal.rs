//! `convoke goal`: a sentence becomes a workflow of one goal, which runs like any other.

use super::run::{accepted, begin_with};
use crate::args::{Format, GoalArgs, InputArgs, RunArgs, RunFlags};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::given_plan;
use crate::sentence;
use crate::subject::Subject;
use convoke_model::TaskId;
use convoke_plan::generate::goal::STEP;
use std::io::IsTerminal;

/// Makes the workflow and starts it.
pub fn run(console: &Console, args: &GoalArgs) -> Result<Exit, CommandFailure> {
    let sentence = sentence::of(args, &console.config.goal)?;
    if args.print_workflow {
        console.data(&sentence.yaml())?;
        return Ok(Exit::Success);
    }
    let (as_run, subject) = (as_run(args), Subject::made(sentence::FILE, sentence.yaml()));
    let plan = accepted(console, &as_run, &subject)?;
    if let (Some(file), Some(text)) = (&args.plan, &sentence.plan) {
        let goal = given_plan::goal_of(&plan, &TaskId(STEP.into())).expect("it is made of one goal");
        given_plan::require(console, goal, &file.display().to_string(), text)?;
    }
    begin_with(console, &as_run, &subject, plan)
}

/// The same, as `run` takes it.
fn as_run(args: &GoalArgs) -> RunArgs {
    let in_words = match args.format {
        Some(format) => format == Format::Text,
        // A plan is made to be read and changed, wherever it goes.
        None => args.plan_only || std::io::stdout().is_terminal(),
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
