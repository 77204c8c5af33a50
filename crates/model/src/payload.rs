//! Values as events carry them: small ones inside, large ones by address.
//!
//! A payload is JSON text, never a value tree: most outputs are only moved, so parsing is left to the code that looks
//! inside. `Gathered` says that the value is made of the members' own outputs and is therefore not stored twice.

use crate::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Outputs up to this many bytes travel inside their event.
pub const INLINE_LIMIT: usize = 4096;

/// JSON text that is known to be valid, shared and cheap to copy.
#[derive(Clone)]
pub struct JsonText(Text);

#[derive(Clone)]
enum Text {
    Here(Arc<RawValue>),
    Kept(Arc<TextPart>),
}

/// A part of a longer text that lies somewhere else until it is looked at.
struct TextPart {
    by: Arc<dyn TextKeeper>,
    place: Range<usize>,
}

/// Keeps texts that may never be looked at, such as the turns of a long conversation, in a form that takes less to open.
pub trait TextKeeper: Send + Sync {
    /// All of them in one piece, and always the same.
    fn piece(&self) -> &str;
}

impl JsonText {
    /// Takes text that is valid JSON; an error names what is not.
    pub fn parse(text: String) -> Result<JsonText, serde_json::Error> {
        Ok(JsonText(Text::Here(RawValue::from_string(text)?.into())))
    }

    /// The text of anything that can be written as JSON.
    ///
    /// Panics only if a map key is not text, which no type of ours has.
    pub fn of(value: &(impl Serialize + ?Sized)) -> JsonText {
        JsonText(Text::Here(serde_json::value::to_raw_value(value).expect("our types are JSON").into()))
    }

    /// A text that is part of a piece, which is fetched when the text is looked at. What stands there must be valid JSON.
    pub fn kept(by: Arc<dyn TextKeeper>, place: Range<usize>) -> JsonText {
        JsonText(Text::Kept(Arc::new(TextPart { by, place })))
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Here(text) => text.get(),
            Text::Kept(kept) => &kept.by.piece()[kept.place.clone()],
        }
    }

    /// The value that the text stands for.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(self.as_str()).expect("checked when it was made")
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonText").field(&format_args!("{}", self.as_str())).finish()
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
        match &self.0 {
            Text::Here(text) => text.serialize(serializer),
            Text::Kept(_) => serde_json::from_str::<&RawValue>(self.as_str())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(JsonText(Text::Here(Box::<RawValue>::deserialize(deserializer)?.into())))
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
#[derive(Debug, Clone, Serialize, Deserialize)]
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

    /// The text as it is stored: here, or where blobs are. A gathered one is made of other outputs and is stored nowhere.
    pub fn text(&self, blob: impl FnOnce(&Digest) -> Option<JsonText>) -> Option<JsonText> {
        match self {
            Payload::Inline(text) => Some(text.clone()),
            Payload::Blob { digest, .. } => blob(digest),
            Payload::Gathered => None,
        }
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

    #[test]
    fn a_text_that_is_kept_elsewhere_is_like_any_other() {
        struct Shelf;
        impl TextKeeper for Shelf {
            fn piece(&self) -> &str {
                "[1]{\"a\": 2}"
            }
        }
        let kept = JsonText::kept(Arc::new(Shelf), 3..11);
        let here = JsonText::parse("{\"a\": 2}".into()).unwrap();
        assert_eq!(kept, here);
        assert_eq!(format!("{kept:?}"), format!("{here:?}"));
        assert_eq!(serde_json::to_string(&kept).unwrap(), here.as_str());
        assert_eq!(kept.value()["a"], 2);
        assert_eq!(size_of::<JsonText>(), size_of::<Arc<RawValue>>(), "events stay as small as they were");
    }
}
