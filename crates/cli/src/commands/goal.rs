//! `convoke goal`: a goal on the command line becomes a workflow of one goal, which runs like any other.

use super::run::{begin_with, with_flags};
use crate::args::{Format, GoalArgs, InputArgs, RunArgs, RunFlags};
use crate::compiling;
use crate::console::Console;
use crate::diagnostics::Tally;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::given_plan;
use crate::goal_request::{self, Authors, Budgeted};
use crate::stdio;
use crate::subject::Subject;
use convoke_model::TaskId;
use convoke_plan::Plan;
use convoke_plan::compile::name_budget;
use convoke_plan::generate::goal::{GoalRequest, STEP};

/// Makes the workflow and starts it.
pub fn run(console: &Console, args: &GoalArgs) -> Result<Exit, CommandFailure> {
    let prompts = goal_request::prompts(console)?;
    let request = goal_request::of(args, console, &prompts)?;
    if args.print_workflow {
        console.data(&request.yaml())?;
        return Ok(Exit::Success);
    }
    let authors = Authors { args, entries: &console.config.entries, prompts: &prompts };
    let (as_run, subject) = (as_run(args), Subject::made(goal_request::FILE, request.yaml()));
    require_plan(console, args, &request)?;
    let mut plan = accepted(console, &as_run, &subject, &authors)?;
    let budgeted = Budgeted::at_start(&args.bounds, &console.config.goal.limits);
    name_budget(&mut plan, budgeted.written);
    begin_with(console, &as_run, &subject, plan)
}

/// Refuses a plan that was given and cannot be carried out, with its own lines. Where the rest is refused, that is told.
fn require_plan(console: &Console, args: &GoalArgs, request: &GoalRequest) -> Result<(), CommandFailure> {
    let (Some(file), Some(text)) = (&args.plan, &request.plan) else { return Ok(()) };
    let without = GoalRequest { plan: None, ..request.clone() };
    let subject = Subject::made(goal_request::FILE, without.yaml());
    let compiled = subject.compile(&console.config, args.flags.provider.as_deref())?;
    let Some(plan) = compiled.plan else { return Ok(()) };
    let goal = given_plan::goal_of(&plan, &TaskId(STEP.into())).expect("it is made of one goal");
    given_plan::require(console, goal, &goal_request::file_name(file), text)
}

/// The plan, unless it must not run; what was found is told with the flag, key or file that it comes from.
fn accepted(
    console: &Console,
    args: &RunArgs,
    subject: &Subject,
    authors: &Authors<'_>,
) -> Result<Plan, CommandFailure> {
    let strict = args.flags.strict || console.config.strict;
    let config = with_flags(&console.config, args);
    let mut compiled = subject.compile(&config, args.flags.provider.as_deref())?;
    compiled.diagnostics = authors.blame(std::mem::take(&mut compiled.diagnostics));
    compiling::show(console, &compiled, strict);
    match compiled.plan {
        Some(plan) if !Tally::of(&compiled.diagnostics).refuses(strict) => Ok(plan),
        _ => Err(authors.refusal(&compiled.diagnostics, strict)),
    }
}

/// The same, as `run` takes it.
fn as_run(args: &GoalArgs) -> RunArgs {
    let in_words = match args.format {
        Some(format) => format == Format::Text,
        // A plan is made to be read and changed, wherever it goes.
        None => args.plan_only || stdio::out_is_terminal(),
    };
    RunArgs {
        reuse: None,
        explain: false,
        repeat_effects: false,
        file: goal_request::FILE.into(),
        inputs: InputArgs { inputs: Vec::new(), input_file: None, down: false },
        metadata: vec![(convoke_model::GOAL.to_owned(), args.goal.clone())],
        dry_run: args.dry_run,
        print_manifest: false,
        replies: None,
        found: false,
        flags: RunFlags { in_words, guided: args.interactive, ..args.flags.clone() },
    }
}
