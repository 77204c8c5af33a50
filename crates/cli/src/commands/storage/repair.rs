//! `convoke repair`: a damaged run goes back to its longest beginning that verifies.

use crate::args::{Format, RepairArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_journal::{Repaired, repair};
use convoke_model::RunId;
use serde_json::json;

/// Repairs it, and says what is lost and where the damaged files are.
pub fn run(console: &Console, args: &RepairArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = stored::find(&state, &args.run)?;
    let done = repair(&state, &run, &stored::ourselves())?;
    match args.format {
        Format::Json => console.json(&json!({
            "run": run,
            "repaired": done.is_some(),
            "last_event": done.as_ref().map(|done| done.last),
            "acknowledged": done.as_ref().and_then(|done| done.acknowledged),
            "damage": done.as_ref().map(|done| &done.damage),
            "original": done.as_ref().map(|done| &done.original),
        }))?,
        Format::Text => console.data(&text(&run, done.as_ref()))?,
    }
    Ok(Exit::Success)
}

fn text(run: &RunId, done: Option<&Repaired>) -> String {
    let Some(done) = done else { return format!("{run} is whole: nothing was changed") };
    let lost = match done.acknowledged {
        Some(acknowledged) if acknowledged > done.last => {
            format!("{} lost, from event {}", plural(acknowledged - done.last, "event"), done.last + 1)
        }
        Some(_) => "no acknowledged event is lost".into(),
        None => "whether later events are lost cannot be told".into(),
    };
    format!(
        "{run} was repaired: {}\n  kept: {}; {lost}\n  as it was: {}\n  to go on: convoke resume {run}",
        done.damage,
        plural(done.last, "event"),
        done.original.display()
    )
}
