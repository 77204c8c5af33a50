//! What the requests of all signals are made of.

use super::messages::{Any, AnyValue, KeyValue, List, Resource, Scope};
use crate::spans::Value;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// The span belongs to a trace that is sampled (W3C trace flags).
pub const SAMPLED: u32 = 1;

/// A request as it is sent.
pub fn compressed(request: &impl prost::Message) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Memory takes everything.
    encoder.write_all(&request.encode_to_vec()).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// The program that sends, with these attributes.
pub fn resource(attributes: &[(String, String)]) -> Option<Resource> {
    let attributes = attributes.iter().map(|(name, value)| key_value(name, Any::Text(value.clone())));
    Some(Resource { attributes: attributes.collect() })
}

/// What makes the spans and the records.
pub fn scope() -> Option<Scope> {
    Some(Scope { name: "convoke".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

pub fn key_value(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: any_value(value) }
}

pub fn any_value(value: Any) -> Option<AnyValue> {
    Some(AnyValue { value: Some(value) })
}

/// Attributes as the protocol has them.
pub fn attributes(given: &[(&'static str, Value)]) -> Vec<KeyValue> {
    given.iter().map(|(name, value)| key_value(name, any(value))).collect()
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

/// Bytes that attributes take, roughly.
pub fn size(attributes: &[(&'static str, Value)]) -> usize {
    let sizes = attributes.iter().map(|(name, value)| match value {
        Value::Text(text) => name.len() + text.len(),
        _ => name.len() + 16,
    });
    sizes.sum()
}
