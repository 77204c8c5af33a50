//! Models that a step asks on its way, and what a step expects of others' outputs.

use indexmap::IndexMap;

use super::super::keys::reduce::{ASKED, DEPENDENCY_TOKENS};
use super::super::shape::Shape;
use super::super::text::{Spanned, Text};
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::workflow::{AgentStep, Entry, OutputSchema};
use super::fields::Fields;
use super::fixed::{fixed, models};
use super::provider::provider;
use super::scalars::Of;
use super::{Reader, agent, output, runtime};

/// Tokens of each output, where only `true` is said.
const DEPENDENCY_DEFAULT: u64 = 2_000;

/// Reads what every model has that can be asked: agents, and those that a step asks on its way.
pub(super) fn asked(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> AgentStep {
    AgentStep {
        provider: fields.take("provider").and_then(|pair| provider(cx, &pair.value, &fields.owner)),
        model: fields.template(cx, "model"),
        models: models(cx, fields, "model"),
        system_prompt: fields.template(cx, "system_prompt"),
        temperature: fields.number(cx, "temperature"),
        max_tokens: fields.integer(cx, "max_tokens"),
        context_window: fields.integer(cx, "context_window"),
        timeouts: runtime::timeouts(cx, fields),
        max_session: fields.seconds(cx, "max_session_seconds"),
        reasoning_effort: agent::effort(cx, fields),
        repair_model: fixed(cx, fields, "repair_model"),
        ..AgentStep::default()
    }
}

/// Reads a block of such keys.
pub(super) fn block(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<AgentStep> {
    let block = fields.object(cx, key)?;
    Some(whole_block(cx, block))
}

/// Reads a whole block: the words of the question, and what every model has.
pub(super) fn whole_block(cx: &mut Reader<'_>, mut block: Fields<'_>) -> AgentStep {
    let prompt = block.template(cx, "prompt");
    refuse_empty(cx, &block, prompt.as_ref());
    let read = AgentStep { prompt, ..asked(cx, &mut block) };
    block.finish(cx);
    read
}

/// Nothing can be asked by an empty text that stands in the place of ours.
pub(super) fn refuse_empty(cx: &mut Reader<'_>, fields: &Fields<'_>, prompt: Option<&Text>) {
    if let Some(empty) = prompt.filter(|prompt| prompt.value.trim().is_empty()) {
        let message = format!("`prompt` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &empty.span, "leave it out to use the built-in prompt");
    }
}

/// Reads `dependency_outputs`.
pub(super) fn dependency_outputs(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<u64>> {
    let node = &fields.take("dependency_outputs")?.value;
    let tokens = match switch(node) {
        Some(true) => Some(DEPENDENCY_DEFAULT),
        Some(false) => None,
        None => {
            let Shape::Integer(min, max) = DEPENDENCY_TOKENS else { unreachable!("a whole number") };
            cx.integer(node, Of { key: "dependency_outputs", owner: &fields.owner }, (min, max))
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
pub(super) fn expects(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> IndexMap<String, Entry<OutputSchema>> {
    let read = |cx: &mut Reader<'_>, pair: &super::super::tree::Pair, owner: &str| {
        let owner = format!("`{}` in {owner}", pair.key.value);
        let shape = output::shape(cx, &pair.value, &owner)?;
        if shape.fields.is_empty() {
            let message = format!("{owner} names no field");
            cx.error("workflow::empty_value", message, &pair.key.span, "say which fields must be there");
        }
        Some(shape)
    };
    fields.map(cx, "expects", read).unwrap_or_default()
}

/// Reads `repair_input`: whether, or with which model.
pub(super) fn repair_input(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Box<AgentStep>> {
    let pair = fields.take("repair_input")?;
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
        cx.wrong_type(
            &pair.value,
            Of { key: "repair_input", owner: &fields.owner },
            "true, false or a mapping",
        );
        return None;
    }
    let block = Fields::open(cx, &pair.value, &ASKED, fields.owner_of("repair_input"))?;
    Some(Box::new(whole_block(cx, block)))
}
