//! Models as manifests name them: `provider:model`, and roles that stand for models.

use indexmap::IndexMap;

use super::super::super::settings::{Provider, Runtime};
use super::super::super::text::{Spanned, Text};
use super::super::super::words::PROVIDERS;
use super::super::super::workflow::{AgentStep, Entry, VerifyStep};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::provider;
use super::super::scalars::Of;
use crate::diagnostic::Span;
use convoke_model::nearest;

/// Models by role.
pub(super) type Roles = IndexMap<String, Entry<Spanned<String>>>;

/// Names of services that manifests use besides ours.
const ALIASES: &[(&str, &str)] =
    &[("google", "gemini"), ("google-gla", "gemini"), ("google-vertex", "gemini"), ("azure-openai", "azure")];

/// Reads `model_roles`.
pub(super) fn roles(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Roles {
    let read = |cx: &mut Reader<'_>, pair: &super::super::super::tree::Pair, owner: &str| {
        cx.text(&pair.value, Of { key: &pair.key.value, owner })
    };
    fields.map(cx, "model_roles", read).unwrap_or_default()
}

/// Gives an agent the model that it names by itself, by `model_id` or by its role.
pub(super) fn choose(cx: &mut Reader<'_>, fields: &mut Fields<'_>, step: &mut AgentStep, roles: &Roles) {
    super::one_of(cx, fields, &["model", "model_id", "models"]);
    let id = fields.template(cx, "model_id");
    let role = fields.text(cx, "model_role").filter(|role| !role.value.trim().is_empty());
    if step.models.is_some() {
        return;
    }
    let named = step.model.take().or(id).filter(|model| !model.value.trim().is_empty());
    step.model = named.or_else(|| of_role(cx, fields, role?, roles));
    if let Some(model) = &step.model {
        reject_service_alone(cx, &model.value, &model.span);
    }
    if let Some((provider, model)) = step.model.as_ref().and_then(parted) {
        if step.provider.is_none() {
            step.provider = Some(provider);
        }
        step.model = Some(model);
    }
}

/// Gives assessor and repairer the model of a role, where they name none.
pub(super) fn examiners(cx: &mut Reader<'_>, fields: &mut Fields<'_>, step: &mut VerifyStep, roles: &Roles) {
    let role = fields.text(cx, "model_role").filter(|role| !role.value.trim().is_empty());
    let Some(model) = role.and_then(|role| of_role(cx, fields, role, roles)) else { return };
    for asked in [&mut step.assessor, &mut step.repairer] {
        if asked.model.is_none() && asked.models.is_none() {
            let parts = parted(&model);
            asked.model = Some(parts.as_ref().map_or(&model, |(_, name)| name).clone());
            asked.provider = asked.provider.take().or(parts.map(|(provider, _)| provider));
        }
    }
}

/// A role without a model is no error: the agent has the one of all agents.
fn of_role(cx: &mut Reader<'_>, fields: &Fields<'_>, role: Spanned<String>, roles: &Roles) -> Option<Text> {
    if let Some(entry) = roles.get(&role.value) {
        return Some(Text::opaque(entry.value.value.clone(), entry.value.span.clone()));
    }
    let message = format!("`model_role` of {}: no model has the role `{}`", fields.owner, role.value);
    let finding = cx.warning("workflow::no_effect", message, &role.span, "has no effect");
    let near = nearest(&role.value, roles.keys().map(String::as_str));
    finding.help = Some(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("say it in `model_roles`: {{{}: MODEL}}", role.value),
    });
    None
}

/// `provider:model`, where the first is the name of a service; `llama3:8b` is a model.
pub(in crate::source::read) fn parted(text: &Text) -> Option<(Provider, Text)> {
    let (service, model) = service_and_model(&text.value)?;
    Some((named(service, &text.span), Text::opaque(model, text.span.clone())))
}

/// The same of a name alone.
pub(in crate::source) fn service_and_model(name: &str) -> Option<(&'static str, &str)> {
    let (service, model) = name.split_once(':')?;
    Some((service_of(service).filter(|_| !model.trim().is_empty())?, model))
}

/// What stands before the colon is probably meant to be a service, and is none.
pub(in crate::source::read) fn judge_service(cx: &mut Reader<'_>, text: &Spanned<String>, owner: &str) {
    reject_service_alone(cx, &text.value, &text.span);
    let Some((service, model)) = text.value.split_once(':') else { return };
    if model.trim().is_empty() || service_of(service).is_some() || is_tagged(service, model) {
        return;
    }
    let known = PROVIDERS.iter().copied().chain(ALIASES.iter().map(|(alias, _)| *alias));
    if let Some(near) = nearest(service, known) {
        let message =
            format!("{owner}: `{service}` is no known service, so all of `{}` is the model", text.value);
        let finding = cx.warning("workflow::unknown_provider", message, &text.span, "no such service");
        finding.help = Some(format!("did you mean `{near}:{model}`?"));
    }
}

/// A model and its tag, as `llama3:8b` and `mistral:latest`: services have no digits in their names, and tags begin with them.
fn is_tagged(model: &str, tag: &str) -> bool {
    model.contains(|c: char| c.is_ascii_digit())
        || tag == "latest"
        || tag.starts_with(|c: char| c.is_ascii_digit())
}

/// `openai:` names a service and no model.
pub(super) fn reject_service_alone(cx: &mut Reader<'_>, text: &str, span: &Span) {
    let service = text.trim().strip_suffix(':').and_then(service_of);
    if let Some(service) = service {
        let message = format!("`{text}` names the service `{service}` and no model");
        cx.error("workflow::empty_value", message, span, "a model is missing").help =
            Some(format!("write `{service}:MODEL`, or `provider: {service}`"));
    }
}

fn service_of(name: &str) -> Option<&'static str> {
    let known = PROVIDERS.iter().find(|known| **known == name).copied();
    known.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, service)| *service))
}

/// The model of agents that name none.
pub(super) fn default(runtime: &mut Runtime, model: Spanned<String>) {
    let text = Text::opaque(model.value.clone(), model.span.clone());
    match parted(&text) {
        Some((provider, name)) => {
            runtime.default_model = Some(Spanned::new(name.value, name.span));
            runtime.provider = runtime.provider.take().or(Some(provider));
        }
        None => runtime.default_model = Some(model),
    }
}

/// A provider that is written as a bare name.
fn named(name: &str, span: &Span) -> Provider {
    provider::short(Spanned::new(name.to_owned(), span.clone()))
}
