//! Spans: the request, and the consumer that sends them.

use super::body::{self, SAMPLED};
use super::messages::Any;
use super::messages::traces::{Link, Request, ResourceSpans, ScopeSpans, Span as Sent, Status};
use super::receiver::Receiver;
use crate::notices::Nothing;
use crate::spans::{Kind, RunSpans, Span, names};
use convoke_follow::{Consumer, Delivered, Fold, Undelivered};
use convoke_journal::Reader;
use convoke_model::RunId;
use futures::future::BoxFuture;

/// `SpanKind` and `StatusCode` as the protocol numbers them.
const INTERNAL: i32 = 1;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

/// A receiver of traces.
#[derive(Clone)]
pub struct Traces(pub Receiver);

impl Traces {
    pub(super) async fn send(&self, spans: &[Span]) -> Result<Delivered, Undelivered> {
        let size = |span: &Span| 64 + span.name.len() + body::size(&span.attributes);
        self.0.send(spans, size, |some| encoded(some, &self.0.resource)).await
    }
}

impl Consumer for Traces {
    type Item = Span;

    fn name(&self) -> &str {
        &self.0.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Span>> {
        match self.0.plan(run, journal) {
            Some(plan) => Box::new(RunSpans::new(run, &plan, (self.0.contents)(run, journal))),
            None => Box::new(Nothing),
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

/// The body of a request with these spans, of a program with these attributes.
pub fn encoded(spans: &[Span], resource: &[(String, String)]) -> Vec<u8> {
    let spans = spans.iter().map(sent).collect();
    let scope_spans = vec![ScopeSpans { scope: body::scope(), spans }];
    let resource_spans = vec![ResourceSpans { resource: body::resource(resource), scope_spans }];
    body::compressed(&Request { resource_spans })
}

fn sent(span: &Span) -> Sent {
    let links = span.links.iter().map(|link| Link {
        trace_id: link.trace.0.to_vec(),
        span_id: link.span.0.to_vec(),
        attributes: vec![body::key_value(names::LINK, Any::Text(link.why.to_owned()))],
    });
    Sent {
        trace_id: span.trace.0.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map(|parent| parent.0.to_vec()).unwrap_or_default(),
        name: span.name.clone(),
        kind: match span.kind {
            Kind::Internal => INTERNAL,
            Kind::Client => CLIENT,
        },
        start_time_unix_nano: span.start.0.saturating_mul(1_000),
        end_time_unix_nano: span.end.0.saturating_mul(1_000),
        attributes: body::attributes(&span.attributes),
        links: links.collect(),
        status: span.error.as_ref().map(|message| Status { message: message.clone(), code: ERROR }),
        flags: SAMPLED,
    }
}
