//! A text that is one `{{ expression }}` and nothing else: what counts is the value, not the words for it.
//!
//! Where values are wanted (the arguments of a tool) a list stays a list. Such a text becomes a template that gives the
//! value a name; the name is looked up when the template has run.

use std::ops::Range;

use minijinja::{State, Value};

use super::super::condition::{single_variable, trimmed};

/// What stands before the expression in the template that such a text becomes.
pub(in crate::template) const BEFORE: &str = "{% set __value = (";
/// What stands after it.
const AFTER: &str = ") %}";
/// The name that the template gives to the value.
const NAME: &str = "__value";

/// The place of the expression in a text that has nothing beside it, white space apart.
pub(in crate::template) fn alone(text: &str) -> Option<Range<usize>> {
    let whole = trimmed(text, 0..text.len());
    let inner = single_variable(&text[whole.clone()])?;
    let inner = trimmed(text, whole.start + inner.start..whole.start + inner.end);
    (!inner.is_empty()).then_some(inner)
}

/// The template that such a text becomes, and where its expression begins in the text as written.
pub(in crate::template) fn template(text: &str) -> (String, usize) {
    let range = alone(text).unwrap_or(0..text.len());
    (naming(&text[range.clone()]), range.start)
}

/// The template that gives the value of an expression a name.
pub(in crate::template) fn naming(expression: &str) -> String {
    [BEFORE, expression, AFTER].concat()
}

/// The value, once the template has run; `None` where it is undefined.
pub(in crate::template) fn value_of(state: &State<'_, '_>) -> Option<Value> {
    state.lookup(NAME).filter(|value| !value.is_undefined())
}

#[cfg(test)]
mod tests {
    use super::alone;

    #[test]
    fn only_a_single_expression_stands_alone() {
        for text in ["{{ a }}", " {{ a.b | list }}\n", "{{- a -}}", "{{ a if b else '}' }}"] {
            assert!(alone(text).is_some(), "{text}");
        }
        for text in ["", "a", "x {{ a }}", "{{ a }}{{ b }}", "{% if a %}{% endif %}", "{{ }}", "{{ a"] {
            assert!(alone(text).is_none(), "{text}");
        }
    }
}
