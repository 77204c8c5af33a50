//! `convoke metrics`: numbers about all runs, for Prometheus.

use crate::args::{MetricsArgs, MetricsFormat};
use crate::commands::capacity;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_capacity::Snapshot;
use convoke_follow::accounts;
use convoke_journal::StateDir;
use convoke_model::RunStatus;
use convoke_telemetry::metrics::{Moment, count, metrics};
use std::collections::BTreeMap;

/// Prints them.
pub fn run(console: &Console, args: &MetricsArgs) -> Result<Exit, CommandFailure> {
    let MetricsFormat::Prometheus = args.format;
    let state = stored::for_writing(console)?;
    let (_, snapshot) = capacity::look(console)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let page = runtime.block_on(page(&state, snapshot))?;
    console.json_lines(&page)?;
    Ok(Exit::Success)
}

/// The page that Prometheus reads, also over HTTP.
pub async fn page(state: &StateDir, capacity: Option<Snapshot>) -> Result<String, CommandFailure> {
    let count = count(state)
        .await
        .map_err(|error| CommandFailure::new(Exit::State, format!("runs cannot be counted: {error}")))?;
    let (mut open, mut running) = (BTreeMap::new(), 0);
    for row in stored::list(state)?.into_iter().filter(|row| !row.status.is_end()) {
        *open.entry(row.status.word()).or_default() += 1;
        running += if row.status == RunStatus::Running { row.running } else { 0 };
    }
    // What is not there now is 0 and not unknown.
    for status in RunStatus::ALL.into_iter().filter(|status| !status.is_end()) {
        open.entry(status.word()).or_default();
    }
    Ok(metrics(&count, &Moment { open, running, capacity, receivers: accounts(state) }))
}
