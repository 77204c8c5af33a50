//! Findings about texts that cannot be read as a template or a condition.

use super::text::Text;
use crate::diagnostic::Diagnostic;
use crate::template::TemplateError;

/// A condition that cannot be read.
pub(crate) fn broken_condition(owner: &str, text: &Text, error: TemplateError) -> Diagnostic {
    let message = format!("{owner}: the condition `{}` cannot be read: {}", text.value.trim(), error.message);
    broken("workflow::condition_syntax", message, text, error)
}

/// A text whose template or condition cannot be read, at the place of the mistake inside it.
pub(crate) fn broken(code: &'static str, message: String, text: &Text, error: TemplateError) -> Diagnostic {
    let place = error.range.map_or_else(|| text.span.clone(), |range| text.place_of(range));
    let found = Diagnostic::error(code, message, place, "here");
    match error.help {
        Some(help) => found.help(help),
        None => found,
    }
}
