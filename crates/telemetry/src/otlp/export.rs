//! The export of one run, to the receivers of one address.

use super::metrics::{self, Stream};
use super::receiver::{Receiver, plan};
use super::{Logs, Signal, Traces};
use crate::instruments::RunValues;
use crate::records::RunRecords;
use crate::spans::RunSpans;
use convoke_follow::{Delivered, Fold, Undelivered};
use convoke_journal::{Error, Reader};
use convoke_model::{BaseKind, Event, RunId, Stamped, Timestamp};
use std::sync::PoisonError;

/// Items that are sent at once.
const BATCH: usize = 256;

/// One run for one receiver of each signal. Keeps no cursor: the same again has the same ids.
pub struct Export<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Its journal.
    pub journal: &'a Reader,
}

/// What an export of one signal came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// What was sent.
    pub signal: Signal,
    /// Spans, data points or records that were taken.
    pub items: u64,
    /// Spans of what has not ended.
    pub open: u64,
    /// What the receiver did not want.
    pub delivered: Delivered,
}

/// Why a run is not exported, or not all of it.
#[derive(Debug)]
pub enum ExportError {
    /// Its journal cannot be read.
    Journal(Error),
    /// The receiver did not take it.
    Undelivered(Undelivered),
}

impl From<Error> for ExportError {
    fn from(error: Error) -> ExportError {
        ExportError::Journal(error)
    }
}

impl Exported {
    fn nothing(signal: Signal) -> Exported {
        Exported { signal, items: 0, open: 0, delivered: Delivered::default() }
    }

    fn count(&mut self, items: usize, sent: Delivered) {
        self.items += (items as u64).saturating_sub(sent.refused);
        self.delivered.refused += sent.refused;
        self.delivered.why = sent.why.or(self.delivered.why.take());
    }
}

impl Export<'_> {
    /// Sends one signal of the run, whether it has ended or not.
    pub async fn send(&self, signal: Signal, to: &Receiver) -> Result<Exported, ExportError> {
        match signal {
            Signal::Traces => self.traces(to).await,
            Signal::Metrics => self.metrics(to).await,
            Signal::Logs => self.logs(to).await,
        }
    }

    /// All spans, also of what has not ended.
    async fn traces(&self, to: &Receiver) -> Result<Exported, ExportError> {
        let traces = Traces(to.clone());
        let mut fold = RunSpans::new(self.run, &plan(self.journal), (to.contents)(self.run, self.journal));
        let (mut exported, mut reading) = (Exported::nothing(Signal::Traces), Reading::default());
        loop {
            let mut spans = reading.batch(self.journal, &mut fold)?;
            let is_end = spans.len() < BATCH;
            if is_end {
                let open = fold.so_far();
                exported.open = open.len() as u64;
                spans.extend(open);
            }
            let sent = traces.send(&spans).await.map_err(ExportError::Undelivered)?;
            exported.count(spans.len(), sent);
            if is_end {
                return Ok(exported);
            }
        }
    }

    async fn logs(&self, to: &Receiver) -> Result<Exported, ExportError> {
        let logs = Logs(to.clone());
        let mut fold = RunRecords::new(self.run, &plan(self.journal), (to.contents)(self.run, self.journal));
        let (mut exported, mut reading) = (Exported::nothing(Signal::Logs), Reading::default());
        loop {
            let records = reading.batch(self.journal, &mut fold)?;
            let sent = logs.send(&records).await.map_err(ExportError::Undelivered)?;
            exported.count(records.len(), sent);
            if records.len() < BATCH {
                return Ok(exported);
            }
        }
    }

    /// What the run comes to. It is a stream of its own, from its first event to its last: what all runs come to is another one, which the
    /// followers of the state directory send.
    async fn metrics(&self, to: &Receiver) -> Result<Exported, ExportError> {
        let mut fold = RunValues::new(self.run, &plan(self.journal));
        let (mut span, mut last) = (None, None);
        self.journal.read_while(1, &mut |event| {
            let mut values = Vec::new();
            fold.take(&event, &mut values);
            span = Some((span.map_or(event.at, |(since, _): (Timestamp, Timestamp)| since), event.at));
            last = values.pop().or(last.take());
            true
        })?;
        let mut exported = Exported::nothing(Signal::Metrics);
        let (Some(values), Some((since, until))) = (last, span) else { return Ok(exported) };
        let values = values.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = Stream { instance: self.run.to_string(), since, until };
        let sent = metrics::send(to, &values, &stream).await.map_err(ExportError::Undelivered)?;
        exported.count(usize::try_from(sent.items).unwrap_or(usize::MAX), sent.delivered);
        Ok(exported)
    }
}

/// How far a run was read.
#[derive(Default)]
struct Reading {
    /// The last event that was folded.
    last: u64,
    /// Events up to here are a copy of another run's, and its export has them.
    copied: u64,
}

impl Reading {
    /// What the next events give; less than a batch at the end of the journal.
    fn batch<T>(&mut self, journal: &Reader, fold: &mut impl Fold<T>) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        journal.read_while(self.last + 1, &mut |event: Stamped| {
            if let Event::RunStarted(started) = &event.event
                && let Some(BaseKind::Fork { seq, .. }) = started.base.as_ref().map(|base| base.how)
            {
                self.copied = seq;
            }
            let before = items.len();
            fold.take(&event, &mut items);
            if event.seq <= self.copied {
                items.truncate(before);
            }
            self.last = event.seq;
            items.len() < BATCH
        })?;
        Ok(items)
    }
}
