//! Removes runs that are no longer wanted.
//!
//! Every part of a policy narrows it, so that no run goes that one part would keep. A run goes in two steps: its folder gets a
//! name that is no run's, which is the moment it is gone, and then the folder is deleted (`sweep`). A prune that is killed in
//! between leaves folders that no list shows and that the next prune deletes.
//!
//! Kept true: a run that a process drives stays, and so does one that another was forked from, and one that has changed since its
//! line was made, or has a command that goes on.

use super::sweep::{self, Leaving};
use super::{Index, RunRow};
use crate::disk;
use crate::owner::claim;
use crate::tip::Tip;
use crate::{Error, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{RunId, RunStatus, Timestamp};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a run's folder has the records of commands that outlive the engine; each has a file `lock`, which is held while the
/// command's supervisor lives.
pub const COMMANDS: &str = "commands";

/// Which runs go: those that fit every part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prune {
    /// Only runs that stand so; if there is none, any that `unfinished` allows.
    pub status: Vec<RunStatus>,
    /// Only runs of the workflow of this name.
    pub workflow: Option<String>,
    /// Only runs that were started in this folder or below.
    pub below: Option<PathBuf>,
    /// So many of the newest that fit the parts above stay.
    pub keep_last: usize,
    /// Only those whose last event is older than this.
    pub older_than: Option<Timestamp>,
    /// Only as many, the oldest first, as it takes until all runs (all `below`) need no more than this, in bytes.
    pub max_bytes: Option<u64>,
    /// Runs that wait for a person, were interrupted or cannot be read may go, too. Otherwise only those that have ended do.
    pub unfinished: bool,
    /// Say which, but leave them.
    pub dry_run: bool,
    /// Stop after this long; what is left is for the next time.
    pub within: Option<Duration>,
}

/// What a prune did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs that went, newest first.
    pub removed: Vec<Removed>,
    /// What the runs that stay need, in bytes, where a size was asked for.
    pub left: Option<u64>,
    /// Runs that fitted and stay: others were forked from them.
    pub bases: u64,
    /// Runs that fitted and stay: a process drives them, or they changed meanwhile.
    pub busy: u64,
    /// Runs that fitted but for having ended, and stay.
    pub unfinished: u64,
    /// Whether the time was over before all were looked at.
    pub cut_short: bool,
}

/// A run that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its line.
    pub row: RunRow,
    /// What its folder needed on the disk, in bytes.
    pub bytes: u64,
}

/// So many folders are renamed before their names are made durable and they are deleted.
const AT_ONCE: usize = 16;

impl Index {
    /// Removes runs, or says which would be.
    pub fn prune(&mut self, policy: &Prune) -> Result<Pruned, Error> {
        let until = policy.within.and_then(|time| Instant::now().checked_add(time));
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        let mut rows = self.list()?;
        rows.retain(|row| policy.covers(row));
        let bases: HashSet<RunId> = self.bases()?.into_iter().collect();
        let mut pruned = Pruned::default();
        let mut left = policy.max_bytes.map(|_| rows.iter().map(|row| self.bytes(&row.id)).sum::<u64>());
        let stays =
            |row: &&RunRow| policy.names(row) && !policy.may_take(row) && row.status != RunStatus::Running;
        pruned.unfinished = rows.iter().filter(stays).count() as u64;
        let mut fitting: Vec<RunRow> = rows.into_iter().filter(|row| policy.selects(row)).collect();
        fitting.drain(..policy.keep_last.min(fitting.len()));
        fitting.retain(|row| policy.older_than.is_none_or(|cut| ended(row) < cut));
        fitting.sort_by(|a, b| (ended(a), &a.id).cmp(&(ended(b), &b.id)));
        let mut batch = Vec::new();
        for row in fitting {
            if policy.max_bytes.zip(left).is_some_and(|(most, left)| left <= most) {
                break;
            }
            pruned.cut_short = is_over();
            if pruned.cut_short {
                break;
            }
            if bases.contains(&row.id) {
                pruned.bases += 1;
                continue;
            }
            let bytes = self.bytes(&row.id);
            if !self.take_away(&row, policy.dry_run)? {
                pruned.busy += 1;
                continue;
            }
            left = left.map(|left| left.saturating_sub(bytes));
            batch.push(row.id.clone());
            pruned.removed.push(Removed { row, bytes });
            if batch.len() == AT_ONCE && !policy.dry_run {
                self.finish(&std::mem::take(&mut batch))?;
            }
        }
        if !policy.dry_run {
            self.finish(&batch)?;
            sweep::everything(&self.state);
        }
        pruned.left = left;
        pruned.removed.sort_by(|a, b| (b.row.started_at, &b.row.id).cmp(&(a.row.started_at, &a.row.id)));
        Ok(pruned)
    }

    /// What a run needs on the disk, with the copies that repairs of it have kept.
    fn bytes(&self, run: &RunId) -> u64 {
        let kept = sweep::kept_by_repairs(&self.state, run);
        sweep::bytes_below(&self.state.run_dir(run))
            + kept.iter().map(|dir| sweep::bytes_below(dir)).sum::<u64>()
    }

    /// Whether the run is (or would be) gone; not if a process drives it or has driven it since its line was made, or a command of
    /// it goes on without one.
    fn take_away(&mut self, row: &RunRow, dry_run: bool) -> Result<bool, Error> {
        let dir = self.state.run_dir(&row.id);
        let Some(_claim) = claim_existing(&dir)? else { return Ok(false) };
        let has_changed = Tip::read(&dir).is_some_and(|tip| tip.seq != row.events) && row.problem.is_none();
        if has_changed || has_survivors(&dir) {
            return Ok(false);
        }
        if dry_run {
            return Ok(true);
        }
        failpoint!("prune.run.claimed");
        disk::rename(&dir, &Leaving::of(&self.state, &row.id)).map_err(Error::io("remove", &dir))?;
        failpoint!("prune.run.renamed");
        Ok(true)
    }

    /// The runs are gone for good, and their room is given back.
    fn finish(&mut self, runs: &[RunId]) -> Result<(), Error> {
        if runs.is_empty() {
            return Ok(());
        }
        self.state.sync_names()?;
        match self.settle(&[], runs) {
            // The next list finds out.
            Err(Error::DiskFull { .. } | Error::Busy { .. }) => {}
            settled => settled?,
        }
        failpoint!("prune.run.unlisted");
        for run in runs {
            sweep::run(&self.state, run);
            failpoint!("prune.run.deleted");
        }
        Ok(())
    }
}

/// The claim on a run; `None` if a process drives it, or another prune was first.
fn claim_existing(dir: &Path) -> Result<Option<std::fs::File>, Error> {
    match claim(dir) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        claimed => claimed,
    }
}

/// Whether a command of the run goes on without an engine: without its folder nothing could stop it, or tell what it did.
fn has_survivors(dir: &Path) -> bool {
    let slots = std::fs::read_dir(dir.join(COMMANDS)).into_iter().flatten().flatten();
    slots.filter_map(|slot| std::fs::File::open(slot.path().join("lock")).ok()).any(|lock| {
        let shared = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared);
        shared.is_err()
    })
}

/// When a run came to its end, or to rest.
fn ended(row: &RunRow) -> Timestamp {
    row.finished_at.unwrap_or(row.last_at)
}

impl Prune {
    /// Whether a run is one of those that the policy is about.
    fn covers(&self, row: &RunRow) -> bool {
        self.below.as_ref().is_none_or(|folder| Path::new(&row.folder).starts_with(folder))
    }

    fn selects(&self, row: &RunRow) -> bool {
        self.may_take(row) && self.names(row)
    }

    fn may_take(&self, row: &RunRow) -> bool {
        let has_ended = row.status.is_end() && row.problem.is_none();
        has_ended || self.unfinished && row.status != RunStatus::Running
    }

    fn names(&self, row: &RunRow) -> bool {
        (self.status.is_empty() || self.status.contains(&row.status))
            && self.workflow.as_ref().is_none_or(|name| is_of(row, name))
    }
}

/// Whether a run is of the workflow of this name. The line of a goal has the goal behind the name.
fn is_of(row: &RunRow, name: &str) -> bool {
    row.workflow.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

impl Leaving {
    fn of(state: &StateDir, run: &RunId) -> PathBuf {
        state.runs_dir().join(Leaving::name(run))
    }
}
