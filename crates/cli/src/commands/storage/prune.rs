//! `convoke prune`: removes old runs that have ended.

use crate::args::{Format, PruneArgs};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_journal::{Index, Prune, RunRow};
use convoke_model::Timestamp;

/// Removes them, or says which ones would go.
pub fn run(console: &Console, args: &PruneArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let before = |age: std::time::Duration| {
        let micros = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Timestamp(clock::now().0.saturating_sub(micros))
    };
    let policy = Prune {
        keep_last: args.keep_last,
        older_than: args.older_than.map(before),
        only_ended: true,
        dry_run: args.dry_run,
    };
    let removed = Index::open(&state)?.prune(&policy)?;
    match args.format {
        Format::Json => console.json(&removed.iter().map(|row| &row.id).collect::<Vec<_>>())?,
        Format::Text => print(console, &removed, args.dry_run)?,
    }
    Ok(Exit::Success)
}

fn print(console: &Console, removed: &[RunRow], dry_run: bool) -> Result<(), CommandFailure> {
    let lines: String = removed.iter().map(|row| format!("{} {}\n", row.id, row.workflow)).collect();
    if !lines.is_empty() {
        console.data(&lines)?;
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    console.conclude(&format!("{} {verb}", plural(removed.len() as u64, "run")));
    Ok(())
}
