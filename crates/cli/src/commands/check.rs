//! `convoke check`: finds everything that is wrong with workflow files, all at once.

use crate::args::{CheckArgs, Format};
use crate::compiling;
use crate::console::Console;
use crate::diagnostics::{Record, Tally};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::Plan;
use convoke_plan::compile::Compiled;
use std::path::Path;

/// Checks each file; refused if one is.
pub fn run(console: &Console, args: &CheckArgs) -> Result<Exit, CommandFailure> {
    let strict = args.strict || console.config.strict;
    let mut all = Vec::new();
    for file in &args.files {
        all.push(compiling::compile_file(file, &console.config, None)?);
    }
    let refused = all.iter().any(|compiled| Tally::of(&compiled.diagnostics).refuses(strict));
    match args.format {
        Format::Json => print_json(console, &all)?,
        Format::Text => {
            args.files.iter().zip(&all).for_each(|(file, found)| print_text(console, file, found, strict))
        }
    }
    if refused { Err(CommandFailure::explained(Exit::Refused)) } else { Ok(Exit::Success) }
}

fn print_json(console: &Console, all: &[Compiled]) -> Result<(), CommandFailure> {
    let records: Vec<_> = all.iter().flat_map(|compiled| &compiled.diagnostics).map(Record::of).collect();
    console.json(&records)
}

/// Steps, groups and bodies of the files; what they ask on their way is no step of its own.
fn steps(plan: &Plan) -> u64 {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.filter(|node| !node.name.starts_with('$')).count() as u64
}

fn print_text(console: &Console, file: &Path, compiled: &Compiled, strict: bool) {
    compiling::show(console, compiled, strict);
    let tally = Tally::of(&compiled.diagnostics);
    if tally.refuses(strict) {
        console.complain(&compiling::refusal(file, tally, strict).render(console.paint));
        return;
    }
    let steps = crate::view::words::plural(compiled.plan.as_ref().map_or(0, steps), "step");
    let found = if tally == Tally::default() { String::new() } else { format!(", {}", tally.words()) };
    console.conclude(&format!("{} {}: {steps}{found}", console.paint.good("ok:"), file.display()));
}
