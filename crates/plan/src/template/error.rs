//! What can be wrong with a template, before and during a run.
//!
//! Both errors carry what a reader needs to find the place: the range of bytes in the text as it was written, never
//! in the text as it was rewritten.

use std::ops::Range;

/// A text that cannot become a template or a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes of the text.
    pub range: Option<Range<usize>>,
    /// What to write instead, where that is known.
    pub help: Option<String>,
}

impl TemplateError {
    pub(super) fn new(message: impl Into<String>, range: Option<Range<usize>>) -> TemplateError {
        TemplateError { message: message.into(), range, help: None }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> TemplateError {
        self.help = Some(help.into());
        self
    }

    /// The same for a message that has said already that a text cannot be read.
    pub(crate) fn without_kind(mut self) -> TemplateError {
        if let Some(detail) = self.message.strip_prefix("template syntax error: ") {
            self.message = detail.to_owned();
        }
        self
    }
}

/// Why rendering failed, as far as callers act differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderFault {
    /// The text is no valid template.
    Syntax,
    /// It reads something that is not there.
    Undefined,
    /// It used up its fuel, its bytes or its depth.
    Limit,
    /// It was cancelled, which says nothing about the text.
    Cancelled,
    /// Anything else: a wrong type, a failed conversion, a division by zero.
    Other,
}

/// A template or a condition that could not be rendered with the given context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{expression}`: {message}")]
pub struct RenderError {
    /// `template` or `condition`.
    pub what: &'static str,
    /// What went wrong.
    pub message: String,
    /// The tag or the condition in which it went wrong.
    pub expression: String,
    /// The partial in which it went wrong; `None` for the text itself.
    pub file: Option<String>,
    /// Where, in bytes of the text (or of the partial).
    pub range: Option<Range<usize>>,
    /// The kind of failure.
    pub fault: RenderFault,
}
