//! `capabilities` and `success_criteria`.

use super::super::capability::{CHARACTERS, Capabilities, Compaction, PERCENT, StuckLoop, Switch};
use super::super::section::{Keys, Section};
use super::super::shape::Shape;
use super::super::text::Spanned;
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::workflow::SuccessCriteria;
use super::Reader;
use super::fields::Fields;
use super::fixed::judge_fixed;
use super::scalars::Of;

/// Reads `capabilities` of an agent or of the runtime.
pub fn capabilities(cx: &mut Reader<'_>, owner: &mut Fields<'_>, key: &str) -> Capabilities {
    let Some(mut fields) = owner.object(cx, key) else { return Capabilities::default() };
    let read = Capabilities::take(cx, &mut fields);
    said_twice(cx, owner, &fields, "max_agent_iterations", "max_iterations");
    said_twice(cx, owner, &fields, "tool_output", "tool_output");
    fields.finish(cx);
    read.unwrap_or_default()
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

/// Settings of something that can also be switched.
fn settings<T: Section>(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<T> {
    if !matches!(node.value, Value::Map(_)) {
        cx.wrong_type(node, of, "true, false or a mapping");
        return None;
    }
    T::at(cx, node, of.to_string())
}

/// Reads `stuck_loop`.
pub fn stuck_loop(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Switch<StuckLoop>> {
    switch(cx, fields, key, settings).map(|read| read.value)
}

/// Reads `compaction`.
pub fn compaction(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> Option<Spanned<Switch<Compaction>>> {
    switch(cx, fields, key, settings)
}

/// Reads `tool_output`: characters.
pub fn tool_output(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Switch<Option<u64>>> {
    let read =
        |cx: &mut Reader<'_>, node: &Node, of: Of<'_>| cx.integer(node, of, bounds(CHARACTERS)).map(Some);
    switch(cx, fields, key, read).map(|read| read.value)
}

/// Reads `context_warnings`: percents.
pub fn context_warnings(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> Option<Switch<Option<Vec<u8>>>> {
    switch(cx, fields, key, percents).map(|read| read.value)
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
pub fn success_criteria(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<SuccessCriteria> {
    let node = &fields.take(key)?.value;
    if !matches!(node.value, Value::Map(_)) {
        let criteria = cx.text(node, fields.of(key))?;
        let criteria = judge_fixed(cx, &fields.owner, key, criteria)?;
        return Some(SuccessCriteria { criteria, model: None, max_retries: 1 });
    }
    SuccessCriteria::at(cx, node, fields.owner_of(key))
}
