//! Which runs of a state directory have something new.
//!
//! A run that has not ended is asked each time, by its tip. A run that has ended may be opened again, or be replaced by an import: such
//! runs are looked through now and then, by the dates of their tips. Opens no journal.

use crate::cursors::Cursor;
use convoke_journal::{StateDir, acknowledged, touched};
use convoke_model::{RunId, Timestamp};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

/// How often runs that have ended are looked at.
const SWEEP: Duration = Duration::from_secs(10);

/// What is known of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// How far it was read.
    cursor: Cursor,
    /// The date of its tip by then.
    touched: Option<Timestamp>,
    /// Whether its journal was looked at by this process.
    was_read: bool,
    /// Whether nothing was left to deliver when it was looked at last.
    at_rest: bool,
    /// Whether its journal could not be read.
    is_damaged: bool,
}

/// A run that is gone.
#[derive(Debug, PartialEq, Eq)]
pub struct Gone {
    /// Which.
    pub run: RunId,
    /// Whether some of it was not delivered.
    pub undelivered: bool,
}

/// The runs, as far as a receiver is concerned.
pub struct Runs {
    state: StateDir,
    known: HashMap<RunId, Known>,
    /// The date of the folder when its names were read last.
    listed: Option<SystemTime>,
    swept: Option<Instant>,
}

impl Runs {
    /// Runs that were delivered so far.
    pub fn new(state: &StateDir, cursors: HashMap<RunId, Cursor>) -> Runs {
        let known = cursors.into_iter().map(|(run, cursor)| (run, Known { cursor, ..Known::default() }));
        Runs { state: state.clone(), known: known.collect(), listed: None, swept: None }
    }

    /// How far a run was delivered.
    pub fn cursor(&self, run: &RunId) -> Cursor {
        self.known.get(run).map(|known| known.cursor).unwrap_or_default()
    }

    /// Runs that were never seen and whose last event was before this moment count as read. Answers with them.
    pub fn pass_over(&mut self, since: Timestamp) -> Vec<(RunId, Cursor)> {
        let unknown = self.names().into_iter().filter(|run| !self.known.contains_key(run));
        let old = unknown.filter_map(|run| {
            let at = touched(&self.state, &run).filter(|touched| *touched < since)?;
            let seq = acknowledged(&self.state, &run)?;
            Some((run, at, Cursor { seq, at: Timestamp(0), ended: true }))
        });
        let old: Vec<_> = old.collect();
        for (run, at, cursor) in &old {
            let touched = Some(*at).filter(|date| is_settled(*date));
            let known = Known { cursor: *cursor, touched, was_read: true, at_rest: true, is_damaged: false };
            self.known.insert(run.clone(), known);
        }
        old.into_iter().map(|(run, _, cursor)| (run, cursor)).collect()
    }

    /// Runs that have something new, by name, and those that are gone.
    pub fn look(&mut self) -> (Vec<RunId>, Vec<Gone>) {
        let sweeps = self.swept.is_none_or(|at| at.elapsed() >= SWEEP);
        let gone = if self.is_changed() || sweeps { self.list() } else { Vec::new() };
        if sweeps {
            self.swept = Some(Instant::now());
        }
        let mut due: Vec<_> = self
            .known
            .iter()
            .filter(|(run, known)| self.is_due(run, known, sweeps))
            .map(|(run, _)| run.clone())
            .collect();
        due.sort();
        for run in &due {
            if let Some(known) = self.known.get_mut(run) {
                known.at_rest = false;
            }
        }
        (due, gone)
    }

    /// Has every run looked at with the next look, whatever was seen before.
    pub fn look_again(&mut self) {
        self.swept = None;
    }

    /// Notes how far a run is delivered; there may be more of it.
    pub fn is_delivered(&mut self, run: &RunId, cursor: Cursor) {
        self.known.entry(run.clone()).or_default().cursor = cursor;
    }

    /// Notes that a run was read to its end.
    pub fn rests(&mut self, run: &RunId, cursor: Cursor, touched: Option<Timestamp>) {
        let touched = touched.filter(|date| is_settled(*date));
        let known = Known { cursor, touched, was_read: true, at_rest: true, is_damaged: false };
        self.known.insert(run.clone(), known);
    }

    /// Notes that a run cannot be read; it is looked at again when its journal has changed.
    pub fn is_damaged(&mut self, run: &RunId, touched: Option<Timestamp>) {
        let cursor = self.cursor(run);
        self.known
            .insert(run.clone(), Known { cursor, touched, was_read: true, at_rest: false, is_damaged: true });
    }

    fn is_due(&self, run: &RunId, known: &Known, sweeps: bool) -> bool {
        let was_touched = || touched(&self.state, run) != known.touched;
        let has_more = || match acknowledged(&self.state, run) {
            Some(seq) => seq != known.cursor.seq,
            // Without a tip only the journal itself tells.
            None => !known.was_read || was_touched(),
        };
        match known {
            Known { is_damaged: true, .. } => sweeps && was_touched(),
            Known { cursor: Cursor { ended: true, .. }, touched: Some(_), .. } => sweeps && was_touched(),
            Known { cursor: Cursor { ended: true, .. }, .. } => sweeps && has_more(),
            _ => has_more(),
        }
    }

    /// Whether names were added or removed since they were read last. A name that comes while it is looked may have the same date,
    /// so a young date is not believed.
    fn is_changed(&self) -> bool {
        let date =
            std::fs::metadata(self.state.path().join("runs")).and_then(|folder| folder.modified()).ok();
        let is_young = |date: SystemTime| date.elapsed().is_ok_and(|age| age < Duration::from_secs(2));
        date != self.listed || date.is_some_and(is_young)
    }

    /// Reads the names. Answers with the runs that are gone.
    fn list(&mut self) -> Vec<Gone> {
        let listed =
            std::fs::metadata(self.state.path().join("runs")).and_then(|folder| folder.modified()).ok();
        // A folder that cannot be listed at this moment has lost no run; it is listed later.
        let Ok(names) = self.state.runs() else { return Vec::new() };
        self.listed = listed;
        let is_there = |run: &RunId| names.binary_search(run).is_ok();
        let gone: Vec<_> = self
            .known
            .iter()
            .filter(|(run, _)| !is_there(run))
            .map(|(run, known)| Gone { run: run.clone(), undelivered: !known.cursor.ended && !known.at_rest })
            .collect();
        for gone in &gone {
            self.known.remove(&gone.run);
        }
        for run in names {
            self.known.entry(run).or_default();
        }
        gone
    }

    /// What cannot be listed now is listed later.
    fn names(&self) -> Vec<RunId> {
        self.state.runs().unwrap_or_default()
    }
}

/// Whether what is written now has another date: dates of files are not exact.
fn is_settled(date: Timestamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() > u128::from(date.0) + 2_000_000
}
