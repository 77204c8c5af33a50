//! The name of a value in a text. Most are words of the language, which cost nothing to say.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A name: a word of the language, or one of the workflow's own.
///
/// Invariant: compares and hashes as its text does, so that tables can be asked with a text.
#[derive(Debug, Clone)]
pub enum Name {
    /// A word of the language.
    Fixed(&'static str),
    /// A name that a file or a model gave.
    Given(Arc<str>),
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Name::Fixed(text) => text,
            Name::Given(text) => text,
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Name {
        Name::Fixed(text)
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Name {
        Name::Given(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::Given(text.into())
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
