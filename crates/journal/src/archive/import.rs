//! Makes a run of a file.

use super::content::{Content, Manifest};
use super::draft::Draft;
use super::envelope;
use super::export::hex;
use crate::inbox::restore;
use crate::record::Chain;
use crate::run_id::is_safe;
use crate::sqlite::whole::{self, Whole};
use crate::state::private_file;
use crate::tip::TipFile;
use crate::{Error, Index, Reader, StateDir, disk, verify};
use convoke_failpoint::failpoint;
use convoke_model::RunId;
use std::io::{self, Read};
use std::path::Path;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The run.
    pub run: RunId,
    /// Its last event.
    pub events: u64,
    /// Blobs.
    pub blobs: u64,
    /// Messages that wait for it.
    pub messages: u64,
    /// Whether a process drove it when it was exported: there may be later events elsewhere.
    pub live: bool,
    /// Whether the same run was there already, so that nothing was done.
    pub was_there: bool,
}

/// Makes a run of what an export holds. `shown` is the name that people know it by. Refused, with nothing left behind: whatever is no
/// whole export, whatever does not verify, and a run whose name is taken by another one.
pub fn import(state: &StateDir, given: &mut dyn Read, shown: &Path) -> Result<Imported, Error> {
    let draft = Draft::new(state, "import")?;
    failpoint!("import.draft_made");
    let (export, content) = (draft.file("export"), draft.file("content.db"));
    let mut copy = private_file(&export)?;
    io::copy(given, &mut copy).map_err(Error::io("read", shown))?;
    failpoint!("import.taken_in");
    envelope::unpack(&export, shown, &content)?;
    failpoint!("import.unpacked");
    let found = Content::open(&content, shown)?;
    let manifest = found.manifest()?;
    let run = RunId(manifest.run.as_str().into());
    if !is_safe(&run) {
        return Err(found.refuse("the name of its run is no name of a run"));
    }
    let imported = |was_there| Imported {
        run: run.clone(),
        events: manifest.events,
        blobs: manifest.blobs,
        messages: manifest.messages,
        live: manifest.live,
        was_there,
    };
    if state.run_dir(&run).exists() {
        return match is_same(state, &run, &manifest) {
            true => Ok(imported(true)),
            false => Err(Error::RunExists { run }),
        };
    }
    let dir = draft.run_dir(&run)?;
    let whole = whole::copy_file(&content, &run, &dir.join("journal.db"))
        .map_err(|error| as_refusal(error, shown))?;
    failpoint!("import.copied");
    complete(&found, &manifest, &whole, &dir)?;
    failpoint!("import.completed");
    verify(&draft.state(), &run).map_err(|error| as_refusal(error, shown))?;
    disk::sync_folder(&dir).map_err(Error::io("sync", &dir))?;
    failpoint!("import.verified");
    let target = state.run_dir(&run);
    disk::rename(&dir, &target).map_err(|error| match error.kind() {
        // A rename does not replace a folder that holds something.
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
            Error::RunExists { run: run.clone() }
        }
        _ => Error::io("make", &target)(error),
    })?;
    failpoint!("import.renamed");
    state.sync_names()?;
    failpoint!("import.named");
    // A list finds it by itself.
    Index::open(state).and_then(|mut index| index.refresh(&run)).ok();
    failpoint!("import.listed");
    Ok(imported(false))
}

/// Everything besides the journal, after a look at what was copied.
fn complete(found: &Content<'_>, manifest: &Manifest, whole: &Whole, dir: &Path) -> Result<(), Error> {
    if (whole.last, &hex(&whole.hash), whole.blobs) != (manifest.events, &manifest.hash, manifest.blobs) {
        return Err(found.refuse("its journal is not the one that its manifest names"));
    }
    let tip = TipFile::open(dir)?;
    if whole.last > 0 {
        tip.note(&Chain { next: whole.last + 1, epoch: 0, hash: whole.hash })?;
    }
    let messages = found.messages()?;
    if !messages.is_empty() {
        restore(dir, &messages)?;
    }
    let log_bytes = found.write_log(&dir.join("log"))?;
    if (messages.len() as u64, log_bytes) != (manifest.messages, manifest.log_bytes) {
        return Err(found.refuse("its messages or its log are not what its manifest names"));
    }
    Ok(())
}

/// Whether the run that is there has the same events, to the last one.
fn is_same(state: &StateDir, run: &RunId, manifest: &Manifest) -> bool {
    let Ok(reader) = Reader::open(state, run) else { return false };
    reader.last() == manifest.events
        && reader.ends_at(manifest.events).map(|hash| hex(&hash)) == Some(manifest.hash.clone())
        && verify(state, run).is_ok()
}

/// Damage of the content is damage of the file that it came in.
fn as_refusal(error: Error, shown: &Path) -> Error {
    match error {
        Error::DiskFull { .. } | Error::Busy { .. } | Error::Io { .. } => error,
        Error::Newer { found, known, .. } => Error::Newer { path: shown.to_owned(), found, known },
        other => Error::Archive { path: shown.to_owned(), why: other.to_string() },
    }
}
