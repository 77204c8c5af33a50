//! Large values that a conversation no longer carries, by the names that its agent knows them by.
//!
//! Only their digests stay here; the values leave with the next record and are read back through the turn log.

use convoke_model::{Digest, JsonText};
use serde_json::Value;

/// The kept values of one conversation: the first is `r1`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    kept: Vec<Digest>,
    unwritten: Vec<JsonText>,
}

impl Shelf {
    /// What a prompt shows in part.
    pub fn of(kept: Vec<Digest>) -> Shelf {
        Shelf { kept, unwritten: Vec::new() }
    }

    /// Keeps a value and gives its name.
    pub fn keep(&mut self, value: JsonText) -> String {
        self.kept.push(Digest::of(value.as_str().as_bytes()));
        self.unwritten.push(value);
        name(self.kept.len())
    }

    /// Keeps a text. Readers of the turn log get it back as a JSON string.
    pub fn keep_text(&mut self, text: String) -> String {
        let written = Value::String(text).to_string();
        self.keep(JsonText::parse(written).expect("a JSON string was written"))
    }

    /// The name that the next value gets.
    pub fn next_name(&self) -> String {
        name(self.kept.len() + 1)
    }

    /// The value with this name.
    pub fn find(&self, name: &str) -> Option<Digest> {
        let number: usize = name.trim().strip_prefix('r')?.parse().ok()?;
        self.kept.get(number.checked_sub(1)?).copied()
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many values there are: the number in the newest name.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// What was kept since this was last asked: digests, and the values themselves.
    pub fn take_unwritten(&mut self) -> (Vec<Digest>, Vec<JsonText>) {
        let values = std::mem::take(&mut self.unwritten);
        (self.kept[self.kept.len() - values.len()..].to_vec(), values)
    }

    /// Puts back what was written down.
    pub fn restore(&mut self, digests: Vec<Digest>) {
        self.kept.extend(digests);
    }

    /// The digests, in the order of the names.
    #[cfg(test)]
    pub fn digests(&self) -> &[Digest] {
        &self.kept
    }
}

/// The name of the value with this number, from 1.
pub(crate) fn name(number: usize) -> String {
    format!("r{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_leave_and_names_stay() {
        let mut shelf = Shelf::default();
        let value = JsonText::of("long");
        assert_eq!((shelf.keep(value.clone()), shelf.keep_text("x".into())), ("r1".into(), "r2".into()));
        let digest = Digest::of(value.as_str().as_bytes());
        assert_eq!((shelf.find("r1"), shelf.next_name()), (Some(digest), "r3".into()));
        let (digests, values) = shelf.take_unwritten();
        assert_eq!((digests.len(), values.len()), (2, 2));
        assert_eq!(shelf.take_unwritten().1.len(), 0);
        for unknown in ["r0", "r3", "1", "r", "rx", ""] {
            assert_eq!(shelf.find(unknown), None, "{unknown}");
        }
        let mut again = Shelf::default();
        again.restore(digests);
        assert_eq!(again.find("r1"), Some(digest));
    }
}
