//! `convoke check`: finds everything that is wrong with workflow files, all at once.

use crate::args::{CheckArgs, Format};
use crate::compiling;
use crate::console::Console;
use crate::diagnostics::{Record, Tally};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::subject::Subject;
use convoke_plan::Plan;
use convoke_plan::compile::Compiled;
use std::path::Path;

/// Checks each file; refused if one is.
pub fn run(console: &Console, args: &CheckArgs) -> Result<Exit, CommandFailure> {
    let strict = args.strict || console.config.strict;
    let given = inputs::given(&args.inputs)?;
    let config = args.answerer.over(&console.config);
    let mut all = Vec::new();
    for file in &args.files {
        let subject = Subject::of(file, given.clone())?;
        let compiled = subject.compile(&config, args.answerer.provider.as_deref())?;
        compiled.plan.as_ref().map_or(Ok(()), |plan| subject.refuse_inputs(plan))?;
        all.push((subject, compiled));
    }
    match args.format {
        Format::Json => print_json(console, &all)?,
        Format::Text => all.iter().for_each(|(of, found)| print_text(console, &of.file, found, strict)),
    }
    if all.iter().any(|(_, compiled)| Tally::of(&compiled.diagnostics).refuses(strict)) {
        return Err(CommandFailure::explained(Exit::Refused));
    }
    Ok(Exit::Success)
}

fn print_json(console: &Console, all: &[(Subject, Compiled)]) -> Result<(), CommandFailure> {
    let found = all.iter().flat_map(|(_, compiled)| &compiled.diagnostics);
    console.json(&found.map(Record::of).collect::<Vec<_>>())
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
    let steps = crate::view::format::plural(compiled.plan.as_ref().map_or(0, steps), "step");
    let found = if tally == Tally::default() { String::new() } else { format!(", {}", tally.words()) };
    console.conclude(&format!("{} {}: {steps}{found}", console.paint.good("ok:"), file.display()));
}
