//! YAML as a tree in which every value keeps its text and its place.
//!
//! The tree knows nothing of workflows. Aliases and included files share nodes, so a node is never changed after it was
//! built. Invariant: no node is higher than [`MAX_HEIGHT`], so walking (and dropping) a tree may recurse.

mod build;
mod place;
pub mod scalar;
mod syntax;

use std::rc::Rc;

pub(super) use build::{Builder, Built, Includes};
pub(super) use place::segments;

use super::text::Spanned;
use crate::diagnostic::Span;

/// Levels of nesting that a file may have, aliases and included files counted in.
pub const MAX_HEIGHT: u32 = 128;

/// A value of the file.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it was written; for an included file, the place of its `!file` tag.
    pub span: Span,
    /// The file that `!file` read it from.
    pub included: Option<Included>,
    pub(super) weight: Weight,
}

/// The three shapes of YAML, and what is left of a value that could not be read.
#[derive(Debug)]
pub enum Value {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Seq(Vec<Rc<Node>>),
    /// A mapping, in the order of the file.
    Map(Vec<Pair>),
    /// Something that was already reported.
    Broken,
}

/// A single value: its text, after the escapes of quotes and before any typing.
#[derive(Debug)]
pub struct Scalar {
    /// The text.
    pub raw: String,
    /// How it was written.
    pub style: Style,
    /// Place of exactly the text (with its quotes) in its own file.
    pub(super) inner: Span,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: may be a number, a boolean or null.
    Plain,
    /// `'single'` quotes.
    Single,
    /// `"double"` quotes.
    Double,
    /// A block after `|` or `>`.
    Block,
    /// Marked `!!str`, or the whole text of a file.
    Verbatim,
}

/// An entry of a mapping.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The key, as written.
    pub key: Spanned<String>,
    /// The value.
    pub value: Rc<Node>,
}

impl Pair {
    /// An entry under a name of our own; its place is that of the value.
    pub(crate) fn new(key: &str, value: Rc<Node>) -> Self {
        Self { key: Spanned::new(key.to_owned(), value.span.clone()), value }
    }
}

/// The file that a node came from.
#[derive(Debug, Clone)]
pub struct Included {
    /// Path as [`super::Sources`] knows it.
    pub path: String,
    /// Its text.
    pub file: std::sync::Arc<crate::diagnostic::SourceFile>,
}

/// How large a node is when every alias in it is written out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weight {
    pub nodes: u64,
    pub bytes: u64,
    pub height: u32,
}

impl Weight {
    pub fn scalar(bytes: usize) -> Self {
        Self { nodes: 1, bytes: bytes as u64, height: 1 }
    }

    pub fn collection() -> Self {
        Self { nodes: 1, bytes: 0, height: 1 }
    }

    /// The weight with one more child.
    pub fn with(self, child: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(child.nodes),
            bytes: self.bytes.saturating_add(child.bytes),
            height: self.height.max(child.height + 1),
        }
    }
}

impl Node {
    /// A node for something that was already reported.
    pub(super) fn broken(span: Span) -> Rc<Self> {
        Rc::new(Self { value: Value::Broken, span, included: None, weight: Weight::collection() })
    }

    /// The same node again; what stands below it is shared.
    pub(super) fn share(&self) -> Self {
        let value = match &self.value {
            Value::Scalar(Scalar { raw, style, inner }) => {
                Value::Scalar(Scalar { raw: raw.clone(), style: *style, inner: inner.clone() })
            }
            Value::Seq(items) => Value::Seq(items.clone()),
            Value::Map(pairs) => Value::Map(pairs.clone()),
            Value::Broken => Value::Broken,
        };
        Self { value, span: self.span.clone(), included: self.included.clone(), weight: self.weight }
    }

    /// A text that was made, at the place that it was made from.
    pub(crate) fn text(raw: impl Into<String>, span: &Span) -> Rc<Self> {
        Self::scalar(raw.into(), Style::Verbatim, span)
    }

    /// A number, a boolean or a word that was made.
    pub(crate) fn plain(raw: impl Into<String>, span: &Span) -> Rc<Self> {
        Self::scalar(raw.into(), Style::Plain, span)
    }

    fn scalar(raw: String, style: Style, span: &Span) -> Rc<Self> {
        let weight = Weight::scalar(raw.len());
        let value = Value::Scalar(Scalar { raw, style, inner: span.clone() });
        Rc::new(Self { value, span: span.clone(), included: None, weight })
    }

    /// A list that was made.
    pub(crate) fn list(items: Vec<Rc<Node>>, span: &Span) -> Rc<Self> {
        let weight = items.iter().fold(Weight::collection(), |sum, item| sum.with(item.weight));
        Rc::new(Self { value: Value::Seq(items), span: span.clone(), included: None, weight })
    }

    /// A mapping that was made.
    pub(crate) fn map(pairs: Vec<Pair>, span: &Span) -> Rc<Self> {
        let weight = pairs.iter().fold(Weight::collection(), |sum, pair| sum.with(pair.value.weight));
        Rc::new(Self { value: Value::Map(pairs), span: span.clone(), included: None, weight })
    }

    /// This mapping with other entries.
    pub(super) fn with_pairs(&self, pairs: Vec<Pair>) -> Rc<Self> {
        let made = Self::map(pairs, &self.span);
        Rc::new(Self { included: self.included.clone(), ..made.share() })
    }

    /// This list with other items.
    pub(super) fn with_items(&self, items: Vec<Rc<Node>>) -> Rc<Self> {
        let made = Self::list(items, &self.span);
        Rc::new(Self { included: self.included.clone(), ..made.share() })
    }

    /// The value as JSON, as it is written: references to the environment stay references.
    pub(crate) fn as_written(&self) -> serde_json::Value {
        match &self.value {
            Value::Scalar(scalar) => scalar::as_written(scalar),
            Value::Seq(items) => items.iter().map(|item| item.as_written()).collect(),
            Value::Map(pairs) => {
                let fields = pairs.iter().map(|pair| (pair.key.value.clone(), pair.value.as_written()));
                serde_json::Value::Object(fields.collect())
            }
            Value::Broken => serde_json::Value::Null,
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Rc<Node>> {
        let Value::Map(pairs) = &self.value else { return None };
        pairs.iter().find(|pair| pair.key.value == key).map(|pair| &pair.value)
    }

    /// Whether it is nothing: an absent value, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if matches!(scalar::typed(scalar), scalar::Typed::Null))
    }

    /// The word for what it is, as a message says it.
    pub fn describe(&self) -> String {
        match &self.value {
            // A file that was included as text may hold anything.
            Value::Scalar(scalar) => match &self.included {
                Some(included) => format!("the text of `{}`", included.path),
                None => scalar::describe(scalar),
            },
            Value::Seq(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Broken => "an unreadable value".to_owned(),
        }
    }
}
