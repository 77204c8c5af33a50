//! `ensure`: a list of conditions, or a block with settings.

use super::super::section::Section;
use super::super::text::{Spanned, Text};
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::workflow::ensure::{BARE, Claim, ConditionKeys, Ensure, EnsureBlock, Ensured, Open};
use super::Reader;
use super::fields::Fields;
use super::scalars::Of;
use convoke_model::Condition;

/// Reads `ensure`.
pub fn ensure(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Ensure> {
    let node = &fields.take(key)?.value;
    of_node(cx, node, &fields.owner_of(key))
}

/// Reads the value of an `ensure`.
pub fn of_node(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Ensure> {
    let (span, of) = (node.span.clone(), Of { key: "ensure", owner });
    let read = match &node.value {
        Value::Seq(items) => {
            Ensure { conditions: listed(cx, items, owner), max_retries: None, span: span.clone() }
        }
        Value::Map(_) => {
            let block = EnsureBlock::at(cx, node, owner.to_owned())?;
            Ensure { conditions: block.conditions, max_retries: block.max_retries, span: span.clone() }
        }
        Value::Broken => return None,
        Value::Scalar(_) => {
            cx.wrong_type(node, of, "a list of conditions, or a mapping with `conditions`");
            return None;
        }
    };
    let is_empty = match &node.value {
        Value::Seq(items) => items.is_empty(),
        _ => false,
    };
    if is_empty {
        let message = format!("{owner} names no condition");
        cx.error("workflow::empty_value", message, &span, "say what must hold, or leave the key out");
    }
    Some(read)
}

/// Reads `conditions`.
pub fn conditions(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<Ensured> {
    let owner = fields.owner.clone();
    let items = fields.list(cx, key).unwrap_or_default();
    listed(cx, items, &owner)
}

fn listed(cx: &mut Reader<'_>, items: &[std::rc::Rc<Node>], owner: &str) -> Vec<Ensured> {
    let read = |(index, item): (usize, &std::rc::Rc<Node>)| {
        condition(cx, item, format!("entry {} of {owner}", index + 1))
    };
    items.iter().enumerate().filter_map(read).collect()
}

fn condition(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<Ensured> {
    let span = node.span.clone();
    if !matches!(node.value, Value::Map(_)) {
        let word = cx.choice(node, Of { key: "a condition", owner: &owner }, BARE)?;
        let what = match word.value {
            "tests_pass" => Claim::TestsPass(None),
            _ => Claim::DiffNotEmpty(Vec::new()),
        };
        return Some(Ensured { what, span });
    }
    let stated = count(node);
    let keys = ConditionKeys::at(cx, node, owner.clone())?;
    let claims: Vec<Claim> = claims(keys).collect();
    if stated != 1 {
        let message = match stated {
            0 => format!("{owner} says nothing"),
            _ => format!("{owner} says several things; each condition is an entry of its own"),
        };
        let words = Condition::WORDS.join(", ");
        cx.error("workflow::excludes", message, &span, "one condition is required here").help =
            Some(format!("a condition is one of {words}"));
    }
    claims.into_iter().next().map(|what| Ensured { what, span })
}

/// How many keys of conditions a mapping has, whether or not their values can be read.
fn count(node: &Node) -> usize {
    let Value::Map(pairs) = &node.value else { return 0 };
    pairs.iter().filter(|pair| Condition::WORDS.contains(&pair.key.value.as_str())).count()
}

fn claims(keys: ConditionKeys) -> impl Iterator<Item = Claim> {
    let ConditionKeys { file_exists, file_changed, diff_not_empty, command, tests_pass, tool_called, that } =
        keys;
    [
        file_exists.map(Claim::FileExists),
        file_changed.map(Claim::FileChanged),
        diff_not_empty.map(|paths| Claim::DiffNotEmpty(paths.unwrap_or_default())),
        command.map(Claim::Command),
        tests_pass.map(Claim::TestsPass),
        tool_called.map(Claim::ToolCalled),
        that.map(Claim::That),
    ]
    .into_iter()
    .flatten()
}

/// Reads `diff_not_empty`: true, or patterns.
pub fn paths(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Open<Vec<Text>> {
    let node = &fields.take(key)?.value;
    match &node.value {
        Value::Seq(items) => {
            let texts = items.iter().filter_map(|item| cx.template(item, fields.of(key)));
            Some(Some(texts.collect()))
        }
        _ => is_true(cx, node, fields.of(key), "true or a list of patterns").then_some(None),
    }
}

/// Reads `tests_pass`: true, or a command.
pub fn tests(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Open<Text> {
    let node = &fields.take(key)?.value;
    match &node.value {
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Text(_)) => {
            cx.template(node, fields.of(key)).map(Some)
        }
        _ => is_true(cx, node, fields.of(key), "true or a command").then_some(None),
    }
}

/// A condition that is switched off would look like one that holds.
fn is_true(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, expected: &str) -> bool {
    let found = match &node.value {
        Value::Scalar(scalar) => matches!(typed(scalar), Typed::Bool(true)),
        _ => false,
    };
    if !found && !matches!(node.value, Value::Broken) {
        cx.wrong_type(node, of, expected);
    }
    found
}

/// Reads `ensure` and `protect` of a mapping of its own.
pub fn pair(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> (Option<Ensure>, Vec<Spanned<String>>) {
    (ensure(cx, fields, "ensure"), fields.names(cx, "protect").unwrap_or_default())
}
