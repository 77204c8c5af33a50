//! The shapes of what members answer.

use indexmap::IndexMap;

use super::super::super::output::OutputField;
use super::super::super::text::Spanned;
use super::super::super::workflow::{Entry, OutputSchema, ValueType};
use crate::diagnostic::Span;

/// A vote with its reason. Options are told, not demanded: what is none of them is a spoilt vote, and no failure.
pub(super) fn vote(field: &str, options: &[Spanned<String>], span: &Span) -> OutputSchema {
    // A vote on a question that yes or no answers may well be a boolean.
    let kind = if options.is_empty() { ValueType::Any } else { ValueType::String };
    let mut choice = plain(kind, &about("what you vote for", options), span);
    choice.nullable = true;
    schema(vec![(field, choice), ("reason", plain(ValueType::String, "why", span))], span)
}

/// A ranking with its reason, the best first.
pub(super) fn ranking(field: &str, options: &[Spanned<String>], span: &Span) -> OutputSchema {
    let about = about("what you vote for, the best first", options);
    let mut list = plain(ValueType::Array, &about, span);
    list.items = Some(Box::new(plain(ValueType::String, "an option", span)));
    list.nullable = true;
    schema(vec![(field, list), ("reason", plain(ValueType::String, "why", span))], span)
}

fn about(what: &str, options: &[Spanned<String>]) -> String {
    let options: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    match options.is_empty() {
        true => format!("{what}; null to abstain"),
        false => format!("{what}: {}; null to abstain", options.join(", ")),
    }
}

/// One text that says something for each name.
pub(super) fn texts<'a>(named: impl Iterator<Item = (&'a str, String)>, span: &Span) -> OutputSchema {
    let text = |about: String| OutputField { min_length: Some(1), ..plain(ValueType::String, &about, span) };
    schema(named.map(|(name, about)| (name, text(about))).collect(), span)
}

fn schema(fields: Vec<(&str, OutputField)>, span: &Span) -> OutputSchema {
    let entry = |(name, value): (&str, OutputField)| {
        (name.to_owned(), Entry { key: Spanned::new(name.to_owned(), span.clone()), value })
    };
    OutputSchema { fields: fields.into_iter().map(entry).collect::<IndexMap<_, _>>(), span: span.clone() }
}

fn plain(kind: ValueType, about: &str, span: &Span) -> OutputField {
    OutputField::plain(kind, Some(about), span)
}
