//! `convoke export RUN --otlp URL`: one run to a receiver of traces, metrics or logs, also one that ended long ago.

use crate::args::{ExportArgs, Format};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following::receiver_at;
use crate::stored;
use crate::view::format::plural;
use convoke_follow::Undelivered;
use convoke_journal::Reader;
use convoke_telemetry::otlp::{Export, ExportError, Exported, Signal};
use serde_json::{Map, Value, json};

/// Sends it. Sent again it has the same ids, so that a receiver need not show it twice.
pub fn run(console: &Console, args: &ExportArgs, url: &str) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = stored::find(&state, &args.run)?;
    let wrong = |why: String| CommandFailure::new(Exit::Usage, format!("--otlp: {why}"));
    let receivers = args.signals.iter().map(|word| {
        let signal = Signal::from_word(word).ok_or_else(|| wrong(format!("`{word}` is no signal")))?;
        let to = receiver_at(url, &args.header, signal, args.contents, &state).map_err(wrong)?;
        Ok((signal, to))
    });
    let receivers = receivers.collect::<Result<Vec<_>, CommandFailure>>()?;
    let journal = Reader::open(&state, &run)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let export = Export { run: &run, journal: &journal };
    let (mut all, mut failed) = (Vec::new(), None);
    for (signal, to) in &receivers {
        // A receiver that is no receiver of logs may be one of traces all the same.
        match runtime.block_on(export.send(*signal, to)) {
            Ok(exported) => all.push(exported),
            Err(ExportError::Journal(error)) => return Err(error.into()),
            Err(ExportError::Undelivered(Undelivered::Later { why, .. } | Undelivered::Refused { why })) => {
                let subject = subject(*signal, &run.to_string());
                let failure = CommandFailure::new(Exit::Failed, format!("{subject} not taken: {why}"));
                failed = failed.or(Some(failure.hint("the same command sends it again, with the same ids")));
            }
        }
    }
    tell(console, args.format, &run.to_string(), &all)?;
    let refused = all.iter().find(|exported| exported.delivered.refused > 0).map(|exported| {
        let what = plural(exported.delivered.refused, item(exported.signal));
        let why = exported.delivered.why.clone().unwrap_or_default();
        CommandFailure::new(Exit::Failed, format!("the receiver refused {what}: {why}"))
    });
    failed.or(refused).map_or(Ok(Exit::Success), Err)
}

fn tell(console: &Console, format: Format, run: &str, all: &[Exported]) -> Result<(), CommandFailure> {
    if format == Format::Json {
        let mut record = Map::from_iter([("run".to_owned(), Value::from(run))]);
        for Exported { signal, items, open, delivered } in all {
            let told =
                json!({"sent": items, "open": open, "refused": delivered.refused, "problem": delivered.why});
            record.insert(signal.word().to_owned(), told);
        }
        return console.json(&record);
    }
    let sent: Vec<_> = all.iter().map(|one| plural(one.items, item(one.signal))).collect();
    if !sent.is_empty() {
        console.conclude(&format!("run {run} is exported: {}", sent.join(", ")));
    }
    let open = all.iter().map(|exported| exported.open).sum::<u64>();
    if open > 0 {
        console.warn(&format!("{} of them stand for what has not ended", plural(open, "span")));
    }
    Ok(())
}

/// What a signal is made of.
fn item(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "span",
        Signal::Metrics => "data point",
        Signal::Logs => "log record",
    }
}

fn subject(signal: Signal, run: &str) -> String {
    match signal {
        Signal::Traces => format!("the trace of run {run} was"),
        Signal::Metrics => format!("the metrics of run {run} were"),
        Signal::Logs => format!("the log records of run {run} were"),
    }
}
