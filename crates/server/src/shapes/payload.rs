//! A value, short enough to be shown.

use convoke_journal::{Error, Reader};
use convoke_model::excerpt::place_of;
use convoke_model::{Digest, JsonText, Payload};
use serde::Serialize;
use utoipa::ToSchema;

/// Characters of a value that are sent with what names it.
const MOST: usize = 64_000;

/// A value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PayloadBody {
    /// The text, or its beginning.
    pub text: String,
    /// Whether the text is JSON; else it is what a JSON text stands for.
    pub json: bool,
    /// Bytes of the whole value, as it is kept.
    pub bytes: usize,
    /// Whether there is more than `text` holds.
    pub cut: bool,
    /// Where the whole value is: `/runs/RUN/values/ADDRESS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl PayloadBody {
    /// Of a payload; `None` for what is made of other tasks' outputs.
    pub fn read(reader: &Reader, payload: &Payload) -> Result<Option<PayloadBody>, Error> {
        Ok(match payload {
            Payload::Inline(text) => Some(PayloadBody::of(text, None)),
            Payload::Blob { digest, .. } => {
                reader.blob(digest)?.map(|text| PayloadBody::of(&text, Some(*digest)))
            }
            Payload::Gathered => None,
        })
    }

    /// Of a value that is at hand.
    pub fn of(value: &JsonText, address: Option<Digest>) -> PayloadBody {
        let bytes = value.as_str().len();
        let (text, json) = match value.value() {
            serde_json::Value::String(text) => (text, false),
            _ => (value.as_str().to_owned(), true),
        };
        let body = PayloadBody::text(text);
        PayloadBody { json, bytes, value: address.map(|address| address.to_string()), ..body }
    }

    /// Of plain text.
    pub fn text(text: String) -> PayloadBody {
        let (bytes, place) = (text.len(), place_of(&text, MOST));
        let cut = place < bytes;
        let mut text = text;
        text.truncate(place);
        PayloadBody { text, json: false, bytes, cut, value: None }
    }
}
