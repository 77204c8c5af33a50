//! The shapes of what members answer.

use indexmap::IndexMap;

use super::super::super::output::OutputField;
use super::super::super::text::Spanned;
use super::super::super::workflow::{Entry, OutputSchema, ValueType};
use crate::diagnostic::Span;

/// A vote with its reason; with options, one of them, or null.
pub(super) fn vote(field: &str, options: &[Spanned<String>], span: &Span) -> OutputSchema {
    // A vote on a question that yes or no answers may well be a boolean.
    let kind = if options.is_empty() { ValueType::Any } else { ValueType::String };
    let mut choice = plain(kind, "what you vote for; null to abstain", span);
    choice.allowed = allowed(options, true);
    choice.nullable = true;
    schema(vec![(field, choice), ("reason", plain(ValueType::String, "why", span))], span)
}

/// A ranking with its reason, the best first.
pub(super) fn ranking(field: &str, options: &[Spanned<String>], span: &Span) -> OutputSchema {
    let mut list = plain(ValueType::Array, "what you vote for, the best first; null to abstain", span);
    let mut item = plain(ValueType::String, "an option", span);
    item.allowed = allowed(options, false);
    list.items = Some(Box::new(item));
    list.nullable = true;
    schema(vec![(field, list), ("reason", plain(ValueType::String, "why", span))], span)
}

/// One text for each name.
pub(super) fn texts<'a>(named: impl Iterator<Item = (&'a str, String)>, span: &Span) -> OutputSchema {
    schema(named.map(|(name, about)| (name, plain(ValueType::String, &about, span))).collect(), span)
}

fn allowed(options: &[Spanned<String>], or_abstain: bool) -> Option<Vec<serde_json::Value>> {
    if options.is_empty() {
        return None;
    }
    let abstain = or_abstain.then_some("abstain");
    Some(options.iter().map(|option| option.value.as_str()).chain(abstain).map(Into::into).collect())
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
