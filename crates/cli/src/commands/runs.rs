//! `convoke runs`: the runs of the state folder, newest first.

use crate::args::Format;
use crate::console::Console;
use crate::escape;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::words;
use comfy_table::{Table, presets};
use convoke_journal::RunRow;
use serde_json::{Value, json};

/// Lists the runs.
pub fn run(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let rows = stored::list(&stored::for_reading(console))?;
    match format {
        Format::Json => console.json(&rows.iter().map(record).collect::<Vec<_>>())?,
        Format::Text if rows.is_empty() => console.say("no runs yet"),
        Format::Text => console.data(&table(&rows))?,
    }
    Ok(Exit::Success)
}

fn record(row: &RunRow) -> Value {
    json!({
        "id": row.id,
        "workflow": row.workflow,
        "status": row.status.word(),
        "started_at": row.started_at.rfc3339(),
        "finished_at": row.finished_at.map(|at| at.rfc3339()),
        "tasks": {"total": row.total, "done": row.done, "failed": row.failed},
    })
}

fn table(rows: &[RunRow]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", "TASKS"]);
    for row in rows {
        let took = row.finished_at.map(|at| words::duration(at.since(row.started_at))).unwrap_or_default();
        let failed = if row.failed > 0 { format!(", {} failed", row.failed) } else { String::new() };
        table.add_row([
            row.id.to_string(),
            escape::line(&row.workflow).into_owned(),
            row.problem.as_ref().map_or(row.status.word(), |_| "unreadable").to_owned(),
            row.started_at.rfc3339()[..19].replace('T', " "),
            took,
            format!("{}/{}{failed}", row.done, row.total),
        ]);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
