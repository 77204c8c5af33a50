//! Values as events carry them: small ones inside, large ones by address.
//!
//! A payload is JSON text, never a value tree: most outputs are only moved, so parsing is left to the code that looks
//! inside. `Gathered` says that the value is made of the members' own outputs and is therefore not stored twice.

use crate::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Outputs up to this many bytes travel inside their event.
pub const INLINE_LIMIT: usize = 4096;

/// JSON text that is known to be valid, shared and cheap to copy.
#[derive(Debug, Clone)]
pub struct JsonText(Arc<RawValue>);

impl JsonText {
    /// Takes text that is valid JSON; an error names what is not.
    pub fn parse(text: String) -> Result<JsonText, serde_json::Error> {
        Ok(JsonText(RawValue::from_string(text)?.into()))
    }

    /// The text of anything that can be written as JSON.
    ///
    /// Panics only if a map key is not text, which no type of ours has.
    pub fn of(value: &(impl Serialize + ?Sized)) -> JsonText {
        JsonText(serde_json::value::to_raw_value(value).expect("our types are JSON").into())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The value that the text stands for.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(self.as_str()).expect("checked when it was made")
    }
}

impl std::hash::Hash for JsonText {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl Serialize for JsonText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(JsonText(Box::<RawValue>::deserialize(deserializer)?.into()))
    }
}

/// A value that an event speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The value itself.
    Inline(JsonText),
    /// The value lies in the blob store.
    Blob {
        /// Its address: the digest of the JSON text.
        digest: Digest,
        /// Its length in bytes.
        size: u64,
    },
    /// A group's value, made of the outputs and failures of its members.
    Gathered,
}

/// A blob on its way to the store: the JSON text of one payload.
#[derive(Debug, Clone)]
pub struct Blob {
    /// The address.
    pub digest: Digest,
    /// The JSON text.
    pub text: JsonText,
}

impl Payload {
    /// A payload for this text, and the blob to store if it is too large to travel inside.
    pub fn new(text: JsonText) -> (Payload, Option<Blob>) {
        if text.as_str().len() <= INLINE_LIMIT {
            return (Payload::Inline(text), None);
        }
        let digest = Digest::of(text.as_str().as_bytes());
        let size = text.as_str().len() as u64;
        (Payload::Blob { digest, size }, Some(Blob { digest, text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_travel_inside_and_large_ones_by_address() {
        let (small, none) = Payload::new(JsonText::parse("{\"a\": 1}".into()).unwrap());
        assert!(matches!(small, Payload::Inline(_)) && none.is_none());
        let long = JsonText::of(&"x".repeat(INLINE_LIMIT));
        let (large, blob) = Payload::new(long.clone());
        let digest = Digest::of(long.as_str().as_bytes());
        assert_eq!(large, Payload::Blob { digest, size: INLINE_LIMIT as u64 + 2 });
        assert_eq!(blob.unwrap().digest, digest);
    }

    #[test]
    fn text_survives_as_written() {
        let text = JsonText::parse("{\"b\":1.50,\"a\":[ ]}".into()).unwrap();
        let line = serde_json::to_string(&Payload::Inline(text.clone())).unwrap();
        assert_eq!(line, "{\"inline\":{\"b\":1.50,\"a\":[ ]}}");
        assert_eq!(serde_json::from_str::<Payload>(&line).unwrap(), Payload::Inline(text));
        assert!(JsonText::parse("{oops".into()).is_err());
    }
}
