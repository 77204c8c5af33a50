//! `convoke runs`: the runs of the state folder, newest first, as they stand at this moment.

use crate::args::{Format, RunsArgs};
use crate::clock;
use crate::console::Console;
use crate::escape;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::columns::Columns;
use crate::view::format;
use convoke_journal::{Blocked, RunRow, Search};
use convoke_model::{RunId, RunStatus, Timestamp, Usage};
use serde::Serialize;
use std::time::Duration;

/// Lists the runs that were asked for.
pub fn run(console: &Console, args: &RunsArgs) -> Result<Exit, CommandFailure> {
    let now = clock::now();
    let search = search(args, now);
    let rows = stored::search_runs(&stored::for_reading(console), &search)?;
    match args.format {
        Format::Json => console.json(&rows.iter().map(|row| record(row, now)).collect::<Vec<_>>())?,
        Format::Text if rows.is_empty() && narrows(&search) => console.say("no run is like that"),
        Format::Text if rows.is_empty() => console.say("no runs yet"),
        Format::Text => console.data(&table(&rows, now))?,
    }
    Ok(Exit::Success)
}

fn search(args: &RunsArgs, now: Timestamp) -> Search {
    Search {
        status: args.status.clone(),
        workflow: args.workflow.clone(),
        folder: None,
        since: args.since.map(|age| clock::before(now, age)),
        words: args.search.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        limit: args.limit,
    }
}

fn narrows(search: &Search) -> bool {
    Search { limit: None, ..search.clone() } != Search::default()
}

/// How long it has been worked on: until now, while a process drives it.
fn worked(row: &RunRow, now: Timestamp) -> Duration {
    let is_live = row.status == RunStatus::Running && has_begun(row);
    let since = if is_live { now.since(row.last_at) } else { Duration::ZERO };
    Duration::from_millis(row.worked_ms) + since
}

/// A run for programs. Written as it is: ten thousand values of JSON, each with its keys, would take longer than all the rest.
#[derive(Serialize)]
struct Record<'a> {
    id: &'a RunId,
    workflow: &'a str,
    folder: &'a str,
    status: &'static str,
    blocked: Option<&'static str>,
    started_at: Option<String>,
    finished_at: Option<String>,
    worked_ms: u64,
    tasks: Tasks,
    usage: &'a Usage,
    base: Option<&'a RunId>,
}

#[derive(Serialize)]
struct Tasks {
    total: u64,
    done: u64,
    failed: u64,
    running: u64,
}

fn record(row: &RunRow, now: Timestamp) -> Record<'_> {
    Record {
        id: &row.id,
        workflow: &row.workflow,
        folder: &row.folder,
        status: row.status.word(),
        blocked: row.blocked.map(Blocked::word),
        started_at: has_begun(row).then(|| row.started_at.rfc3339()),
        finished_at: row.finished_at.map(|at| at.rfc3339()),
        worked_ms: worked(row, now).as_millis() as u64,
        tasks: Tasks { total: row.total, done: row.done, failed: row.failed, running: row.running },
        usage: &row.usage,
        base: row.base.as_ref(),
    }
}

fn table(rows: &[RunRow], now: Timestamp) -> String {
    let mut table = Columns::new(["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", "TASKS", "USED"]);
    for row in rows {
        table.add_row([
            row.id.to_string(),
            escape::line(&row.workflow).into_owned(),
            status(row),
            if has_begun(row) { row.started_at.rfc3339()[..19].replace('T', " ") } else { String::new() },
            if has_begun(row) { format::duration(worked(row, now)) } else { String::new() },
            tasks(row),
            format::usage(&row.usage).unwrap_or_default(),
        ]);
    }
    table.text()
}

/// `running`, `blocked (disk)`.
fn status(row: &RunRow) -> String {
    match (&row.problem, row.blocked) {
        (Some(_), _) => "unreadable".to_owned(),
        (None, Some(on)) => format!("{} ({})", row.status.word(), on.word()),
        (None, None) => row.status.word().to_owned(),
    }
}

/// Whether its beginning is on disk. A process that was ended before its first commit leaves a run without one.
fn has_begun(row: &RunRow) -> bool {
    row.started_at != Timestamp::default()
}

/// `3/5, 1 failed, 2 running`.
fn tasks(row: &RunRow) -> String {
    let parts = [(row.failed, "failed"), (row.running, "running")];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!(", {count} {word}"));
    format!("{}/{}{}", row.done, row.total, parts.collect::<String>())
}
