//! Removes old runs.

use super::{Index, RunRow};
use crate::owner::claim;
use crate::{Error, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{RunId, Timestamp};
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

/// Which runs go. One that is driven right now never does, nor one that another run was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prune {
    /// So many of the newest stay.
    pub keep_last: usize,
    /// Only those that ended (or, without an end, started) before this.
    pub older_than: Option<Timestamp>,
    /// Only those that came to their end.
    pub only_ended: bool,
    /// Say which, but leave them.
    pub dry_run: bool,
}

/// A run on its way out; the dot keeps it out of listings should we be stopped half way.
const LEAVING: &str = ".leaving-";

impl Index {
    /// Removes runs, or says which would be; answers with them, newest first.
    pub fn prune(&mut self, policy: &Prune) -> Result<Vec<RunRow>, Error> {
        let listed = self.list()?;
        let bases: HashSet<RunId> = listed.iter().filter_map(|row| row.base.clone()).collect();
        let candidates = listed
            .into_iter()
            .skip(policy.keep_last)
            .filter(|row| policy.wants(row) && !bases.contains(&row.id));
        let mut removed = Vec::new();
        for row in candidates.collect::<Vec<_>>() {
            if self.take_away(&row.id, policy.dry_run)? {
                removed.push(row);
            }
        }
        if !policy.dry_run {
            sweep(&self.state);
        }
        Ok(removed)
    }

    /// Whether the run is (or would be) gone; not if a process drives it.
    fn take_away(&mut self, run: &RunId, dry_run: bool) -> Result<bool, Error> {
        let dir = self.state.run_dir(run);
        let Some(_claim) = claim(&dir)? else { return Ok(false) };
        if dry_run {
            return Ok(true);
        }
        failpoint!("prune.run.claimed");
        fs::rename(&dir, leaving(&self.state, run)).map_err(Error::io("remove", &dir))?;
        failpoint!("prune.run.renamed");
        self.remove(run)?;
        failpoint!("prune.run.unlisted");
        Ok(true)
    }
}

impl Prune {
    fn wants(&self, row: &RunRow) -> bool {
        let last = row.finished_at.unwrap_or(row.started_at);
        (row.status.is_end() || !self.only_ended) && self.older_than.is_none_or(|cut| last < cut)
    }
}

fn leaving(state: &StateDir, run: &RunId) -> PathBuf {
    state.runs_dir().join(format!("{LEAVING}{run}"))
}

/// Deletes what was renamed, now or by an earlier prune that was stopped. What cannot be deleted is tried next time.
fn sweep(state: &StateDir) {
    let Ok(entries) = fs::read_dir(state.runs_dir()) else { return };
    let leaving = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(LEAVING));
    leaving.for_each(|entry| {
        fs::remove_dir_all(entry.path()).ok();
        failpoint!("prune.run.deleted");
    });
}
