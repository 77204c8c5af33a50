//! What a call of a tool carries besides its arguments: its idempotency key, and its place in a trace.
//!
//! A server gets both as meta data of the request (`params._meta`), a script as variables. Servers that do not know them ignore
//! them, as the protocol asks them to.

use convoke_agent::Asker;
use rmcp::model::RequestMetaObject;

/// The entry of a call's meta data that holds its idempotency key.
pub const IDEMPOTENCY: &str = "convoke/idempotency-key";

/// The entry that holds the span that the call belongs to; the protocol keeps this name for it, without a prefix.
const TRACEPARENT: &str = "traceparent";

/// The labels of one call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Labels<'a> {
    /// The idempotency key; empty where there is none.
    pub key: &'a str,
    /// The span of the attempt, where runs are traced.
    pub trace: Option<&'a str>,
}

impl<'a> From<&'a str> for Labels<'a> {
    fn from(key: &'a str) -> Labels<'a> {
        Labels { key, trace: None }
    }
}

impl<'a> From<Asker<'a>> for Labels<'a> {
    fn from(asker: Asker<'a>) -> Labels<'a> {
        Labels { key: asker.key, trace: asker.trace }
    }
}

impl Labels<'_> {
    /// The meta data of the request; `None` if there is nothing to say.
    pub fn meta(self) -> Option<RequestMetaObject> {
        let key = Some(self.key).filter(|key| !key.is_empty());
        let entries = [(IDEMPOTENCY, key), (TRACEPARENT, self.trace)];
        let mut meta = RequestMetaObject::new();
        for (name, value) in entries {
            meta.0.0.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        entries.iter().any(|(_, value)| value.is_some()).then_some(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_labels_has_no_meta_data() {
        assert!(Labels::default().meta().is_none());
        let meta = Labels { key: "", trace: Some("00-1-2-01") }.meta().unwrap();
        assert_eq!(serde_json::to_value(&meta).unwrap(), serde_json::json!({"traceparent": "00-1-2-01"}));
        let meta = Labels::from("k").meta().unwrap();
        assert_eq!(serde_json::to_value(&meta).unwrap(), serde_json::json!({"convoke/idempotency-key": "k"}));
    }
}
