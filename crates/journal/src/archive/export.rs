//! Makes one file of a run.

use super::content::{self, Manifest};
use super::draft::Draft;
use super::envelope;
use crate::sqlite::whole;
use crate::tip::tip_path;
use crate::{Error, Inbox, StateDir, live_owner, verify};
use convoke_failpoint::failpoint;
use convoke_model::RunId;
use std::fs::{self, File};
use std::io::Write;

/// What an export holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The last event.
    pub events: u64,
    /// Blobs.
    pub blobs: u64,
    /// Messages that wait for the run.
    pub messages: u64,
    /// Whether a process drives the run: it has gone on since.
    pub live: bool,
    /// The length of the file.
    pub bytes: u64,
}

/// Writes a run as one file, as it stands at one moment. The copy is verified before the first byte is written; a run that is
/// damaged is refused.
pub fn export(state: &StateDir, run: &RunId, out: &mut dyn Write) -> Result<Exported, Error> {
    let dir = state.existing(run)?;
    let draft = Draft::new(state, "export")?;
    failpoint!("export.draft_made");
    let live = live_owner(state, run)?.is_some();
    let copy_dir = draft.run_dir(run)?;
    // Before the records: the copy has everything that was acknowledged by now.
    if let Ok(tip) = fs::read(tip_path(&dir)) {
        let path = tip_path(&copy_dir);
        fs::write(&path, tip).map_err(Error::io("write", &path))?;
    }
    let messages = Inbox::kept(state, run)?;
    let copy = copy_dir.join("journal.db");
    let whole = whole::copy(state, run, &copy)?;
    failpoint!("export.copied");
    verify(&draft.state(), run)?;
    failpoint!("export.verified");
    let manifest = Manifest {
        run: run.to_string(),
        events: whole.last,
        hash: hex(&whole.hash),
        blobs: whole.blobs,
        messages: 0,
        log_bytes: 0,
        live,
    };
    content::add(&copy, &manifest, &messages, File::open(dir.join("log")).ok())?;
    failpoint!("export.completed");
    let bytes = envelope::pack(&copy, out)?;
    failpoint!("export.packed");
    Ok(Exported { events: whole.last, blobs: whole.blobs, messages: messages.len() as u64, live, bytes })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
