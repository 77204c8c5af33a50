//! `convoke verify`: whether a journal is what was written, event by event.

use crate::args::{Format, VerifyArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_journal::{Error, Verified, verify};
use convoke_model::RunId;
use serde_json::json;

/// Walks the journal; the first event that cannot be trusted is named.
pub fn run(console: &Console, args: &VerifyArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = stored::find(&state, &args.run)?;
    match (verify(&state, &run), args.format) {
        (Ok(verified), Format::Text) => console.data(&text(&run, &verified))?,
        (Ok(found), Format::Json) => console.json(
            &json!({"run": run, "ok": true, "records": found.records, "events": found.events, "blobs": found.blobs}),
        )?,
        (Err(error), Format::Json) => {
            console.json(&json!({"run": run, "ok": false, "event": bad_event(&error), "message": error.to_string()}))?;
            return Err(error.into());
        }
        (Err(error), Format::Text) => return Err(error.into()),
    }
    Ok(Exit::Success)
}

fn text(run: &RunId, verified: &Verified) -> String {
    let parts = [(verified.events, "event"), (verified.records, "record"), (verified.blobs, "blob")];
    let parts: Vec<_> = parts.into_iter().map(|(count, noun)| plural(count, noun)).collect();
    format!("{run} is whole: {}", parts.join(", "))
}

fn bad_event(error: &Error) -> Option<u64> {
    match error {
        Error::Damaged { seq, .. } => Some(*seq),
        Error::Blob { seq, .. } => *seq,
        Error::Lost { last, .. } => Some(last + 1),
        _ => None,
    }
}
