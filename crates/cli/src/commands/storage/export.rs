//! `convoke export`: a whole run in one file, to be moved to another machine or kept.

use crate::args::{ExportArgs, Format};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stdio;
use crate::stored;
use crate::view::format::{bytes, plural};
use convoke_failpoint::failpoint;
use convoke_journal::{Error as JournalError, Exported, StateDir, export, private_file};
use convoke_model::RunId;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Stands for standard output and standard input.
pub const STANDARD: &str = "-";

/// Writes the file, or the bytes to standard output.
pub fn run(console: &Console, args: &ExportArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = stored::find(&state, &args.run)?;
    let file = args.file.as_deref().unwrap_or(Path::new(STANDARD));
    let done = match file.as_os_str() == STANDARD {
        true => to_standard_output(&state, &run)?,
        false => to_file(&state, &run, file)?,
    };
    match args.format {
        Format::Json if file.as_os_str() != STANDARD => console.json(&json!({
            "run": run,
            "file": file,
            "bytes": done.bytes,
            "events": done.events,
            "blobs": done.blobs,
            "messages": done.messages,
            "live": done.live,
        }))?,
        _ => console.conclude(&format!(
            "run {run} is exported: {}, {}, {}",
            plural(done.events, "event"),
            plural(done.blobs, "blob"),
            bytes(done.bytes)
        )),
    }
    if done.live {
        console.warn(&format!("a process drives the run: the export ends with event {}", done.events));
    }
    Ok(Exit::Success)
}

fn to_standard_output(state: &StateDir, run: &RunId) -> Result<Exported, CommandFailure> {
    let Some(out) = stdio::bytes() else {
        return Err(CommandFailure::new(Exit::Usage, "an export is no text: standard output is a terminal")
            .hint("name a file, or write to a pipe"));
    };
    Ok(export(state, run, &mut BufWriter::new(out))?)
}

fn to_file(state: &StateDir, run: &RunId, file: &Path) -> Result<Exported, CommandFailure> {
    whole_file(file, |out| Ok(export(state, run, out)?))
}

/// The file appears whole: it is written under another name first.
pub(super) fn whole_file<R>(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<R, CommandFailure>,
) -> Result<R, CommandFailure> {
    if file.exists() {
        let words = format!("`{}` exists already", file.display());
        return Err(CommandFailure::new(Exit::Usage, words).hint("name another file, or remove this one"));
    }
    let unwritable = |error: io::Error| {
        CommandFailure::new(Exit::State, format!("`{}` cannot be written: {error}", file.display()))
    };
    let draft = draft_of(file);
    let opened = private_file(&draft).map_err(|error| match error {
        JournalError::Io { source, .. } => unwritable(source),
        error => error.into(),
    });
    let written = opened.and_then(|out| {
        let mut out = Target { out: BufWriter::new(out), failed: None };
        failpoint!("export.file_begun");
        let done = write(&mut out).map_err(|failure| out.failed.take().map_or(failure, unwritable))?;
        out.flush().and_then(|()| out.out.get_ref().sync_all()).map_err(unwritable)?;
        failpoint!("export.file_synced");
        fs::rename(&draft, file).map_err(unwritable)?;
        failpoint!("export.file_renamed");
        Ok(done)
    });
    if written.is_err() {
        fs::remove_file(&draft).ok();
        return written;
    }
    let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    written
}

/// A file that remembers why it took no more: what writes into it may read another file meanwhile, and name that one.
struct Target {
    out: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

impl Target {
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done {
            self.failed = Some(io::Error::new(error.kind(), error.to_string()));
        }
        done
    }
}

fn draft_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    name.into()
}
