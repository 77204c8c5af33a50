//! `type: tool`: what it is called with.

use super::super::super::tree::scalar::{Typed, typed};
use super::super::super::tree::{Node, Pair, Value};
use super::super::super::workflow::{Argument, Arguments, Entry};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::scalars::Of;

/// Reads what a tool is called with.
pub fn arguments(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Arguments {
    fields.map(cx, key, named).unwrap_or_default()
}

fn named(cx: &mut Reader<'_>, pair: &Pair, owner: &str) -> Option<Argument> {
    argument(cx, &pair.value, Of { key: &pair.key.value, owner })
}

fn argument(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<Argument> {
    match &node.value {
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Text(_)) => {
            cx.template(node, of).map(Argument::Text)
        }
        Value::Scalar(_) => Some(Argument::Value(cx.json(node))),
        Value::Seq(items) => {
            Some(Argument::List(items.iter().filter_map(|item| argument(cx, item, of)).collect()))
        }
        Value::Map(pairs) => {
            let owner = of.to_string();
            let entry = |pair: &Pair| {
                let value = named(cx, pair, &owner)?;
                Some((pair.key.value.clone(), Entry { key: pair.key.clone(), value }))
            };
            Some(Argument::Map(pairs.iter().filter_map(entry).collect()))
        }
        Value::Broken => None,
    }
}
