//! Values that remember where they were written.
//!
//! [`Spanned`] is a value with its place, [`Text`] is a string whose every byte can be traced back to the file it
//! came from (so that an error inside a template points into the YAML), [`SecretText`] is a credential that is kept as
//! a reference and never resolved here.

use std::sync::Arc;

use crate::diagnostic::{SourceFile, Span};

/// A value and the place where it was written.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Joins a value with its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Changes the value and keeps the place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), span: self.span }
    }
}

/// Equality is about the value: two files may say the same thing in different places.
impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// A run of bytes that stands in the value exactly as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where the run begins in the value.
    pub value_start: usize,
    /// Where the same run begins in the file.
    pub source_start: usize,
    /// How many bytes are alike.
    pub length: usize,
}

impl Segment {
    /// What is left of the run in a part of the value, which becomes the whole of it.
    fn within(&self, part: std::ops::Range<usize>) -> Option<Segment> {
        let start = self.value_start.max(part.start);
        let end = (self.value_start + self.length).min(part.end);
        (start < end).then(|| Segment {
            value_start: start - part.start,
            source_start: self.source_start + (start - self.value_start),
            length: end - start,
        })
    }
}

/// A string of the workflow (most often a template), after environment substitution.
#[derive(Debug, Clone)]
pub struct Text {
    /// The string itself.
    pub value: String,
    /// Where it was written in the workflow; for an included text, the place of the `!file` tag.
    pub span: Span,
    /// Path of the file that `!file` read this text from; `include` and `import` resolve beside it.
    pub base: Option<String>,
    /// The file that [`Text::place`] points into.
    pub(crate) origin: Arc<SourceFile>,
    /// Ordered by `value_start`; bytes between two segments have no exact place.
    pub(crate) segments: Vec<Segment>,
}

impl Text {
    /// A text without inner places: every offset maps to `span`.
    pub fn opaque(value: impl Into<String>, span: Span) -> Self {
        Self { value: value.into(), origin: span.file.clone(), span, base: None, segments: Vec::new() }
    }

    /// The same text without the blanks around it.
    pub fn trimmed(self) -> Self {
        let from = self.value.len() - self.value.trim_start().len();
        let to = from + self.value.trim().len();
        let segments = self.segments.iter().filter_map(|segment| segment.within(from..to)).collect();
        Self { value: self.value[from..to].to_owned(), segments, ..self }
    }

    /// The place in the file of a byte offset inside the value.
    ///
    /// Exact for bytes that stand in the file as they are; for others (escapes, folded line breaks, substituted
    /// variables) the end of what comes before them, and the place of the whole string where nothing is known.
    pub fn place(&self, offset: usize) -> Span {
        self.place_of(offset..offset)
    }

    /// The place in the file of a byte range inside the value; it does not run past the line.
    pub fn place_of(&self, range: std::ops::Range<usize>) -> Span {
        let index = self.segments.partition_point(|segment| segment.value_start <= range.start);
        let Some(segment) = index.checked_sub(1).map(|index| &self.segments[index]) else {
            return self.span.clone();
        };
        let within = (range.start - segment.value_start).min(segment.length);
        let length = range.len().max(1).min(segment.length - within);
        let start = segment.source_start + within;
        let line = self.origin.text[start..start + length].find('\n').unwrap_or(length);
        Span { file: self.origin.clone(), range: start..start + line.max(length.min(1)) }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.base == other.base
    }
}

/// A credential as it was written, such as `${OPENAI_API_KEY}`: resolved at launch, never in the plan.
#[derive(Clone, PartialEq)]
pub struct SecretText {
    /// The text without any substitution.
    pub raw: Spanned<String>,
}

/// A literal key may stand in a file; it must not reach a log through a debug print.
impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText(..)")
    }
}
