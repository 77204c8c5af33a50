//! One run as it is read for a receiver: the fold, how far it has come, and what waits for delivery.
//!
//! A fold begins with the first event, also after a restart; what is given for events that were delivered already is dropped. So no
//! state of a fold is ever stored, and a fold may keep what it likes. An event that is not the one that was there before under its number
//! means another journal (one that was repaired, or imported anew): everything of it is delivered.

use crate::cursors::Cursor;
use crate::{Consumer, Fold, Standing};
use convoke_journal::{Error, Reader, StateDir};
use convoke_model::{BaseKind, Event, RunId, Stamped, Timestamp};

/// Items that are delivered at once.
const BATCH: usize = 128;

/// Events that are read at once.
const EVENTS: usize = 16_384;

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// The end of the journal, for now.
    End,
    /// There may be more.
    More,
}

/// One run for one receiver.
pub struct Tail<T> {
    run: RunId,
    fold: Option<Box<dyn Fold<T>>>,
    /// The last event that was folded.
    folded: Cursor,
    /// The last event that was delivered.
    sent: Cursor,
    /// Events up to here are a copy of another run's.
    copied: u64,
    /// What waits for delivery.
    pub pending: Vec<T>,
}

impl<T> Tail<T> {
    /// A run that was delivered so far.
    pub fn new(run: &RunId, sent: Cursor) -> Tail<T> {
        Tail { run: run.clone(), fold: None, folded: Cursor::default(), sent, copied: 0, pending: Vec::new() }
    }

    /// How far it was read: the cursor, once everything that is pending was delivered.
    pub fn folded(&self) -> Cursor {
        self.folded
    }

    /// Notes that everything that was pending is delivered. Answers with how far the run is delivered now.
    pub fn delivered(&mut self) -> Cursor {
        self.pending.clear();
        if self.folded.seq >= self.sent.seq {
            self.sent = self.folded;
        }
        self.sent
    }

    /// Reads on until there is enough to deliver, or nothing more.
    pub fn read<C: Consumer<Item = T>>(
        &mut self,
        consumer: &C,
        state: &StateDir,
        since: Timestamp,
    ) -> Result<Read, Error> {
        let reader = Reader::open(state, &self.run)?;
        // A journal that is shorter than what was read of it, by this process or an earlier one, is another one.
        if reader.last() < self.folded.seq.max(self.sent.seq) {
            self.begin_anew();
        }
        loop {
            if self.fold.is_none() {
                // What a consumer wants of a run stands in its first event.
                let mut has_begun = false;
                reader.read_while(1, &mut |_| {
                    has_begun = true;
                    false
                })?;
                if !has_begun {
                    return Ok(Read::End);
                }
                self.fold = Some(consumer.begin(&self.run, &reader));
            }
            let (mut left, mut is_same) = (EVENTS, true);
            reader.read_while(self.folded.seq.max(1), &mut |event| {
                is_same = self.is_known_as(&event);
                if is_same && event.seq > self.folded.seq {
                    self.take(&event, since);
                    left -= 1;
                }
                is_same && left > 0 && self.pending.len() < BATCH
            })?;
            if is_same {
                let is_full = left == 0 || self.pending.len() >= BATCH;
                return Ok(if is_full { Read::More } else { Read::End });
            }
            self.begin_anew();
        }
    }

    /// Takes how the run stands, if it has not ended.
    pub fn stand(&mut self, standing: &Standing) {
        if let Some(fold) = self.fold.as_mut().filter(|_| !self.folded.ended) {
            fold.stand(standing, &mut self.pending);
        }
    }

    /// Whether an event is the one that was there before.
    fn is_known_as(&self, event: &Stamped) -> bool {
        let fits = |cursor: &Cursor| cursor.seq != event.seq || cursor.at == event.at || cursor.at.0 == 0;
        fits(&self.folded) && fits(&self.sent)
    }

    fn take(&mut self, event: &Stamped, since: Timestamp) {
        match &event.event {
            Event::RunStarted(started) => {
                if let Some(BaseKind::Fork { seq, .. }) = started.base.as_ref().map(|base| base.how) {
                    self.copied = seq;
                }
            }
            Event::RunFinished { .. } => self.folded.ended = true,
            Event::RunReopened(_) | Event::RunForked(_) => self.folded.ended = false,
            _ => {}
        }
        let before = self.pending.len();
        if let Some(fold) = &mut self.fold {
            fold.take(event, &mut self.pending);
        }
        if event.seq <= self.sent.seq.max(self.copied) || event.at < since {
            self.pending.truncate(before);
        }
        (self.folded.seq, self.folded.at) = (event.seq, event.at);
    }

    fn begin_anew(&mut self) {
        *self = Tail::new(&self.run, Cursor::default());
    }
}
