//! `convoke export RUN --html FILE`: a run as one page that opens without a server.

use super::export::{STANDARD, whole_file};
use crate::args::{ExportArgs, Format};
use crate::console::Console;
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::serving::CommandHost;
use crate::stdio;
use crate::stored;
use crate::view::format::{bytes, plural};
use convoke_agent::redaction::Scrubber;
use convoke_model::RunId;
use convoke_server::{Offline, OfflineError, OfflineRun, offline};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Writes the page to the file, or to standard output.
pub fn run(console: &Console, args: &ExportArgs, file: &Path) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = stored::find(&state, &args.run)?;
    let host =
        CommandHost { console: console.clone(), state: state.clone(), folders: Vec::new(), named: false };
    let scrubber = Scrubber::new(env::secrets());
    let version = env!("CARGO_PKG_VERSION");
    let of = OfflineRun { state: &state, run: &run, host: Arc::new(host), version, scrubber: &scrubber };
    let write = |out: &mut dyn Write| offline(&of, out).map_err(failure);
    let is_standard = file.as_os_str() == STANDARD;
    let made = match is_standard {
        true => to_standard_output(write)?,
        false => whole_file(file, write)?,
    };
    say(console, args, (&run, file), &made)?;
    Ok(Exit::Success)
}

fn to_standard_output(
    write: impl FnOnce(&mut dyn Write) -> Result<Offline, CommandFailure>,
) -> Result<Offline, CommandFailure> {
    let Some(out) = stdio::bytes() else {
        return Err(CommandFailure::new(
            Exit::Usage,
            "a page is for a browser: standard output is a terminal",
        )
        .hint("name a file, or write to a pipe"));
    };
    let mut out = BufWriter::new(out);
    let made = write(&mut out)?;
    out.flush()?;
    Ok(made)
}

fn say(
    console: &Console,
    args: &ExportArgs,
    (run, file): (&RunId, &Path),
    made: &Offline,
) -> Result<(), CommandFailure> {
    match args.format {
        Format::Json if file.as_os_str() != STANDARD => console.json(&json!({
            "run": run,
            "file": file,
            "bytes": made.bytes,
            "events": made.events,
            "tasks": made.tasks,
            "left_out": made.left_out,
            "live": made.live,
        }))?,
        _ => {
            let (events, tasks) = (plural(made.events, "event"), plural(made.tasks as u64, "task"));
            console.conclude(&format!(
                "run {run} is exported as a page: {events}, {tasks}, {}",
                bytes(made.bytes)
            ));
        }
    }
    if made.live {
        console.warn(&format!("a process drives the run: the page ends with event {}", made.events));
    }
    for what in &made.left_out {
        console.warn(&format!("not all of it is in the page: {what}"));
    }
    Ok(())
}

fn failure(error: OfflineError) -> CommandFailure {
    match error {
        OfflineError::Journal(error) => error.into(),
        OfflineError::Write(_) => CommandFailure::new(Exit::State, error.to_string()),
        OfflineError::Part(_) | OfflineError::NoPage => CommandFailure::new(Exit::Failed, error.to_string()),
    }
}
