//! Reads `approve`: a word, a list of tools, or a mapping. On a goal, `true` and `false` are about its plan.

use convoke_model::{ApprovalLevel, Approvals};

use super::super::approvals::Approve;
use super::super::section::Section;
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::super::words::Words;
use super::Reader;
use super::fields::Fields;

/// What an agent says about the calls of its tools.
pub fn approve(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Approvals> {
    let node = &fields.take(key)?.value;
    match &node.value {
        Value::Scalar(_) if is_switch(node) && fields.has("plan_only") => None,
        Value::Scalar(_) if is_switch(node) => {
            cx.wrong_type(node, fields.of(key), "none, high-risk, all, a list of tools or a mapping");
            None
        }
        Value::Scalar(_) => {
            let word = cx.choice(node, fields.of(key), <ApprovalLevel as Words>::WORDS)?;
            ApprovalLevel::from_word(word.value).map(Approvals::of)
        }
        Value::Seq(items) => {
            let names = items.iter().filter_map(|item| cx.text(item, fields.of(key)));
            Some(Approvals { tools: names.map(|name| name.value).collect(), ..Approvals::default() })
        }
        Value::Map(_) => Approve::at(cx, node, fields.owner_of(key)).map(|approve| approve.stated()),
        Value::Broken => None,
    }
}

/// Whether a goal's plan must be approved by a person.
pub fn of_plan(_: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> bool {
    let Some(pair) = fields.take(key) else { return false };
    matches!(&pair.value.value, Value::Scalar(scalar) if matches!(typed(scalar), Typed::Bool(true)))
}

fn is_switch(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if matches!(typed(scalar), Typed::Bool(_)))
}
