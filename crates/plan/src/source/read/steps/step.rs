//! One step: its type decides which keys it may have.

use super::super::super::keys::step::{STEP_KEYS, StepKey, StepType, step_key};
use super::super::super::roles::PREFIX;
use super::super::super::section::Keys;
use super::super::super::text::Spanned;
use super::super::super::tree::{Node, Pair, Value};
use super::super::super::workflow::{Common, Step, StepKind};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::scalars::{Of, head};
use convoke_model::nearest;

/// Reads a step; `fallback` names it in messages until its own name is known.
pub(in crate::source::read) fn step(cx: &mut Reader<'_>, node: &Node, fallback: &str) -> Option<Step> {
    let pairs = match &node.value {
        Value::Map(pairs) => pairs,
        Value::Broken => return None,
        _ => {
            let message = format!("{fallback} must be a mapping, found {}", node.describe());
            cx.error("workflow::wrong_type", message, &head(node), "not a mapping");
            return None;
        }
    };
    let mut fields = Fields::of_step(node, pairs, fallback.to_owned());
    let name = name(cx, &mut fields);
    if !name.value.is_empty() {
        fields.owner = format!("step `{}`", name.value);
    }
    let kind = step_type(cx, &mut fields);
    if let Some(kind) = kind {
        fields.guess(&own_keys(kind).collect::<Vec<_>>());
        judge_keys(cx, &fields, kind);
        fields.of_type(kind);
    }
    role_only(cx, &mut fields);
    let common = Common::take(cx, &mut fields)?;
    let kind = kind.and_then(|kind| read_kind(cx, &mut fields, kind)).unwrap_or(StepKind::Unknown);
    Some(Step { name, kind, common })
}

/// Reads the name of a step or group; an empty one stands for a missing one.
pub(in crate::source::read) fn name(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Spanned<String> {
    let name = fields.text(cx, "name");
    if let Some(name) = &name
        && name.value.trim().is_empty()
    {
        let message = format!("`name` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &name.span, "a name is required here");
    }
    name.unwrap_or_else(|| Spanned::new(String::new(), fields.head.clone()))
}

/// What a role gives stands beside it already; a step has no role of another kind.
pub(in crate::source::read) fn role_only(cx: &mut Reader<'_>, fields: &mut Fields<'_>) {
    let Some(role) = fields.text(cx, "role").filter(|role| !role.value.trim().starts_with(PREFIX)) else {
        return;
    };
    let message = format!("`role` of {} is `{}`, not a role of an organisation", fields.owner, role.value);
    cx.error("workflow::unknown_value", message, &role.span, "not a role").help =
        Some("write `org:FILE#ROLE`".to_owned());
}

/// The type as written, or the one that a misspelt word was meant to be (which is reported); `None` when the word is
/// like none.
fn step_type(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<StepType> {
    let Some(pair) = fields.take("type") else { return Some(StepType::Agent) };
    let word = cx.text(&pair.value, Of { key: "type", owner: &fields.owner })?;
    let known = StepType::from_word(&word.value);
    match (known, word.value.as_str()) {
        (None, "for_each" | "parallel") => {
            let message = format!("`type` of {} is `{}`, which is a group", fields.owner, word.value);
            let finding = cx.error("workflow::unknown_value", message, &word.span, "not a type of step");
            finding.help = Some(format!("groups stand in the top-level list `{}`", word.value));
        }
        (None, _) => cx.unknown_word(&word, Of { key: "type", owner: &fields.owner }, StepType::WORDS),
        _ => {}
    }
    let near = || nearest(&word.value, StepType::WORDS.iter().copied()).and_then(StepType::from_word);
    known.or_else(near)
}

fn read_kind(cx: &mut Reader<'_>, fields: &mut Fields<'_>, kind: StepType) -> Option<StepKind> {
    Some(match kind {
        StepType::Agent => StepKind::Agent(Box::new(Keys::take(cx, fields)?)),
        StepType::Goal => StepKind::Goal(Box::new(Keys::take(cx, fields)?)),
        StepType::HumanGate => StepKind::HumanGate(Keys::take(cx, fields)?),
        StepType::Questions => StepKind::Questions(Keys::take(cx, fields)?),
        StepType::Reduce => StepKind::Reduce(Box::new(Keys::take(cx, fields)?)),
        StepType::Script => StepKind::Script(Box::new(Keys::take(cx, fields)?)),
        StepType::Set => StepKind::Set(Keys::take(cx, fields)?),
        StepType::Terminate => StepKind::Terminate(Keys::take(cx, fields)?),
        StepType::Tool => StepKind::Tool(Box::new(Keys::take(cx, fields)?)),
        StepType::Verify => StepKind::Verify(Box::new(Keys::take(cx, fields)?)),
        StepType::Wait => StepKind::Wait(Keys::take(cx, fields)?),
        StepType::Workflow => StepKind::Workflow(Keys::take(cx, fields)?),
    })
}

/// Reports keys that are missing, unknown, of another type, or without effect here.
fn judge_keys(cx: &mut Reader<'_>, fields: &Fields<'_>, kind: StepType) {
    for row in STEP_KEYS.iter().filter(|row| row.is_required_by(kind)) {
        fields.require(cx, row.key.name);
    }
    for pair in fields.pairs() {
        match step_key(&pair.key.value) {
            None => unknown(cx, fields, pair, kind),
            Some(row) if row.is_used_by(kind) => {}
            Some(row) if row.is_ignored_by(kind) => without_effect(cx, fields, pair, kind, row),
            Some(_) if is_nothing(pair) => {}
            Some(row) => not_allowed(cx, fields, pair, kind, row),
        }
    }
}

/// Conductor takes an absent value, and `routes: []`, anywhere.
fn is_nothing(pair: &Pair) -> bool {
    pair.value.is_null() || matches!(&pair.value.value, Value::Seq(items) if items.is_empty())
}

/// The keys that a type of step uses.
fn own_keys(kind: StepType) -> impl Iterator<Item = &'static str> + Clone {
    STEP_KEYS.iter().filter(move |row| row.is_used_by(kind)).map(|row| row.key.name)
}

fn unknown(cx: &mut Reader<'_>, fields: &Fields<'_>, pair: &Pair, kind: StepType) {
    let title = format!("a step of type {}", kind.word());
    let own = own_keys(kind);
    if nearest(&pair.key.value, own.clone()).is_some() {
        return cx.unknown_key(&pair.key, &fields.owner, &title, own);
    }
    let all = STEP_KEYS.iter().map(|row| row.key.name);
    match nearest(&pair.key.value, all.clone()) {
        Some(_) => cx.unknown_key(&pair.key, &fields.owner, &title, all),
        None => cx.unknown_key(&pair.key, &fields.owner, &title, own),
    }
}

fn without_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, pair: &Pair, kind: StepType, row: &StepKey) {
    if is_nothing(pair) {
        return;
    }
    let message =
        format!("`{}` of {} has no effect on a step of type {}", row.key.name, fields.owner, kind.word());
    cx.warning("workflow::no_effect", message, &pair.key.span, "has no effect").help = Some(owners(row));
}

fn not_allowed(cx: &mut Reader<'_>, fields: &Fields<'_>, pair: &Pair, kind: StepType, row: &StepKey) {
    let message =
        format!("`{}` is not allowed on {}, which is of type {}", row.key.name, fields.owner, kind.word());
    let help = match row.instead {
        "" => owners(row),
        advice => format!("{}; {advice}", owners(row)),
    };
    cx.error("workflow::not_allowed_here", message, &pair.key.span, "not allowed here").help = Some(help);
}

fn owners(row: &StepKey) -> String {
    let types: Vec<&str> = row.owners().map(StepType::word).collect();
    match types.len() {
        count if count + 1 >= StepType::ALL.len() => {
            format!("`{}` belongs to every other type of step", row.key.name)
        }
        _ => format!("`{}` belongs to steps of type {}", row.key.name, types.join(", ")),
    }
}
