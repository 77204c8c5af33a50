//! Personas and their relationships.

use super::super::super::keys::personas::{PERSONA, RELATIONSHIP};
use super::super::super::personas::{Persona, Relationship};
use super::super::super::text::{Spanned, Text};
use super::super::super::tree::Node as Tree;
use super::super::super::workflow::Clearance;
use super::super::Reader;
use super::super::ensure;
use super::super::fields::Fields;
use super::super::manifest::{judge_service, parted};
use super::super::steps::role_only;
use super::name;
use convoke_model::clearance::is_within;

/// Reads a persona.
pub(super) fn persona(cx: &mut Reader<'_>, node: &Tree, owner: String) -> Option<Persona> {
    let mut fields = Fields::open(cx, node, &PERSONA, owner)?;
    let id = name(cx, &mut fields, "id");
    if !id.value.is_empty() {
        fields.owner = format!("persona `{}`", id.value);
    }
    role_only(cx, &mut fields);
    let constraint = filled(cx, &mut fields, "modelConstraint");
    constraint
        .iter()
        .for_each(|model| judge_service(cx, model, &format!("`modelConstraint` of {}", fields.owner)));
    let model = constraint.map(|model| Text::opaque(model.value, model.span));
    let (provider, model) = match model.as_ref().and_then(parted) {
        Some((provider, model)) => (Some(provider), Some(model)),
        None => (None, model),
    };
    let only = model.as_ref().map(|model| Spanned::new(model.value.clone(), model.span.clone()));
    let (ensure, protect) = ensure::pair(cx, &mut fields);
    let persona = Persona {
        ensure,
        protect,
        id,
        display_name: fields.text(cx, "displayName"),
        prompt: prompt(cx, &mut fields),
        model,
        provider,
        clearance: Clearance { model: only, ..clearance(cx, &mut fields) },
        actor: filled(cx, &mut fields, "actorId"),
    };
    fields.finish(cx);
    Some(persona)
}

/// What stands around the text is no part of it.
fn prompt(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Text> {
    let text = fields.template(cx, "systemPromptTemplate")?;
    if text.value.trim().is_empty() {
        let message = format!("`systemPromptTemplate` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &text.span, "describe the role");
        return None;
    }
    Some(text.trimmed())
}

fn filled(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    fields.place_of(key)?;
    Some(name(cx, fields, key)).filter(|text| !text.value.is_empty())
}

fn clearance(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Clearance {
    let Some(mut fields) = fields.object(cx, "toolClearance") else { return Clearance::default() };
    let clearance = Clearance {
        allow: fields.names(cx, "allowlist"),
        ban: fields.names(cx, "banlist").unwrap_or_default(),
        model: None,
    };
    let banned: Vec<&str> = clearance.ban.iter().map(|name| name.value.as_str()).collect();
    let both = |tool: &&Spanned<String>| is_within(&tool.value, &banned);
    for tool in clearance.allow.iter().flatten().filter(both) {
        let message =
            format!("the tool `{}` stands in both lists of {}: it is banned", tool.value, fields.owner);
        cx.warning("workflow::no_effect", message, &tool.span, "the ban wins");
    }
    fields.finish(cx);
    clearance
}

/// Reads a relationship.
pub(super) fn relationship(cx: &mut Reader<'_>, node: &Tree, owner: String) -> Option<Relationship> {
    let mut fields = Fields::open(cx, node, &RELATIONSHIP, owner)?;
    let parent = name(cx, &mut fields, "parentPersonaId");
    let child = name(cx, &mut fields, "childPersonaId");
    let mut bounds = (None, None);
    if let Some(mut constraints) = fields.object(cx, "constraints") {
        bounds = (constraints.integer(cx, "maxDepth"), constraints.integer(cx, "maxChildren"));
        constraints.finish(cx);
    }
    fields.finish(cx);
    let (max_depth, max_children) = bounds;
    Some(Relationship { parent, child, max_depth, max_children })
}
