//! `convoke org`: files that describe organisations.

mod show;

use crate::args::{Format, OrgCheckArgs, OrgCommand, OrgPlanArgs, PlanArgs};
use crate::console::Console;
use crate::diagnostics::{Record, Tally};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::organisation::{PREFIX, read};
use crate::view::format::plural;
use convoke_knowledge::org::{Organisation, load};

/// Does what was asked.
pub fn run(console: &Console, command: &OrgCommand) -> Result<Exit, CommandFailure> {
    match command {
        OrgCommand::Check(args) => check(console, args),
        OrgCommand::Show(args) => show::run(console, args),
        OrgCommand::Plan(args) => plan(console, args),
        OrgCommand::Words => {
            console.data(convoke_knowledge::vocab::ONTOLOGY)?;
            Ok(Exit::Success)
        }
    }
}

/// Says everything that is wrong; refused if something is.
fn check(console: &Console, args: &OrgCheckArgs) -> Result<Exit, CommandFailure> {
    let strict = args.strict || console.config.strict;
    let texts = args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let (organisation, found) = load(&texts);
    match args.format {
        Format::Json => console.json(&found.iter().map(Record::of).collect::<Vec<_>>())?,
        Format::Text => found.iter().for_each(|one| console.finding(one, strict)),
    }
    let tally = Tally::of(&found);
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    match organisation.filter(|_| !tally.refuses(strict)) {
        Some(organisation) if args.format == Format::Text => {
            let found =
                if tally == Tally::default() { String::new() } else { format!(", {}", tally.words()) };
            let ok = console.paint.good("ok:");
            console.conclude(&format!("{ok} {}: {}{found}", names.join(" "), words(&organisation)));
            Ok(Exit::Success)
        }
        Some(_) => Ok(Exit::Success),
        None => {
            let words = format!("organisation `{}` is refused: {}", names.join(" "), tally.words());
            Err(CommandFailure::new(Exit::Refused, words))
        }
    }
}

fn words(organisation: &Organisation) -> String {
    let chart = &organisation.chart;
    let count = |number: usize, word: &str| plural(number as u64, word);
    let (stated, inferred) = organisation.reasoner.counts();
    format!(
        "{}, {}, {} ({stated} statements, {inferred} more follow)",
        count(chart.departments.len(), "department"),
        count(chart.roles.len(), "role"),
        count(chart.servers.len(), "server"),
    )
}

/// The plan of what `run org:FILE` would do.
fn plan(console: &Console, args: &OrgPlanArgs) -> Result<Exit, CommandFailure> {
    let file = format!("{PREFIX}{}", args.file.display());
    let (inputs, answerer) = (args.inputs.clone(), args.answerer.clone());
    super::plan::run(console, &PlanArgs { file: file.into(), inputs, answerer, format: args.format })
}
