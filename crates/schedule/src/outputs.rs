//! Where large values are found.
//!
//! The engine keeps it filled; the scheduler only reads, and hands over the large values that its own decisions make.

use convoke_model::{Blob, Digest, JsonText, Payload};

/// Values by digest.
pub trait Outputs {
    /// The value at an address.
    fn get(&self, digest: &Digest) -> Option<JsonText>;
    /// Takes a value that a decision made; it is stored with the decision.
    fn put(&self, blob: Blob);
}

/// The values of a journal that is only looked at.
pub struct StoredOutputs<'a>(pub &'a dyn Fn(&Digest) -> Option<JsonText>);

impl Outputs for StoredOutputs<'_> {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        (self.0)(digest)
    }

    /// Looking back decides nothing, so there is nothing to store.
    fn put(&self, _: Blob) {}
}

/// The payload of a value, its blob handed over if it has one.
pub(crate) fn store(outputs: &dyn Outputs, value: &serde_json::Value) -> Payload {
    let (payload, blob) = Payload::new(JsonText::of(value));
    if let Some(blob) = blob {
        outputs.put(blob);
    }
    payload
}
