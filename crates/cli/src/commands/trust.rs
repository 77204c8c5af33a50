//! `convoke trust`: a person says that a workflow which they did not write may run, as it is now.

use crate::args::{Format, TrustArgs, TrustCommand};
use crate::clock;
use crate::compiling;
use crate::config::PROJECT_FILE;
use crate::console::Console;
use crate::driving::{destinations, needed_secrets};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::subject::Subject;
use crate::trust::{self, Content, Entry, Place, Store};
use convoke_journal::StateDir;
use convoke_plan::Plan;
use serde_json::json;
use std::path::Path;

/// Trusts a file, or tells what is trusted.
pub fn run(console: &Console, args: &TrustArgs) -> Result<Exit, CommandFailure> {
    match (&args.command, &args.file) {
        (Some(TrustCommand::List(args)), _) => list(console, args.format),
        (Some(TrustCommand::Remove(args)), _) => remove(console, &args.file),
        (None, Some(file)) => add(console, file),
        (None, None) => Err(CommandFailure::new(Exit::Usage, "no file is named")),
    }
}

fn add(console: &Console, file: &Path) -> Result<Exit, CommandFailure> {
    let place = Place::of(file);
    let content = content(console, file, &place)?;
    StateDir::open(&console.config.own_state)?;
    let (at, by) = (clock::now().rfc3339(), stored::user());
    Store::at(&console.config.own_state).add(Entry {
        place: place.to_string(),
        digest: content.digest,
        at,
        by,
    })?;
    console.conclude(&format!("trusted as it is now: {place} ({})", content.digest));
    Ok(Exit::Success)
}

fn content(console: &Console, file: &Path, place: &Place) -> Result<Content, CommandFailure> {
    if file.file_name().is_some_and(|name| name == PROJECT_FILE) {
        let cannot = |error: std::io::Error| {
            CommandFailure::new(Exit::Refused, format!("`{}` cannot be read: {error}", file.display()))
        };
        return Ok(trust::of_file(&std::fs::read(file).map_err(cannot)?));
    }
    let subject = Subject::of(file, Vec::new(), false)?;
    let compiled = subject.compile(&console.config, None)?;
    let plan = compiling::accept(console, &subject.file, compiled, console.config.strict)?;
    let content = trust::of_plan(place, &plan);
    tell(console, &plan, &content);
    Ok(content)
}

/// What a person consents to.
fn tell(console: &Console, plan: &Plan, content: &Content) {
    content.files.iter().for_each(|file| console.say(&format!("file: {file}")));
    content.starts.iter().for_each(|command| console.say(&format!("starts {command}")));
    destinations::of(plan).iter().for_each(|place| console.say(&format!("prompts go to {place}")));
    let secrets = needed_secrets(plan, &console.config);
    secrets.iter().for_each(|(name, source)| console.say(&format!("secret `{name}` from {source}")));
}

fn list(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let entries = Store::at(&console.config.own_state).entries()?;
    match format {
        Format::Json => {
            let row = |entry: &Entry| json!({ "place": entry.place, "digest": entry.digest, "at": entry.at, "by": entry.by });
            console.json(&entries.iter().map(row).collect::<Vec<_>>())?;
        }
        Format::Text if entries.is_empty() => console.say("nothing is trusted besides what you name"),
        Format::Text => {
            let line = |entry: &Entry| format!("{}  {}  by {}\n", entry.place, entry.at, entry.by);
            console.data(&entries.iter().map(line).collect::<String>())?;
        }
    }
    Ok(Exit::Success)
}

fn remove(console: &Console, file: &Path) -> Result<Exit, CommandFailure> {
    let store = Store::at(&console.config.own_state);
    // A file that is gone is named as it was listed.
    let names = [Place::of(file).to_string(), file.display().to_string()];
    for name in names {
        if store.remove(&name)? {
            console.conclude(&format!("no longer trusted: {name}"));
            return Ok(Exit::Success);
        }
    }
    Err(CommandFailure::new(Exit::Usage, format!("`{}` is not trusted", file.display()))
        .hint("`convoke trust list` says what is"))
}
