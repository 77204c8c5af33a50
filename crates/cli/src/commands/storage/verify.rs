//! `convoke verify`: whether a journal is what was written, event by event.

use crate::args::{Format, VerifyArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_engine::{RULES, compact};
use convoke_journal::{Error, StateDir, Verified, verify_snapshots};
use convoke_model::RunId;
use serde_json::{Value, json};

/// Walks the journal; the first event that cannot be trusted is named.
pub fn run(console: &Console, args: &VerifyArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    if args.all {
        return all(console, &state, args.format);
    }
    let run = stored::find(&state, args.run.as_deref().unwrap_or("last"))?;
    let found = check(&state, &run);
    match (args.format, &found) {
        (Format::Json, _) => console.json(&as_json(&run, &found))?,
        (Format::Text, Ok(verified)) => console.data(&text(&run, verified))?,
        (Format::Text, Err(_)) => {}
    }
    found.map(|_| Exit::Success).map_err(Into::into)
}

/// Every run of the state folder, one line each; damage of one does not hide the others.
fn all(console: &Console, state: &StateDir, format: Format) -> Result<Exit, CommandFailure> {
    let found: Vec<_> = state.runs()?.into_iter().map(|run| (check(state, &run), run)).collect();
    match format {
        Format::Json => {
            console.json(&found.iter().map(|(found, run)| as_json(run, found)).collect::<Vec<_>>())?
        }
        Format::Text if found.is_empty() => {}
        Format::Text => {
            let lines = found.iter().map(|(found, run)| line(run, found));
            console.data(&lines.collect::<Vec<_>>().join("\n"))?;
        }
    }
    let damaged = found.iter().filter(|(found, _)| found.is_err()).count() as u64;
    let whole = found.len() as u64 - damaged;
    console.conclude(&format!("{} whole, {damaged} damaged", plural(whole, "run")));
    Ok(if damaged == 0 { Exit::Success } else { Exit::Failed })
}

/// The journal first, then the snapshots that stand for parts of it.
fn check(state: &StateDir, run: &RunId) -> Result<Verified, Error> {
    let verified = convoke_journal::verify(state, run)?;
    verify_snapshots(state, run, RULES, &compact)?;
    Ok(verified)
}

fn line(run: &RunId, found: &Result<Verified, Error>) -> String {
    match found {
        Ok(verified) => text(run, verified),
        Err(error) => format!("{run} is damaged: {error}"),
    }
}

fn as_json(run: &RunId, found: &Result<Verified, Error>) -> Value {
    match found {
        Ok(found) => {
            json!({"run": run, "ok": true, "records": found.records, "events": found.events, "blobs": found.blobs})
        }
        Err(error) => {
            json!({"run": run, "ok": false, "event": bad_event(error), "message": error.to_string()})
        }
    }
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
