//! Conditions (`when`): which expression a text is, and the names that it may use.

use std::ops::Range;
use std::sync::Arc;

use minijinja::machinery::{Token, parse_expr, tokenize};
use minijinja::value::{Enumerator, Object, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::depth;
use super::environment::syntax;
use super::error::TemplateError;
use super::renderer::unplaced;

/// What stands before the expression in the template that a condition becomes.
pub(super) const BEFORE: &str = "{% if (";
/// What stands after it.
const AFTER: &str = ") %}1{% endif %}";
/// The name of the test for texts that say no; not for authors.
const SAYS_NO: &str = "says_no";

/// The template that a condition becomes, and where its expression begins in the text as written.
pub(super) fn template(text: &str) -> (String, usize) {
    let range = expression(text).unwrap_or(0..text.len());
    let inside = &text[range.clone()];
    let template = match is_plain(text, &range) {
        true => [BEFORE, inside, AFTER].concat(),
        // Inside braces a value once was a text that was looked at: a model's or a command's "no" still is one.
        false => [BEFORE, inside, ") and not ((", inside, ") is ", SAYS_NO, AFTER].concat(),
    };
    (template, range.start)
}

/// Whether a condition is written without braces.
fn is_plain(text: &str, range: &Range<usize>) -> bool {
    text.trim().len() == range.len()
}

/// Registers what only conditions use.
pub(super) fn register(environment: &mut Environment<'_>) {
    environment.add_test(SAYS_NO, |value: &Value| value.as_str().is_some_and(says_no));
}

fn says_no(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "" | "no" | "false" | "0")
}

/// Finds the expression in a condition: the whole text, or what a single `{{ }}` encloses.
pub(super) fn expression(text: &str) -> Result<Range<usize>, TemplateError> {
    let whole = trimmed(text, 0..text.len());
    if whole.is_empty() {
        return Err(TemplateError::new("the condition is empty", None));
    }
    if text.contains("{%") && !text.contains("{{") {
        return Err(TemplateError::new("a condition is an expression, it has no {% %} blocks", Some(whole)));
    }
    if !(text.contains("{{") && text.contains("}}")) {
        return Ok(whole);
    }
    match single_variable(&text[whole.clone()]) {
        Some(inner) => {
            let inner = trimmed(text, whole.start + inner.start..whole.start + inner.end);
            if inner.is_empty() {
                Err(TemplateError::new("the condition is empty", Some(whole)))
            } else {
                Ok(inner)
            }
        }
        None if is_string_with_braces(&text[whole.clone()]) => Ok(whole),
        None => Err(mixed(text, whole)),
    }
}

/// Whether a condition is one whole expression: what stands around it in its template must not make one of it.
pub(super) fn well_formed(text: &str) -> Result<(), Error> {
    let range = expression(text).map_err(|error| Error::new(ErrorKind::SyntaxError, error.message))?;
    parse_expr(&text[range]).map(drop).map_err(unplaced)
}

pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..(start + inside.trim().len())
}

/// The inside of a text that is one `{{ }}` and nothing else.
pub(super) fn single_variable(text: &str) -> Option<Range<usize>> {
    let tokens: Vec<_> = tokenize(text, false, syntax()).collect::<Result<_, _>>().ok()?;
    let [(Token::VariableStart, first), inner @ .., (Token::VariableEnd, last)] = tokens.as_slice() else {
        return None;
    };
    let nested = inner.iter().any(|(token, _)| {
        matches!(
            token,
            Token::VariableStart | Token::VariableEnd | Token::BlockStart | Token::TemplateData(_)
        )
    });
    (!nested).then_some(first.end_offset as usize..last.start_offset as usize)
}

/// Whether a plain expression has braces only inside its strings.
fn is_string_with_braces(text: &str) -> bool {
    let shallow = depth::check(text, true).is_ok();
    !text.starts_with("{{") && shallow && minijinja::machinery::parse_expr(text).is_ok()
}

fn mixed(text: &str, range: Range<usize>) -> TemplateError {
    let plain = text.replace("{{", "").replace("}}", "");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    TemplateError::new("a condition is one expression, not text around {{ }}", Some(range))
        .with_help(format!("write `when: \"{plain}\"`"))
}

/// The context of a condition: the names themselves, then the fields of `output`, then `name_field`.
///
/// Without braces a field of `output` comes before a step of the same name, unless the text reads that step.
#[derive(Debug)]
pub(super) struct Flattened {
    context: Value,
    plain: Option<Arc<str>>,
}

impl Flattened {
    pub(super) fn new(context: Value, text: &Arc<str>) -> Flattened {
        let plain = expression(text).is_ok_and(|range| is_plain(text, &range));
        Flattened { context, plain: plain.then(|| text.clone()) }
    }

    /// The field of `output` that a bare name means although something else has the name as well.
    fn rather(&self, name: &str) -> Option<Value> {
        let text = self.plain.as_deref()?;
        let reserved = matches!(name, "output" | "workflow" | "context");
        let read = ["output", "error"].iter().any(|key| text.contains(&format!("{name}.{key}")));
        if reserved || read { None } else { self.field("output", name) }
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        let map = self.direct(name).filter(|map| map.kind() == ValueKind::Map)?;
        map.as_object()?.get_value(&Value::from(field))
    }

    fn direct(&self, name: &str) -> Option<Value> {
        self.context.as_object()?.get_value(&Value::from(name))
    }
}

impl Object for Flattened {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let joined = || name.match_indices('_').find_map(|(at, _)| self.field(&name[..at], &name[at + 1..]));
        let rather = || self.rather(name);
        let output = || self.field("output", name);
        rather().or_else(|| self.direct(name)).or_else(output).or_else(joined)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.context.try_iter() {
            Ok(names) => Enumerator::Values(names.collect()),
            Err(_) => Enumerator::Empty,
        }
    }
}
