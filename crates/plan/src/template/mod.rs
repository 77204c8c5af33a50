//! Templates and conditions: Jinja2 as Python has it, on minijinja.
//!
//! [`Renderer`] holds every text of a plan and renders it with a context; [`parse_template`] and [`parse_condition`]
//! say before a run what is wrong with a text and what it refers to. Minijinja supplies parser, virtual machine and
//! values; what Python would do differently (text of values, comparison, `%`, slices, filters, methods) is ours:
//! `rewrite` turns such operators into calls of `operators`, `filters`, `predicates`, `methods` and `globals` are
//! registered once per [`Renderer`].
//!
//! Reading rendered text back as a value is left to `value`, choosing what a step may see to the scheduler.
//! Invariant: rendering touches nothing but its arguments and always ends: fuel, bytes and
//! recursion are bounded (`limits`), a text that nests too deeply is refused before it is parsed (`depth`), and another
//! thread may end it at any moment (`cancellation`).

mod arguments;
mod bounds;
mod condition;
mod environment;
mod error;
mod filters;
mod flags;
mod formatting;
mod globals;
mod json;
mod list;
mod methods;
mod of_output;
mod operators;
mod parse;
mod partials;
mod predicates;
mod python;
mod references;
mod renderer;
mod rewrite;
#[cfg(test)]
mod tests;

use bounds::{cancellation, depth, guards, limits};
use parse::{expression, parsed, plain, quoted, tail};

pub use minijinja::value::{Enumerator, Object, Value, ValueKind};

pub use cancellation::Cancellation;
pub use error::{RenderError, RenderFault, TemplateError};
pub use filters::NAMES as FILTER_NAMES;
pub use flags::flags_value;
pub use json::{from_json, from_json_text, to_json};
pub use of_output::holds_for_output;
pub use parsed::{Include, Parsed, ParsedCondition, find_includes, parse_condition, parse_template};
pub use python::python_text;
pub use references::Reference;
pub use renderer::{ConditionId, ConditionSource, Renderer, TemplateId, TemplateSource};

/// Whether a text holds no template syntax at all, so that rendering it gives the text itself.
pub fn is_literal(text: &str) -> bool {
    first_tag(text).is_none()
}

/// Where the first tag of a text begins.
fn first_tag(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_tag = |at: &usize| matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#'));
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(at, _)| at).find(is_tag)
}
