//! `convoke check`: finds everything that is wrong with workflow files, all at once.

use crate::args::{CheckArgs, Format};
use crate::compiling;
use crate::console::Console;
use crate::diagnostics::{Record, Tally};
use crate::driving::admission;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::subject::Subject;
use crate::workspaces;
use convoke_plan::Plan;
use convoke_plan::compile::{Compiled, check_inputs};

/// A file, what was found in it, and whether what it has to do is known to be too much.
struct Checked {
    subject: Subject,
    compiled: Compiled,
    room: Result<(), CommandFailure>,
}

/// Checks each file; refused if one is.
pub fn run(console: &Console, args: &CheckArgs) -> Result<Exit, CommandFailure> {
    let strict = args.strict || console.config.strict;
    let given = inputs::given(&args.inputs)?;
    let config = args.answerer.over(&console.config);
    let mut all = Vec::new();
    for file in &args.files {
        let subject = Subject::of(file, given.clone(), args.inputs.down)?;
        let compiled = subject.compile(&config, args.answerer.provider.as_deref())?;
        compiled.plan.as_ref().map_or(Ok(()), |plan| subject.refuse_inputs(plan))?;
        let room = require_room(console, &subject, &compiled);
        all.push(Checked { subject, compiled, room });
    }
    match args.format {
        Format::Json => print_json(console, &all)?,
        Format::Text => all.iter().for_each(|one| print_text(console, one, strict)),
    }
    if all.iter().any(|one| Tally::of(&one.compiled.diagnostics).refuses(strict)) {
        return Err(CommandFailure::explained(Exit::Refused));
    }
    all.into_iter().try_for_each(|one| one.room)?;
    Ok(Exit::Success)
}

/// Refuses a file that with its inputs has more to do than it may, as `run` does. Inputs that are missing are not asked for here.
fn require_room(console: &Console, subject: &Subject, compiled: &Compiled) -> Result<(), CommandFailure> {
    let Some(plan) = &compiled.plan else { return Ok(()) };
    workspaces::require(console, plan)?;
    let Ok(named) = check_inputs(plan.root(), &subject.given) else { return Ok(()) };
    let inputs = if subject.given.is_empty() { named } else { inputs::with_files(console, plan, named)? };
    admission::require_room(plan, &inputs)
}

fn print_json(console: &Console, all: &[Checked]) -> Result<(), CommandFailure> {
    let found = all.iter().flat_map(|one| &one.compiled.diagnostics);
    console.json(&found.map(Record::of).collect::<Vec<_>>())
}

/// Steps, groups and bodies of the files; what they ask on their way is no step of its own.
fn steps(plan: &Plan) -> u64 {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.filter(|node| !node.name.starts_with('$')).count() as u64
}

fn print_text(console: &Console, one: &Checked, strict: bool) {
    let Checked { subject: Subject { file, .. }, compiled, room } = one;
    compiling::show(console, compiled, strict);
    let tally = Tally::of(&compiled.diagnostics);
    if tally.refuses(strict) {
        console.complain(&compiling::refusal(file, tally, strict).render(console.paint));
        return;
    }
    if room.is_err() {
        return;
    }
    let steps = crate::view::format::plural(compiled.plan.as_ref().map_or(0, steps), "step");
    let found = if tally == Tally::default() { String::new() } else { format!(", {}", tally.words()) };
    console.conclude(&format!("{} {}: {steps}{found}", console.paint.good("ok:"), file.display()));
}
