//! What is wrong with a source text, and where.
//!
//! A diagnostic is data: `cli` draws it (miette) or prints it as JSON. Diagnostics are collected, never thrown one by
//! one, so that an author sees all of them at once.

use std::ops::Range;
use std::sync::Arc;

/// A text as it was read, kept so that a diagnostic can show the line it speaks of.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as the person would recognise it.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// A place in a source text: a byte range.
#[derive(Debug, Clone)]
pub struct Span {
    /// The text that the range belongs to.
    pub file: Arc<SourceFile>,
    /// Byte offsets into that text.
    pub range: Range<usize>,
}

impl Span {
    /// Line and column of the start, both from 1; the column counts characters.
    pub fn line_column(&self) -> (usize, usize) {
        let start = self.range.start.min(self.file.text.len());
        let before = &self.file.text[..self.file.text.floor_char_boundary(start)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}

/// How much a diagnostic matters: errors stop a run, warnings do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The plan would run, but probably not as meant.
    Warning,
    /// The plan cannot run.
    Error,
}

/// One finding about a source text.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// A stable code such as `workflow::unknown_step`; each has a page in `docs/errors/`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// Lower case, no full stop: the thing, then the cause.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where; the first is the main place.
    pub labels: Vec<Label>,
}

/// A place with a few words about it.
#[derive(Debug, Clone)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, code, message, span, label)
    }

    /// A warning at a place.
    pub fn warning(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, code, message, span, label)
    }

    fn new(
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        let labels = vec![Label { span, text: label.into() }];
        Self { code, severity, message: message.into(), help: None, labels }
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a second place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }
}
