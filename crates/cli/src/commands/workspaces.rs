//! `convoke workspaces`: which worktrees and ports tasks have, and which are left.

use crate::args::{Format, WorkspacesAction, WorkspacesArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use crate::workspaces::{is_driven, leases};
use convoke_journal::StateDir;
use convoke_workspaces::{Record, Standing};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Lists workspaces, or lets go of those whose run no process drives.
pub fn run(console: &Console, args: &WorkspacesArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    match &args.action {
        None => list(console, &state, args.format),
        Some(WorkspacesAction::Clean { run, discard }) => clean(console, &state, run.as_deref(), *discard),
    }
}

fn list(console: &Console, state: &StateDir, format: Format) -> Result<Exit, CommandFailure> {
    let all = leases(state, "").all();
    match format {
        Format::Json => console.json(&all.iter().map(|one| row(state, one)).collect::<Vec<_>>())?,
        Format::Text if all.is_empty() => console.say("no task has a workspace"),
        Format::Text => console.data(&all.iter().map(|one| line(state, one)).collect::<String>())?,
    }
    Ok(Exit::Success)
}

fn word(state: &StateDir, record: &Record) -> &'static str {
    match record.standing {
        Standing::Kept => "kept",
        _ if is_driven(state, &record.run) => "in use",
        _ => "left",
    }
}

fn row(state: &StateDir, record: &Record) -> Value {
    let mut row = serde_json::to_value(record).expect("a record is JSON");
    row["standing"] = json!(word(state, record));
    row
}

fn line(state: &StateDir, record: &Record) -> String {
    let mut line = format!("{}  {}  {}", word(state, record), record.run, record.task);
    if let Some(ports) = record.ports {
        let _ =
            write!(line, "  ports {}-{}", ports.first, u32::from(ports.first) + u32::from(ports.count) - 1);
    }
    if let Some(tree) = &record.tree {
        let _ = write!(line, "\n  branch {}", tree.branch);
        if tree.path.exists() {
            let _ = write!(line, "\n  folder {}", tree.path.display());
        }
    }
    if !record.why.is_empty() {
        let _ = write!(line, "\n  {}", record.why);
    }
    line + "\n"
}

fn clean(
    console: &Console,
    state: &StateDir,
    run: Option<&str>,
    discard: bool,
) -> Result<Exit, CommandFailure> {
    let leases = leases(state, "");
    let is_meant = |record: &Record| run.is_none_or(|run| record.run == run);
    let driven = |other: &str| run.is_some_and(|run| run != other) || is_driven(state, other);
    let cleaned = leases.clean(driven);
    let mut gone = cleaned.gone;
    for (record, trouble) in &cleaned.troubles {
        console.warn(&format!("`{}` of run {}: {trouble}", record.task, record.run));
    }
    if discard {
        for record in leases.all().iter().filter(|record| is_meant(record) && !driven(&record.run)) {
            leases
                .discard(record)
                .map_err(|trouble| CommandFailure::new(Exit::Failed, trouble.to_string()))?;
            gone += 1;
        }
    }
    let left = leases.all().iter().filter(|record| is_meant(record)).count() as u64;
    console.conclude(&format!("{} gone, {left} left", plural(u64::from(gone), "workspace")));
    if left > 0 {
        console.say("`convoke workspaces` shows them; `convoke workspaces clean --discard` removes the kept ones with what is in them");
    }
    Ok(Exit::Success)
}
