//! The blobs that an event names, so that they can be checked.
//!
//! Found by their shape, not by the event: an event that is added later cannot be forgotten here.

use convoke_model::{Digest, Event, Payload};
use serde_json::Value;

/// Address and length of every blob among an event's fields.
pub fn blobs_of(event: &Event) -> Vec<(Digest, u64)> {
    let Ok(Value::Object(variant)) = serde_json::to_value(event) else { return Vec::new() };
    let fields = variant.into_iter().filter_map(|(_, fields)| match fields {
        Value::Object(fields) => Some(fields.into_iter().map(|(_, field)| field)),
        _ => None,
    });
    fields.flatten().filter_map(blob).collect()
}

fn blob(field: Value) -> Option<(Digest, u64)> {
    field.get("blob")?;
    match serde_json::from_value(field) {
        Ok(Payload::Blob { digest, size }) => Some((digest, size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, TaskId};

    #[test]
    fn a_named_blob_is_found_and_an_inline_value_is_left_alone() {
        let digest = Digest::of(b"x");
        let finished = |output| Event::TaskSucceeded { task: TaskId("t".into()), output };
        assert_eq!(blobs_of(&finished(Payload::Blob { digest, size: 9 })), [(digest, 9)]);
        let alike = JsonText::of(&Payload::Blob { digest, size: 9 });
        assert_eq!(blobs_of(&finished(Payload::Inline(alike))), []);
        assert_eq!(blobs_of(&finished(Payload::Gathered)), []);
    }
}
