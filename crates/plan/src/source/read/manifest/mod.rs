//! Execution manifests, from the tree to the typed form.
//!
//! Keys that have two names (`mode` and `execution_mode`) may stand once. What agents have in common with steps is read
//! by the readers of steps.

mod agent;
mod answer;
mod head;
mod models;
mod output_schema;

pub(super) use head::head;
pub(in crate::source) use models::service_and_model;
pub(super) use models::{judge_service, parted};
pub(super) use output_schema::output_schema;

use std::time::Duration;

use super::super::keys::manifest::MANIFEST;
use super::super::manifest::{AgentSpec, Head, Manifest, ManifestDefaults, Mode, Protocol, Team};
use super::super::text::{Spanned, Text};
use super::super::tree::Node;
use super::Reader;
use super::fields::Fields;
use super::header;
use super::scalars::Of;
use crate::diagnostic::Label;

/// What agents have that say nothing of their own.
struct Defaults {
    timeout: Option<Spanned<Duration>>,
    max_retries: Option<Spanned<u64>>,
    roles: models::Roles,
}

/// Reads a manifest from the root of its tree.
pub(in crate::source) fn manifest(cx: &mut Reader<'_>, root: &Node) -> Option<Manifest> {
    let mut fields = Fields::open(cx, root, &MANIFEST, "the manifest".to_owned())?;
    fields.word(cx, "kind");
    let mut head = head(cx, &mut fields);
    head.limits.max_concurrency = concurrency(cx, &mut fields, head.limits.max_concurrency.take());
    keep_origin(cx, &mut fields, &mut head);
    let defaults = Defaults {
        timeout: fields.duration(cx, "timeout"),
        max_retries: fields.integer(cx, "max_retries").or_else(|| default_retries(&head.metadata, &fields)),
        roles: models::roles(cx, &mut fields),
    };
    let manifest = Manifest {
        agents: agents(cx, &mut fields, &defaults),
        query: fields.template(cx, "query"),
        context: fields.template(cx, "context"),
        mode: mode(cx, &mut fields),
        barrier: fields.flag(cx, "barrier", false),
        batch_size: fields.integer(cx, "batch_size"),
        attempt: ManifestDefaults::default().attempt,
        synthesis: answer::synthesis(cx, &mut fields, &defaults),
        verify: answer::verification(cx, &mut fields, &head.metadata, &defaults),
        team: team(cx, &mut fields),
        head,
    };
    reserved_inputs(cx, &manifest);
    without_effect(cx, &fields, &manifest);
    fields.take("kg_template_id");
    fields.finish(cx);
    Some(manifest)
}

fn agents(cx: &mut Reader<'_>, fields: &mut Fields<'_>, defaults: &Defaults) -> Vec<AgentSpec> {
    let place = fields.place_of("agents").cloned();
    let empty = fields.list(cx, "agents").is_some_and(<[_]>::is_empty);
    if let (true, Some(place)) = (empty, place) {
        let message = "`agents` of the manifest is empty";
        cx.error("workflow::empty_value", message, &place, "at least one agent is required here");
    }
    header::items(cx, fields, "agents", "agent", |cx, node, fallback| {
        agent::agent(cx, node, fallback, defaults)
    })
}

/// The words of the original are kept with those of the writer.
fn keep_origin(cx: &mut Reader<'_>, fields: &mut Fields<'_>, head: &mut Head) {
    for key in ["manifest_id", "source"] {
        if let Some(text) = fields.text(cx, key).filter(|text| !text.value.is_empty()) {
            head.metadata.entry(key).or_insert(text.value.into());
        }
    }
}

/// `metadata.max_retries` of the original.
fn default_retries(
    metadata: &serde_json::Map<String, serde_json::Value>,
    fields: &Fields<'_>,
) -> Option<Spanned<u64>> {
    let count = metadata.get("max_retries")?.as_u64()?;
    Some(Spanned::new(count.min(100), fields.head.clone()))
}

fn mode(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Mode {
    one_of(cx, fields, &["mode", "execution_mode"]);
    let mode = fields.choice(cx, "mode");
    mode.or(fields.choice(cx, "execution_mode")).map(|word| word.value).unwrap_or_default()
}

/// Reports keys that mean the same and stand together; gives the one that is written.
fn one_of(cx: &mut Reader<'_>, fields: &Fields<'_>, keys: &[&'static str]) -> Option<&'static str> {
    let mut written = keys.iter().filter(|key| fields.place_of(key).is_some());
    let first = *written.next()?;
    for second in written {
        let (here, there) = (fields.place_of(second)?, fields.place_of(first)?);
        let message = format!("{} has both `{first}` and `{second}`, which mean the same", fields.owner);
        let finding = cx.error("workflow::excludes", message, here, "keep one of the two");
        finding.labels.push(Label { span: there.clone(), text: "the other one".into() });
    }
    Some(first)
}

/// A text below one of several keys that mean the same.
fn template_of(cx: &mut Reader<'_>, fields: &mut Fields<'_>, keys: &[&'static str]) -> Option<Text> {
    let written = one_of(cx, fields, keys);
    let mut found = None;
    for key in keys {
        let text = fields.template(cx, key);
        found = if written == Some(*key) { text } else { found };
    }
    found
}

/// `max_concurrency` of the top, or the one of `limits`.
fn concurrency(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    below: Option<Spanned<u64>>,
) -> Option<Spanned<u64>> {
    let Some(limit) = fields.integer(cx, "max_concurrency") else { return below };
    if below.is_some() {
        let message = "`max_concurrency` stands at the top of the manifest and in its `limits`";
        cx.error("workflow::excludes", message, &limit.span, "keep one of the two");
    }
    Some(limit)
}

fn team(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Team> {
    let stated = fields.choice::<Protocol>(cx, "coordination_protocol");
    let Some(mut block) = fields.object(cx, "team") else {
        let protocol = stated.filter(|word| word.value != Protocol::Auto)?;
        return Some(Team { protocol, lead: None, judge: None, rounds: None, vote: None });
    };
    let own = block.choice::<Protocol>(cx, "protocol");
    if let (Some(own), Some(stated)) = (&own, &stated)
        && own.value != stated.value
    {
        let message = "`protocol` of `team` contradicts `coordination_protocol`";
        cx.error("workflow::excludes", message, &own.span, "another protocol");
    }
    let protocol = own.or(stated);
    let (lead, judge) = (block.text(cx, "lead"), block.text(cx, "judge"));
    let (rounds, vote) = (block.integer(cx, "rounds"), block.value(cx, "vote"));
    if block.place_of("protocol").or(fields.place_of("coordination_protocol")).is_none() {
        let message = "`team` has no `protocol`, and the manifest no `coordination_protocol`";
        cx.error("workflow::missing_key", message, &block.head, "how do they work together?");
    }
    block.finish(cx);
    let protocol = protocol.filter(|word| word.value != Protocol::Auto)?;
    Some(Team { protocol, lead, judge, rounds, vote })
}

/// Warns of what says how agents follow one another where something else does, or where nothing holds them apart.
fn without_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, manifest: &Manifest) {
    let mut no_effect = |key: &str, why: &str| {
        if let Some(place) = fields.place_of(key) {
            let message = format!("`{key}` of the manifest has no effect {why}");
            cx.warning("workflow::no_effect", message, place, "has no effect");
        }
    };
    if manifest.team.is_some() {
        let stated = manifest.mode != Mode::Auto;
        let keys = ["mode", "execution_mode"].into_iter().filter(|_| stated).chain(["barrier", "batch_size"]);
        keys.for_each(|key| no_effect(key, "in a team: its protocol sets the order of agents"));
    } else if !manifest.barrier {
        no_effect("batch_size", "without `barrier: true`");
    }
}

/// What every manifest takes already cannot be declared.
fn reserved_inputs(cx: &mut Reader<'_>, manifest: &Manifest) {
    let taken = [("query", manifest.query.is_some()), ("context", manifest.context.is_some())];
    let declared = manifest.head.inputs.iter().flatten();
    for (name, entry) in declared {
        if taken.iter().any(|(word, written)| name == word && *written) {
            let message = format!("the manifest has `{name}` and declares an input of that name");
            cx.error("workflow::excludes", message, &entry.key.span, "keep one of the two");
        }
    }
}

/// Whether something could be a path to a list.
fn is_path(cx: &mut Reader<'_>, text: &Spanned<String>, of: Of<'_>) -> bool {
    super::group::check_source(cx, text, of)
}
