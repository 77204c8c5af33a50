//! The consumer that sends spans, and the export of one run.

use super::encode::encoded;
use super::messages::Response;
use crate::Address;
use crate::spans::{Contents, RunSpans, Span};
use convoke_follow::{Consumer, Delivered, Fold, Undelivered};
use convoke_journal::{Error, Reader};
use convoke_model::RunId;
use futures::future::BoxFuture;
use prost::Message;
use reqwest::Client;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use std::sync::Arc;

/// Bytes of one request before it is compressed, roughly: receivers refuse what is much larger.
const MOST_BYTES: usize = 1 << 20;

/// Where contents of a run come from; `None` where they are not to be told.
pub type ContentsOf = Arc<dyn Fn(&RunId, &Reader) -> Option<Contents> + Send + Sync>;

/// Decides whether a run is told of.
pub type Wanted = Arc<dyn Fn(&RunId, &Reader) -> bool + Send + Sync>;

/// A receiver of traces.
#[derive(Clone)]
pub struct Traces {
    /// The name of its cursors.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Reaches it.
    pub client: Client,
    /// What all spans say of the program that sends them.
    pub resource: Vec<(String, String)>,
    /// Contents, where they are told.
    pub contents: ContentsOf,
    /// Which runs are told of.
    pub wanted: Wanted,
}

impl Traces {
    /// The fold of a run; a run that is not told of gives nothing.
    fn spans(&self, run: &RunId, journal: &Reader) -> Option<RunSpans> {
        if !(self.wanted)(run, journal) {
            return None;
        }
        let plan = journal.meta().map(|meta| meta.plan.as_str().to_owned()).unwrap_or_default();
        Some(RunSpans::new(run, &plan, (self.contents)(run, journal)))
    }

    async fn send(&self, spans: &[Span]) -> Result<Delivered, Undelivered> {
        let mut all = Delivered::default();
        for some in parts(spans) {
            match self.send_one(some).await {
                Ok(Delivered { refused, why }) => {
                    all.refused += refused;
                    all.why = why.or(all.why);
                }
                // The others of the batch may be wanted all the same.
                Err(Undelivered::Refused { why }) => {
                    all.refused += some.len() as u64;
                    all.why = Some(why);
                }
                Err(later) => return Err(later),
            }
        }
        Ok(all)
    }

    async fn send_one(&self, spans: &[Span]) -> Result<Delivered, Undelivered> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let answer = self.address.post(&self.client, headers, encoded(spans, &self.resource)).await?;
        let partial = Response::decode(&*answer).ok().and_then(|response| response.partial_success);
        let refused =
            partial.as_ref().map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0));
        let why = partial.filter(|_| refused > 0).map(|partial| partial.error_message);
        Ok(Delivered { refused, why })
    }
}

impl Consumer for Traces {
    type Item = Span;

    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Span>> {
        match self.spans(run, journal) {
            Some(spans) => Box::new(spans),
            None => Box::new(crate::notices::Nothing),
        }
    }

    fn deliver<'a>(
        &'a mut self,
        _run: &'a RunId,
        items: &'a [Span],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        Box::pin(self.send(items))
    }
}

/// Spans in parts that a receiver takes at once.
fn parts(spans: &[Span]) -> impl Iterator<Item = &[Span]> {
    let mut rest = spans;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |span: &&Span| {
            bytes += size(span);
            bytes <= MOST_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (some, others) = rest.split_at(count);
        rest = others;
        (!some.is_empty()).then_some(some)
    })
}

fn size(span: &Span) -> usize {
    let texts = span.attributes.iter().map(|(name, value)| match value {
        crate::spans::Value::Text(text) => name.len() + text.len(),
        _ => name.len() + 16,
    });
    64 + span.name.len() + texts.sum::<usize>()
}

/// What an export came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Spans that were sent.
    pub spans: u64,
    /// Spans of what has not ended.
    pub open: u64,
    /// What the receiver did not want.
    pub delivered: Delivered,
}

/// Sends all spans of one run, also of what has not ended. Keeps no cursor: the same again has the same ids.
pub async fn export(traces: &Traces, run: &RunId, journal: &Reader) -> Result<Exported, ExportError> {
    let plan = journal.meta()?.plan.as_str().to_owned();
    let mut fold = RunSpans::new(run, &plan, (traces.contents)(run, journal));
    let mut exported = Exported::default();
    let (mut next, mut spans, mut copied) = (1, Vec::new(), 0);
    loop {
        let from = next;
        journal.read_while(from, &mut |event| {
            if let convoke_model::Event::RunStarted(started) = &event.event
                && let Some(convoke_model::BaseKind::Fork { seq, .. }) =
                    started.base.as_ref().map(|base| base.how)
            {
                copied = seq;
            }
            let before = spans.len();
            fold.take(&event, &mut spans);
            if event.seq <= copied {
                spans.truncate(before);
            }
            next = event.seq + 1;
            spans.len() < BATCH
        })?;
        let is_end = spans.len() < BATCH;
        if is_end {
            let open = fold.so_far();
            exported.open = open.len() as u64;
            spans.extend(open);
        }
        let sent = traces.send(&spans).await.map_err(ExportError::Undelivered)?;
        exported.spans += (spans.len() as u64).saturating_sub(sent.refused);
        exported.delivered.refused += sent.refused;
        exported.delivered.why = sent.why.or(exported.delivered.why);
        spans.clear();
        if is_end {
            return Ok(exported);
        }
    }
}

/// Spans that are sent at once.
const BATCH: usize = 256;

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
