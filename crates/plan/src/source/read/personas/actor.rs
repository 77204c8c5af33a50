//! Actors: models and programs that play roles.

use indexmap::IndexMap;

use super::super::super::keys::personas::ACTOR;
use super::super::super::keys::step::{StepType, step_key};
use super::super::super::personas::Actor;
use super::super::super::section::Keys;
use super::super::super::tree::Node as Tree;
use super::super::super::workflow::{AgentStep, Common, Entry, ScriptStep, WorkerKind};
use super::super::Reader;
use super::super::fields::Fields;

/// Reads `actors`.
pub(super) fn actors(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> IndexMap<String, Entry<Actor>> {
    let read = fields.map(cx, "actors", |cx, pair, _| actor(cx, &pair.value, &pair.key.value));
    read.unwrap_or_default()
}

fn actor(cx: &mut Reader<'_>, node: &Tree, name: &str) -> Option<Actor> {
    let mut fields = Fields::open_extended(cx, node, &ACTOR, format!("actor `{name}`"))?;
    let is_script = fields.word(cx, "type").is_some_and(|word| word.value == "script");
    let kind = if is_script { StepType::Script } else { StepType::Agent };
    judge_keys(cx, &fields, kind);
    let common = Common::take(cx, &mut fields)?;
    // Both readers take the keys of their type; what belongs to the other one was judged above.
    let script = ScriptStep::take(cx, &mut fields)?;
    let asked = AgentStep::take(cx, &mut fields)?;
    let kind = match is_script {
        true => WorkerKind::Script(Box::new(script)),
        false => WorkerKind::Agent(Box::new(asked)),
    };
    fields.finish(cx);
    Some(Actor { kind, common })
}

/// Keys of the other type, and a program that is not named.
fn judge_keys(cx: &mut Reader<'_>, fields: &Fields<'_>, kind: StepType) {
    if kind == StepType::Script {
        fields.require(cx, "command");
    }
    for pair in fields.pairs() {
        let Some(row) = step_key(&pair.key.value).filter(|_| pair.key.value != "type") else { continue };
        let is_known = ACTOR.keys().any(|key| key.name == pair.key.value);
        if is_known && !row.is_used_by(kind) {
            let word = kind.word();
            let message =
                format!("`{}` is not allowed on {}, which is of type {word}", pair.key.value, fields.owner);
            cx.error("workflow::not_allowed_here", message, &pair.key.span, "not allowed here");
        }
    }
}
