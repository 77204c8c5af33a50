//! `capabilities` and `success_criteria`.

use super::super::capability::{Capabilities, Compaction, StuckLoop, Switch};
use super::super::keys::capability::{CHARACTERS, COMPACTION, PERCENT, STUCK_LOOP, SUCCESS_CRITERIA};
use super::super::shape::{ObjectType, Shape};
use super::super::text::Spanned;
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::workflow::SuccessCriteria;
use super::Reader;
use super::fields::Fields;
use super::fixed::{fixed, judge_fixed};
use super::scalars::Of;

/// Reads `capabilities` of an agent or of the runtime.
pub(super) fn capabilities(cx: &mut Reader<'_>, owner: &mut Fields<'_>) -> Capabilities {
    let Some(mut fields) = owner.object(cx, "capabilities") else { return Capabilities::default() };
    let read = Capabilities {
        stuck_loop: switch(cx, &mut fields, "stuck_loop", stuck_loop).map(|read| read.value),
        tool_output: switch(cx, &mut fields, "tool_output", characters).map(|read| read.value),
        compaction: switch(cx, &mut fields, "compaction", compaction),
        context_warnings: switch(cx, &mut fields, "context_warnings", percents).map(|read| read.value),
        max_iterations: fields.integer(cx, "max_iterations"),
        parallel_tools: fields.integer(cx, "parallel_tools"),
        placeholders: fields.choice(cx, "placeholders"),
    };
    said_twice(cx, owner, &fields, "max_agent_iterations", "max_iterations");
    said_twice(cx, owner, &fields, "tool_output", "tool_output");
    fields.finish(cx);
    read
}

/// Conductor's key and ours for the same number.
fn said_twice(cx: &mut Reader<'_>, owner: &Fields<'_>, fields: &Fields<'_>, other: &str, key: &str) {
    if let (Some(_), Some(place)) = (owner.place_of(other), fields.place_of(key)) {
        let message = format!("`{other}` and `capabilities.{key}` of {} exclude one another", owner.owner);
        cx.error("workflow::excludes", message, place, "both mean the same");
    }
}

/// True, false, or what goes with true.
fn switch<T: Default>(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
    read: fn(&mut Reader<'_>, &Node, Of<'_>) -> Option<T>,
) -> Option<Spanned<Switch<T>>> {
    let node = &fields.take(key)?.value;
    let read = match &node.value {
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Bool(true)) => Switch::On(T::default()),
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Bool(false)) => Switch::Off,
        _ => Switch::On(read(cx, node, Of { key, owner: &fields.owner })?),
    };
    Some(Spanned::new(read, node.span.clone()))
}

fn open<'t>(
    cx: &mut Reader<'_>,
    node: &'t Node,
    of: Of<'_>,
    object: &'static ObjectType,
) -> Option<Fields<'t>> {
    if !matches!(node.value, Value::Map(_)) {
        cx.wrong_type(node, of, "true, false or a mapping");
        return None;
    }
    Fields::open(cx, node, object, of.to_string())
}

fn stuck_loop(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<StuckLoop> {
    let mut fields = open(cx, node, of, &STUCK_LOOP)?;
    let repeats = fields.integer(cx, "repeats").map(|count| count.value as u32);
    let action = fields.choice(cx, "action").map(|action| action.value);
    fields.finish(cx);
    Some(StuckLoop { repeats, action })
}

fn compaction(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<Compaction> {
    let mut fields = open(cx, node, of, &COMPACTION)?;
    let at = fields.integer(cx, "at").map(|percent| percent.value as u8);
    let to = fields.integer(cx, "to").map(|percent| percent.value as u8);
    fields.finish(cx);
    Some(Compaction { at, to })
}

fn characters(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<Option<u64>> {
    cx.integer(node, of, bounds(CHARACTERS)).map(Some)
}

fn percents(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<Option<Vec<u8>>> {
    let Value::Seq(items) = &node.value else {
        cx.wrong_type(node, of, "true, false or a list of percents");
        return None;
    };
    let percent = |item| cx.integer(item, of, bounds(PERCENT)).map(|percent| percent as u8);
    let mut percents: Vec<u8> = items.iter().map(|item| &**item).filter_map(percent).collect();
    percents.sort_unstable();
    percents.dedup();
    Some(Some(percents))
}

fn bounds(shape: Shape) -> (u64, u64) {
    let Shape::Integer(min, max) = shape else { unreachable!("both are integers") };
    (min, max)
}

/// Reads `success_criteria`: a text, or a text with settings.
pub(super) fn success_criteria(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<SuccessCriteria> {
    let node = &fields.take("success_criteria")?.value;
    if !matches!(node.value, Value::Map(_)) {
        let criteria = cx.text(node, Of { key: "success_criteria", owner: &fields.owner })?;
        let criteria = judge_fixed(cx, &fields.owner, "success_criteria", criteria)?;
        return Some(SuccessCriteria { criteria, model: None, max_retries: 1 });
    }
    let mut fields = Fields::open(cx, node, &SUCCESS_CRITERIA, fields.owner_of("success_criteria"))?;
    let criteria = fixed(cx, &mut fields, "criteria");
    let model = fixed(cx, &mut fields, "model");
    let max_retries = fields.integer(cx, "max_retries").map_or(1, |count| count.value as u32);
    fields.finish(cx);
    Some(SuccessCriteria { criteria: criteria?, model, max_retries })
}
