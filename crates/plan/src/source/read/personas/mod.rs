//! Persona manifests, from the tree to the typed form.
//!
//! Only what stands in one place is judged here; names that lead nowhere, circles and what contradicts itself between
//! two places are left to `source::personas`.

mod actor;
mod edge;
mod node;
mod persona;

use super::super::keys::personas::{EVENT, PERSONAS};
use super::super::personas::{EventType, Manifest};
use super::super::text::Spanned;
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node as Tree, Value};
use super::super::words::Words;
use super::Reader;
use super::fields::Fields;
use super::header;
use super::manifest::{head, output_schema};
use super::scalars::Of;
use crate::plan::{ProjectPlace, Topology};

/// Reads a manifest from the root of its tree.
pub(in crate::source) fn personas(cx: &mut Reader<'_>, root: &Tree) -> Option<Manifest> {
    let mut fields = Fields::open(cx, root, &PERSONAS, "the manifest".to_owned())?;
    fields.word(cx, "kind");
    schema_version(cx, &mut fields);
    let (entry, nodes, edges) = node::pipeline(cx, &mut fields);
    let (max_depth, max_retries) = node::constraints(cx, &mut fields);
    let manifest = Manifest {
        head: head(cx, &mut fields),
        personas: header::items(cx, &mut fields, "personas", "persona", persona::persona),
        relationships: header::items(cx, &mut fields, "relationships", "relationship", persona::relationship),
        topologies: topologies(cx, &mut fields),
        nodes,
        edges,
        entry,
        max_depth,
        max_retries,
        events: header::items(cx, &mut fields, "events", "event", event),
        actors: actor::actors(cx, &mut fields),
        hard_failures: fields.integer(cx, "hardFailures"),
        violation: fields.choice(cx, "violationMode"),
        project: project(cx, &mut fields),
    };
    not_empty(cx, &mut fields, "personas");
    fields.finish(cx);
    Some(manifest)
}

/// The number is as good as the text: YAML makes one of the other.
fn schema_version(cx: &mut Reader<'_>, fields: &mut Fields<'_>) {
    let Some(pair) = fields.take("schemaVersion") else { return };
    let is_one = matches!(&pair.value.value, Value::Scalar(scalar) if scalar.raw == "1");
    if !is_one {
        fields.word(cx, "schemaVersion");
    }
}

/// Reports a list without entries.
fn not_empty(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) {
    let place = fields.place_of(key).cloned();
    let pair = fields.take(key);
    let is_empty =
        pair.is_some_and(|pair| matches!(&pair.value.value, Value::Seq(items) if items.is_empty()));
    if let (true, Some(place)) = (is_empty, place) {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &place, "at least one is required here");
    }
}

fn topologies(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Vec<Spanned<Topology>>> {
    let items = fields.list(cx, "topologies")?;
    let of = Of { key: "topologies", owner: &fields.owner };
    let words = items.iter().filter_map(|item| cx.choice(item, of, Topology::WORDS));
    Some(words.filter_map(|word| Some(Spanned::new(Topology::from_word(word.value)?, word.span))).collect())
}

fn project(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> ProjectPlace {
    let Some(pair) = fields.take("project") else { return ProjectPlace::default() };
    let of = Of { key: "project", owner: &fields.owner };
    if let Value::Scalar(scalar) = &pair.value.value
        && let Typed::Bool(wanted) = typed(scalar)
    {
        return if wanted { ProjectPlace::Usual } else { ProjectPlace::Nowhere };
    }
    match cx.text(&pair.value, of) {
        Some(path) if path.value.trim().is_empty() => {
            let message = format!("{of} is empty");
            cx.error("workflow::empty_value", message, &path.span, "true, false or the path of a file");
            ProjectPlace::Usual
        }
        Some(path) => ProjectPlace::At(path.value),
        None => ProjectPlace::Usual,
    }
}

/// A name, or a name with the shape of what is said about it.
fn event(cx: &mut Reader<'_>, node: &Tree, owner: String) -> Option<EventType> {
    if matches!(node.value, Value::Scalar(_)) {
        let kind = cx.text(node, Of { key: "events", owner: "the manifest" })?;
        return Some(EventType { kind, schema: None, any_status: None });
    }
    let mut fields = Fields::open(cx, node, &EVENT, owner)?;
    let kind = fields.text(cx, "type");
    if let Some(kind) = &kind {
        fields.owner = format!("event `{}`", kind.value);
    }
    fields.text(cx, "description");
    let schema = output_schema(cx, &mut fields, "schema");
    let any_status = fields.boolean(cx, "anyStatus").filter(|any| any.value);
    fields.finish(cx);
    Some(EventType { kind: kind?, schema, any_status })
}

/// A text that must say something; an empty one stands for a missing one.
fn name(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Spanned<String> {
    let name = fields.text(cx, key);
    if let Some(name) = name.as_ref().filter(|name| name.value.trim().is_empty()) {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &name.span, "a name is required here");
    }
    let name = name.filter(|name| !name.value.trim().is_empty());
    name.unwrap_or_else(|| Spanned::new(String::new(), fields.head.clone()))
}
