//! `convoke export RUN --otlp URL`: the whole trace of one run to a receiver, also of one that ended long ago.

use crate::args::{ExportArgs, Format};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following::traces_to;
use crate::stored;
use crate::view::format::plural;
use convoke_follow::Undelivered;
use convoke_journal::Reader;
use convoke_telemetry::otlp::{ExportError, Exported, export};
use serde_json::json;

/// Sends it. Sent again it has the same ids, so that a receiver need not show it twice.
pub fn run(console: &Console, args: &ExportArgs, url: &str) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = stored::find(&state, &args.run)?;
    let traces = traces_to(url, &args.header, args.contents, &state)
        .map_err(|why| CommandFailure::new(Exit::Usage, format!("--otlp: {why}")))?;
    let journal = Reader::open(&state, &run)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exported = runtime.block_on(export(&traces, &run, &journal)).map_err(|error| match error {
        ExportError::Journal(error) => error.into(),
        ExportError::Undelivered(Undelivered::Later { why, .. } | Undelivered::Refused { why }) => {
            CommandFailure::new(Exit::Failed, format!("the trace of run {run} was not taken: {why}"))
                .hint("the same command sends it again, with the same ids")
        }
    })?;
    let Exported { spans, open, delivered } = exported;
    match args.format {
        Format::Json => console.json(&json!({
            "run": run,
            "spans": spans,
            "open": open,
            "refused": delivered.refused,
            "problem": delivered.why,
        }))?,
        Format::Text => console.conclude(&format!("run {run} is exported: {}", plural(spans, "span"))),
    }
    if open > 0 {
        console.warn(&format!("{} of them stand for what has not ended", plural(open, "span")));
    }
    if delivered.refused == 0 {
        return Ok(Exit::Success);
    }
    let why = delivered.why.unwrap_or_default();
    Err(CommandFailure::new(
        Exit::Failed,
        format!("the receiver refused {}: {why}", plural(delivered.refused, "span")),
    ))
}
