//! Says what is wrong with the YAML itself, at the place where an author would look for it.

use std::sync::Arc;

use granit_parser::{ErrorKind, ScanError};

use crate::diagnostic::{Diagnostic, SourceFile, Span};

/// Where the parser stood when it gave up.
pub(super) struct Progress {
    /// End of the last thing that was read.
    pub read_to: usize,
    /// The bracket that is still open, innermost.
    pub open: Option<usize>,
}

/// Turns the parser's complaint into a diagnostic.
pub(super) fn report(error: &ScanError, file: &Arc<SourceFile>, progress: &Progress) -> Diagnostic {
    let offset = error.marker().byte_offset().unwrap_or(progress.read_to).min(file.text.len());
    if let Some(tab) = offending_tab(error.kind(), &file.text, offset) {
        return tab_in_indentation(file, tab);
    }
    if let Some(quote) = open_quote(error.kind(), &file.text, progress.read_to) {
        return at(file, quote, "yaml syntax: this quote is not closed".to_owned(), "opened here")
            .also(place(file, offset), "and still open here");
    }
    let message = format!("yaml syntax: {}", explain(error.kind()));
    let diagnostic = at(file, offset, message, "the reader stopped here");
    match progress.open {
        Some(open) => diagnostic.also(place(file, open), "this bracket is still open"),
        None => diagnostic,
    }
}

fn explain(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::UnexpectedCharacter { character } => {
            format!("a value cannot begin with `{character}`, put it in quotes")
        }
        ErrorKind::MappingValueNotAllowed => {
            "`: ` is not allowed here, put text that contains it in quotes".to_owned()
        }
        ErrorKind::InvalidColonPlacement => {
            "`:` is not allowed here, expected `,` or a closing bracket before it".to_owned()
        }
        ErrorKind::RecursionLimitExceeded => "too many levels of nesting".to_owned(),
        other => other.to_string(),
    }
}

fn offending_tab(kind: &ErrorKind, text: &str, offset: usize) -> Option<usize> {
    let about_tabs = matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
    );
    let line_start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let indentation = text[line_start..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    let in_indentation =
        indentation.into_iter().position(|byte| byte == b'\t').map(|index| line_start + index);
    if !about_tabs {
        return in_indentation;
    }
    // The parser points at the scalar that the tab interrupts; the tab itself comes after it.
    in_indentation.or_else(|| text[offset..].find('\t').map(|index| offset + index))
}

fn tab_in_indentation(file: &Arc<SourceFile>, tab: usize) -> Diagnostic {
    let span = Span { file: file.clone(), range: tab..tab + 1 };
    Diagnostic::error("yaml::tab", "yaml syntax: a tab stands in the indentation", span, "this is a tab")
        .help("YAML allows only spaces for indentation")
}

fn open_quote(kind: &ErrorKind, text: &str, read_to: usize) -> Option<usize> {
    let about_quotes = matches!(
        kind,
        ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::UnclosedQuotedScalar
            | ErrorKind::DocumentIndicatorInQuotedScalar
    );
    let rest = text.get(read_to..)?;
    about_quotes.then(|| rest.find(['"', '\''])).flatten().map(|index| read_to + index)
}

fn at(file: &Arc<SourceFile>, offset: usize, message: String, label: &str) -> Diagnostic {
    Diagnostic::error("yaml::syntax", message, place(file, offset), label)
}

fn place(file: &Arc<SourceFile>, offset: usize) -> Span {
    let end = file.text[offset..].chars().next().map_or(offset, |c| offset + c.len_utf8());
    Span { file: file.clone(), range: offset..end }
}
