//! Models that a step asks on its way, and what a step expects of others' outputs.

use indexmap::IndexMap;

use super::super::keys::reduce::HELPER_MODEL;
use super::super::section::Keys;
use super::super::shape::Shape;
use super::super::text::{Spanned, Text};
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::workflow::{AgentStep, DEPENDENCY_TOKENS, Entry, OutputSchema};
use super::fields::Fields;
use super::{Reader, output};

/// Tokens of each output, where only `true` is said.
const DEPENDENCY_DEFAULT: u64 = 2_000;

/// Reads a model that a step asks on its way, from a block of its own.
pub fn helper_model(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Box<AgentStep> {
    Box::new(block(cx, fields, key).unwrap_or_default())
}

/// Reads the block of a model below a key.
pub fn block(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<AgentStep> {
    let block = fields.object(cx, key)?;
    whole_block(cx, block)
}

/// Reads a whole block: the words of the question, and what every model has.
fn whole_block(cx: &mut Reader<'_>, mut block: Fields<'_>) -> Option<AgentStep> {
    let read = AgentStep::take(cx, &mut block);
    refuse_empty(cx, &block, read.as_ref().and_then(|read| read.prompt.as_ref()));
    // What a role must prove is read beside its model (`goal::proofs`).
    for key in ["ensure", "protect"] {
        if block.has(key) {
            block.take(key);
        }
    }
    block.finish(cx);
    read
}

/// Nothing can be asked by an empty text that stands in the place of ours.
pub fn refuse_empty(cx: &mut Reader<'_>, fields: &Fields<'_>, prompt: Option<&Text>) {
    if let Some(empty) = prompt.filter(|prompt| prompt.value.trim().is_empty()) {
        let message = format!("`prompt` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &empty.span, "leave it out to use the built-in prompt");
    }
}

/// Reads the model whose keys stand on the step itself.
pub fn own_model(cx: &mut Reader<'_>, fields: &mut Fields<'_>, _: &str) -> Option<Box<AgentStep>> {
    AgentStep::take(cx, fields).map(Box::new)
}

/// Reads `dependency_outputs`.
pub fn dependency_outputs(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<u64>> {
    let node = &fields.take(key)?.value;
    let tokens = match switch(node) {
        Some(true) => Some(DEPENDENCY_DEFAULT),
        Some(false) => None,
        None => {
            let Shape::Integer(min, max) = DEPENDENCY_TOKENS else { unreachable!("a whole number") };
            cx.integer(node, fields.of(key), (min, max))
        }
    };
    tokens.map(|tokens| Spanned::new(tokens, node.span.clone()))
}

fn switch(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// Reads `expects`.
pub fn expects(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> IndexMap<String, Entry<OutputSchema>> {
    let read = |cx: &mut Reader<'_>, pair: &super::super::tree::Pair, owner: &str| {
        let owner = format!("`{}` in {owner}", pair.key.value);
        let shape = output::shape(cx, &pair.value, &owner)?;
        if shape.fields.is_empty() {
            let message = format!("{owner} names no field");
            cx.error("workflow::empty_value", message, &pair.key.span, "say which fields must be there");
        }
        Some(shape)
    };
    fields.map(cx, key, read).unwrap_or_default()
}

/// Reads `repair_input`: whether, or with which model.
pub fn repair_input(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Box<AgentStep>> {
    let pair = fields.take(key)?;
    if fields.place_of("expects").is_none() {
        let message = format!("`repair_input` of {} goes with `expects` only", fields.owner);
        cx.error("workflow::needs_key", message, &pair.key.span, "nothing says which shape is meant");
    }
    match switch(&pair.value) {
        Some(true) => return Some(Box::default()),
        Some(false) => return None,
        None => {}
    }
    if !matches!(pair.value.value, Value::Map(_)) {
        cx.wrong_type(&pair.value, fields.of(key), "true, false or a mapping");
        return None;
    }
    let block = Fields::open(cx, &pair.value, &HELPER_MODEL, fields.owner_of(key))?;
    whole_block(cx, block).map(Box::new)
}
