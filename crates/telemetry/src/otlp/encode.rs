//! Spans as a request of OTLP, compressed.

use super::messages::{
    Any, AnyValue, KeyValue, Link, List, Request, Resource, ResourceSpans, Scope, ScopeSpans, Span as Sent,
    Status,
};
use crate::spans::{Kind, Span, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::io::Write;

/// `SpanKind` and `StatusCode` as the protocol numbers them.
const INTERNAL: i32 = 1;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

/// The span belongs to a trace that is sampled (W3C trace flags).
const SAMPLED: u32 = 1;

/// The body of a request with these spans, of a program with these attributes.
pub fn encoded(spans: &[Span], resource: &[(String, String)]) -> Vec<u8> {
    let attributes = resource.iter().map(|(name, value)| key_value(name, Any::Text(value.clone()))).collect();
    let scope = Scope { name: "convoke".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let request = Request {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource { attributes }),
            scope_spans: vec![ScopeSpans { scope: Some(scope), spans: spans.iter().map(sent).collect() }],
        }],
    };
    compressed(&request.encode_to_vec())
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Memory takes everything.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn sent(span: &Span) -> Sent {
    let attributes = span.attributes.iter().map(|(name, value)| key_value(name, any(value)));
    let links = span.links.iter().map(|link| Link {
        trace_id: link.trace.0.to_vec(),
        span_id: link.span.0.to_vec(),
        attributes: vec![key_value(crate::spans::names::LINK, Any::Text(link.why.to_owned()))],
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
        attributes: attributes.collect(),
        links: links.collect(),
        status: span.error.as_ref().map(|message| Status { message: message.clone(), code: ERROR }),
        flags: SAMPLED,
    }
}

fn key_value(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn any(value: &Value) -> Any {
    match value {
        Value::Text(text) => Any::Text(text.clone()),
        Value::Number(number) => Any::Number(*number),
        Value::Fraction(number) => Any::Fraction(*number),
        Value::Flag(flag) => Any::Flag(*flag),
        Value::Texts(texts) => {
            let values = texts.iter().map(|text| AnyValue { value: Some(Any::Text(text.clone())) });
            Any::List(List { values: values.collect() })
        }
    }
}
