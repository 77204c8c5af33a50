//! Log records: the request, and the consumer that sends them.

use super::body::{self, SAMPLED};
use super::messages::Any;
use super::messages::logs::{LogRecord, Request, ResourceLogs, ScopeLogs};
use super::receiver::Receiver;
use crate::notices::Nothing;
use crate::records::{Record, RunRecords};
use convoke_follow::{Consumer, Delivered, Fold, Undelivered};
use convoke_journal::Reader;
use convoke_model::RunId;
use futures::future::BoxFuture;

/// A receiver of log records.
#[derive(Clone)]
pub struct Logs(pub Receiver);

impl Logs {
    pub(super) async fn send(&self, records: &[Record]) -> Result<Delivered, Undelivered> {
        let size = |record: &Record| 96 + record.body.len() + body::size(&record.attributes);
        self.0.send(records, size, |some| encoded(some, &self.0.resource)).await
    }
}

impl Consumer for Logs {
    type Item = Record;

    fn name(&self) -> &str {
        &self.0.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Record>> {
        match self.0.plan(run, journal) {
            Some(plan) => Box::new(RunRecords::new(run, &plan, (self.0.contents)(run, journal))),
            None => Box::new(Nothing),
        }
    }

    fn deliver<'a>(
        &'a mut self,
        _run: &'a RunId,
        items: &'a [Record],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        Box::pin(self.send(items))
    }
}

/// The body of a request with these records, of a program with these attributes.
pub fn encoded(records: &[Record], resource: &[(String, String)]) -> Vec<u8> {
    let log_records = records.iter().map(sent).collect();
    let scope_logs = vec![ScopeLogs { scope: body::scope(), log_records }];
    let resource_logs = vec![ResourceLogs { resource: body::resource(resource), scope_logs }];
    body::compressed(&Request { resource_logs })
}

fn sent(record: &Record) -> LogRecord {
    let at = record.at.0.saturating_mul(1_000);
    LogRecord {
        time_unix_nano: at,
        // Sent again it is the same record: nothing in it tells when it was sent.
        observed_time_unix_nano: at,
        severity_number: record.severity.number(),
        severity_text: record.severity.word().to_owned(),
        body: body::any_value(Any::Text(record.body.clone())),
        attributes: body::attributes(&record.attributes),
        flags: SAMPLED,
        trace_id: record.trace.0.to_vec(),
        span_id: record.span.map(|span| span.0.to_vec()).unwrap_or_default(),
        event_name: record.name.clone(),
    }
}
