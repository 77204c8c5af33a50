//! Brings the index into line with the folders of the runs, and with the owners that are alive.
//!
//! Three kinds of runs are looked at: those without a line, those whose line says that they have not ended and whose folder says
//! something else than the line, and those that no journal could be read of. A long journal of an open run is read from where it
//! was read last.

use super::row::{RunRow, Summary};
use super::store::{Cursor, Index, Line};
use crate::state::is_being_made;
use crate::tip::Tip;
use crate::{Blocked, Error, Reader, StateDir, blocked, live_owner};
use convoke_model::{RunId, RunStatus, Stamped};

/// So many events are read again rather than kept track of.
const SHORT: u64 = 512;

impl Index {
    /// Forgets everything and reads every journal again.
    pub fn rebuild(&mut self) -> Result<Vec<RunRow>, Error> {
        self.forget()?;
        self.list()
    }

    /// Brings the line of one run up to date, without a look at the others.
    pub fn refresh(&mut self, run: &RunId) -> Result<Option<RunRow>, Error> {
        let Some(line) = self.look(run) else { return Ok(None) };
        self.settle(std::slice::from_ref(&line), &[])?;
        Ok(Some(line.row))
    }

    /// Writes the line of a run that this process has driven, from all of its events: its journal need not be read for it.
    pub fn conclude<'a>(
        &mut self,
        run: &RunId,
        events: impl IntoIterator<Item = &'a Stamped>,
    ) -> Result<(), Error> {
        let mut summary = Summary::new(run);
        events.into_iter().for_each(|event| summary.add(event));
        let (words, events) = (Some(summary.words()), summary.events());
        let mut row = summary.row();
        let driven = self.is_driven(run);
        // Another process may have gone on with it meanwhile.
        if driven || Tip::read(&self.state.run_dir(run)).map(|tip| tip.seq) != Some(events) {
            return self.refresh(run).map(drop);
        }
        (row.status, row.blocked) = stands(&self.state, run, row.status, driven);
        row.running = 0;
        self.settle(&[Line { row, words, driven, cursor: None }], &[])
    }

    /// What is different from what the lines say, written down.
    pub(super) fn bring_into_line(&mut self) -> Result<(), Error> {
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        let mut known = self.known()?.into_iter().peekable();
        for run in self.state.folders()? {
            while let Some((name, _)) = known.next_if(|(name, _)| **name < *run.0) {
                gone.push(RunId(name.into()));
            }
            let line = match known.next_if(|(name, _)| **name == *run.0) {
                Some((_, true)) => None,
                Some((_, false)) => self.renew(&run)?,
                None if is_being_made(&self.state.run_dir(&run)) => None,
                None => self.look(&run),
            };
            changed.extend(line);
        }
        gone.extend(known.map(|(name, _)| RunId(name.into())));
        match self.settle(&changed, &gone) {
            // The index is an aid: a list works without room on the disk.
            Err(Error::DiskFull { .. }) => {
                self.leave_the_disk()?;
                self.settle(&changed, &gone)
            }
            settled => settled,
        }
    }

    /// The line of a run that has not ended, if it is another one now.
    fn renew(&mut self, run: &RunId) -> Result<Option<Line>, Error> {
        let Some(row) = self.get(run)?.filter(|row| row.problem.is_none()) else { return Ok(self.look(run)) };
        let was_driven = row.status == RunStatus::Running;
        let acknowledged = Tip::read(&self.state.run_dir(run)).map(|tip| tip.seq);
        let same =
            acknowledged == Some(row.events) && self.is_driven(run) == was_driven && !row.status.is_end();
        let same = same && blocked(&self.state, run) == row.blocked;
        Ok(if same { None } else { self.look(run) })
    }

    fn is_driven(&self, run: &RunId) -> bool {
        matches!(live_owner(&self.state, run), Ok(Some(_)))
    }

    /// Reads a run's line from its journal. A journal that cannot be read is listed with the reason.
    fn look(&mut self, run: &RunId) -> Option<Line> {
        let driven = self.is_driven(run);
        let acknowledged = Tip::read(&self.state.run_dir(run)).map_or(0, |tip| tip.seq);
        let mut summary = Summary::new(run);
        let read = Reader::open(&self.state, run).and_then(|reader| {
            let from = self.cursor(run).filter(|cursor| reader.ends_at(cursor.seq) == Some(cursor.hash));
            let start = from.as_ref().map_or(0, |cursor| cursor.seq);
            summary = from.map_or_else(|| Summary::new(run), |cursor| cursor.summary);
            reader.read(start + 1, &mut |event| summary.add(&event))?;
            let long = summary.events() - start >= SHORT;
            Ok(long.then(|| reader.ends_at(summary.events())).flatten())
        });
        let (words, events) = (Some(summary.words()), summary.events());
        let cursor = read.as_ref().ok().copied().flatten();
        let cursor = cursor.map(|hash| Cursor { seq: events, hash, summary: summary.clone() });
        let mut row = summary.row();
        match read {
            Ok(_) if events < acknowledged => {
                row.problem = Some(Error::Lost { run: run.clone(), last: events, acknowledged }.to_string());
            }
            Ok(_) => {}
            Err(Error::UnknownRun { .. }) => return None,
            Err(_) if driven && row.total == 0 => return None, // it is being made
            Err(error) => row.problem = Some(error.to_string()),
        }
        (row.status, row.blocked) = stands(&self.state, run, row.status, driven);
        if !driven {
            row.running = 0;
        }
        Some(Line { row, words, driven, cursor })
    }
}

/// How a run stands whose journal ends with `recorded`: a journal cannot tell that its writer died or waits for the machine.
pub fn stands(
    state: &StateDir,
    run: &RunId,
    recorded: RunStatus,
    driven: bool,
) -> (RunStatus, Option<Blocked>) {
    let blocked = if recorded.is_end() { None } else { blocked(state, run) };
    match blocked {
        Some(why) => (RunStatus::Blocked, Some(why)),
        None if recorded == RunStatus::Running && !driven => (RunStatus::Interrupted, None),
        None => (recorded, None),
    }
}
