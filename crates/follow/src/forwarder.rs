//! Brings one receiver up to date with the runs of a state directory.
//!
//! Invariant: runs are read and delivered one batch at a time, so memory does not grow with what there is to deliver.

use crate::cursors::{Cursor, Cursors};
use crate::runs::{Gone, Runs};
use crate::tail::{Read, Tail};
use crate::{Consumer, Delivered, Error, Lease, Standing, Totals, Undelivered, Urgency};
use convoke_journal::{StateDir, blocked, live_owner, touched};
use convoke_model::{RunId, Timestamp};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// From when on events are delivered to a receiver that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From this moment on: a receiver is not told what happened before it was named.
    From(Timestamp),
    /// From the beginning of all runs that are there.
    Ever,
}

impl Since {
    /// From now on.
    pub fn now() -> Since {
        Since::From(now())
    }
}

/// What a pass over all runs came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    /// Items that were delivered.
    pub delivered: u64,
    /// Items that the receiver did not want.
    pub refused: u64,
    /// The receiver could not be reached, and is to be left alone for so long (`None`: as the sender thinks fit).
    pub undelivered: Option<Option<Duration>>,
}

/// Batches of one run before the others have their turn.
const BATCHES: usize = 64;

/// Folds of runs that are kept in memory.
const TAILS: usize = 256;

/// How often it is looked how runs stand that say nothing.
const STANDING: Duration = Duration::from_secs(5);

/// Delivers to one receiver. There is one at a time, because it holds the lease.
pub struct Forwarder<C: Consumer> {
    consumer: C,
    state: StateDir,
    cursors: Cursors,
    since: Timestamp,
    runs: Runs,
    tails: HashMap<RunId, Tail<C::Item>>,
    stood: Instant,
    _lease: Lease,
}

impl<C: Consumer> Forwarder<C> {
    /// Takes up where the last process stopped. `label` tells people which receiver it is.
    pub fn open(
        state: &StateDir,
        consumer: C,
        label: &str,
        since: Since,
        lease: Lease,
    ) -> Result<Forwarder<C>, Error> {
        let from = match since {
            Since::From(moment) => moment,
            Since::Ever => Timestamp(0),
        };
        let mut cursors = Cursors::open(state, consumer.name(), label, from)?;
        let since = cursors.since()?;
        let mut runs = Runs::new(state, cursors.all()?);
        let old = runs.pass_over(since);
        cursors.keep_all(old.iter().map(|(run, cursor)| (run, *cursor)))?;
        let (state, tails) = (state.clone(), HashMap::new());
        Ok(Forwarder { consumer, state, cursors, since, runs, tails, stood: Instant::now(), _lease: lease })
    }

    /// Delivers what is new of every run. Dropped on the way, it has delivered some of it.
    pub async fn pass(&mut self) -> Result<Pass, Error> {
        self.deliver(Urgency::WhenDue).await
    }

    /// The same before an end: it looks at every run, and nothing waits for a better time.
    pub async fn last_pass(&mut self) -> Result<Pass, Error> {
        self.runs.look_again();
        self.deliver(Urgency::Now).await
    }

    async fn deliver(&mut self, urgency: Urgency) -> Result<Pass, Error> {
        let mut pass = Pass::default();
        let (mut due, gone) = self.runs.look();
        self.forget(gone)?;
        due.extend(self.stand(&due));
        for run in due {
            self.advance(&run, &mut pass).await?;
            if pass.undelivered.is_some() {
                break;
            }
        }
        self.make_room();
        if pass.undelivered.is_none() {
            self.deliver_totals(urgency, &mut pass).await?;
        }
        Ok(pass)
    }

    async fn deliver_totals(&mut self, urgency: Urgency, pass: &mut Pass) -> Result<(), Error> {
        match self.consumer.deliver_totals(urgency).await {
            Ok(Totals { items: 0, .. }) => {}
            Ok(Totals { items, delivered }) => self.count(items, &delivered, pass)?,
            Err(Undelivered::Refused { why }) => {
                self.count(1, &Delivered { refused: 1, why: Some(why) }, pass)?;
            }
            Err(Undelivered::Later { why, after }) => {
                self.cursors.failed(&why, now())?;
                pass.undelivered = Some(after);
            }
        }
        Ok(())
    }

    fn count(&self, items: u64, delivered: &Delivered, pass: &mut Pass) -> Result<(), Error> {
        let taken = items.saturating_sub(delivered.refused);
        self.cursors.delivered(taken, delivered.refused, delivered.why.as_deref(), now())?;
        pass.delivered += taken;
        pass.refused += delivered.refused;
        Ok(())
    }

    /// Reads a run on and delivers it, batch by batch.
    async fn advance(&mut self, run: &RunId, pass: &mut Pass) -> Result<(), Error> {
        for _ in 0..BATCHES {
            let date = touched(&self.state, run);
            let tail = self.tails.entry(run.clone()).or_insert_with(|| Tail::new(run, self.runs.cursor(run)));
            let mut read = Read::More;
            if tail.pending.is_empty() {
                read = match tail.read(&self.consumer, &self.state, self.since) {
                    Ok(read) => read,
                    Err(error) => return self.skip(run, date, &error),
                };
            }
            if tail.pending.is_empty() {
                if read == Read::End {
                    return self.rest(run, date);
                }
                continue;
            }
            let outcome = self.consumer.deliver(run, &tail.pending).await;
            if !self.settle(run, outcome, pass)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Notes what became of a delivery; whether the next one may follow.
    fn settle(
        &mut self,
        run: &RunId,
        outcome: Result<Delivered, Undelivered>,
        pass: &mut Pass,
    ) -> Result<bool, Error> {
        let Some(tail) = self.tails.get_mut(run) else { return Ok(true) };
        let items = tail.pending.len() as u64;
        let delivered = match outcome {
            Ok(delivered) => delivered,
            Err(Undelivered::Refused { why }) => Delivered { refused: items, why: Some(why) },
            Err(Undelivered::Later { why, after }) => {
                self.cursors.failed(&why, now())?;
                pass.undelivered = Some(after);
                return Ok(false);
            }
        };
        let cursor = tail.delivered();
        self.cursors.keep(run, cursor)?;
        self.runs.is_delivered(run, cursor);
        self.count(items, &delivered, pass)?;
        Ok(true)
    }

    /// A run was read to its end. That it has ended is kept, so that later processes need not read it again.
    fn rest(&mut self, run: &RunId, date: Option<Timestamp>) -> Result<(), Error> {
        let Some(tail) = self.tails.get(run) else { return Ok(()) };
        let cursor = tail.folded();
        if cursor.ended {
            self.tails.remove(run);
            if self.runs.cursor(run) != cursor {
                self.cursors.keep(run, cursor)?;
            }
        }
        self.runs.rests(run, cursor, date);
        Ok(())
    }

    /// A journal that cannot be read must not hold up the others.
    fn skip(
        &mut self,
        run: &RunId,
        date: Option<Timestamp>,
        error: &convoke_journal::Error,
    ) -> Result<(), Error> {
        self.tails.remove(run);
        self.runs.is_damaged(run, date);
        match error {
            // It went while it was looked at.
            convoke_journal::Error::UnknownRun { .. } => Ok(()),
            error => self.cursors.note_problem(run, &error.to_string()),
        }
    }

    fn forget(&mut self, gone: Vec<Gone>) -> Result<(), Error> {
        for Gone { run, undelivered } in gone {
            self.tails.remove(&run);
            self.consumer.forget(&run);
            self.cursors.forget(&run, undelivered)?;
        }
        Ok(())
    }

    /// Looks how runs stand that say nothing. Answers with those that gave something to deliver.
    fn stand(&mut self, due: &[RunId]) -> Vec<RunId> {
        if self.stood.elapsed() < STANDING {
            return Vec::new();
        }
        self.stood = Instant::now();
        let mut told = Vec::new();
        for (run, tail) in
            self.tails.iter_mut().filter(|(run, tail)| !due.contains(run) && tail.pending.is_empty())
        {
            let live = matches!(live_owner(&self.state, run), Ok(Some(_)));
            tail.stand(&Standing { now: now(), live, blocked: blocked(&self.state, run) });
            told.extend((!tail.pending.is_empty()).then(|| run.clone()));
        }
        told
    }

    /// Runs that say nothing now can be folded again when they do.
    fn make_room(&mut self) {
        let mut surplus = self.tails.len().saturating_sub(TAILS);
        self.tails.retain(|_, tail| {
            let goes = surplus > 0 && tail.pending.is_empty();
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// The receiver.
    pub fn consumer(&self) -> &C {
        &self.consumer
    }

    /// How far a run was delivered.
    pub fn delivered_to(&self, run: &RunId) -> u64 {
        let Cursor { seq, .. } = self.runs.cursor(run);
        seq
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
