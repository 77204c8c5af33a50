//! `provider` of the runtime or of an agent: which settings go with which provider.

use indexmap::IndexMap;

use super::super::address::is_http;
use super::super::keys::runtime::PROVIDER;
use super::super::section::FromNode;
use super::super::settings::{Program, Provider};
use super::super::shape::Shape;
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::super::words::{PROVIDERS, SERVICES};
use super::Reader;
use super::fields::Fields;
use super::runtime::{judge_provider, non_blank};
use super::scalars::Of;
use super::server::bad_address;

const COPILOT: &[&str] = &["copilot"];
const SCRIPTED: &[&str] = &["scripted"];
const HERMES: &[&str] = &["hermes"];
const ACA: &[&str] = &["aca"];

/// Keys that go with some of the known providers only. A name that a configuration defines may take all of the
/// general ones.
const OWNERS: &[(&str, &[&str])] = &[
    ("base_url", &["copilot", "hermes"]),
    ("api_key", &["copilot", "hermes"]),
    ("api_key_file", &["copilot"]),
    ("auth_token", &["claude", "anthropic"]),
    ("bearer_token", COPILOT),
    ("headers", COPILOT),
    ("file", SCRIPTED),
    ("latency_ms", SCRIPTED),
    ("type", COPILOT),
    ("wire_api", COPILOT),
    ("azure", COPILOT),
    ("runtime_url", COPILOT),
    ("runtime_token", COPILOT),
    ("hermes_home", HERMES),
    ("hermes_toolsets", HERMES),
    ("hermes_skip_memory", HERMES),
    ("hermes_skip_context_files", HERMES),
    ("pool_endpoint", ACA),
    ("api_version", ACA),
    ("inner_provider", ACA),
    ("identifier_scope", ACA),
    ("egress", ACA),
    ("lifecycle", ACA),
    ("auth", ACA),
];
/// Keys that every service takes which answers here.
const OF_SERVICES: &[&str] = &["base_url", "api_key", "api_key_file", "headers"];
const GENERAL: &[&str] =
    &["base_url", "api_key", "api_key_file", "auth_token", "bearer_token", "headers", "type", "wire_api"];

impl FromNode for Provider {
    const SHAPE: Shape = Shape::OneOf(&[Shape::Text, Shape::Object(&PROVIDER)]);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, _: Shape) -> Option<Self> {
        provider(cx, node, of.owner)
    }
}

/// Reads a provider, as a name or with settings.
pub(super) fn provider(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Provider> {
    if !matches!(node.value, Value::Map(_)) {
        let name = cx.text(node, Of { key: "provider", owner })?;
        judge_provider(cx, &name, owner);
        return Some(short(name));
    }
    let mut fields = Fields::open(cx, node, &PROVIDER, format!("`provider` of {owner}"))?;
    let name =
        fields.text(cx, "name").unwrap_or_else(|| Spanned::new("copilot".to_owned(), fields.head.clone()));
    judge_provider(cx, &name, owner);
    fields.owner = format!("provider `{}`", name.value);
    judge_owners(cx, &fields, &name.value);
    let provider = with_settings(cx, &mut fields, name);
    judge_dependents(cx, &fields, &provider);
    fields.finish(cx);
    Some(provider)
}

/// A provider that is written as a bare name.
pub(super) fn short(name: Spanned<String>) -> Provider {
    Provider {
        span: name.span.clone(),
        name,
        base_url: None,
        api_key: None,
        api_key_file: None,
        bearer_token: None,
        auth_token: None,
        runtime_token: None,
        headers: IndexMap::new(),
        service: None,
        wire_api: None,
        file: None,
        latency_ms: None,
        program: Program::default(),
        vendor: IndexMap::new(),
        short: true,
    }
}

fn with_settings(cx: &mut Reader<'_>, fields: &mut Fields<'_>, name: Spanned<String>) -> Provider {
    Provider {
        span: fields.span.clone(),
        base_url: base_url(cx, fields),
        api_key: fields.secret(cx, "api_key"),
        api_key_file: non_blank(cx, fields, "api_key_file"),
        bearer_token: fields.secret(cx, "bearer_token"),
        auth_token: fields.secret(cx, "auth_token"),
        runtime_token: fields.secret(cx, "runtime_token"),
        headers: fields.secret_map(cx, "headers").unwrap_or_default(),
        service: fields.word(cx, "type").map(|word| word.map(str::to_owned)),
        wire_api: fields.word(cx, "wire_api").map(|word| word.map(str::to_owned)),
        file: non_blank(cx, fields, "file"),
        latency_ms: fields.integer(cx, "latency_ms"),
        program: program(cx, fields),
        vendor: vendor(cx, fields, &name.value),
        name,
        short: false,
    }
}

/// What a variable gives is judged when it is used: a file is checked in other places than it runs in.
fn base_url(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let url = non_blank(cx, fields, "base_url")?;
    let written = &url.span.file.text[url.span.range.clone()];
    if !is_http(&url.value) && !written.contains("${") {
        bad_address(cx, "base_url", &fields.owner, &url);
    }
    Some(url)
}

/// Whether the provider is a program at all can depend on the configuration, so that is judged later.
fn program(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Program {
    let written = ["command", "args", "env", "permissions"].into_iter();
    let first = written.filter_map(|key| Some(Spanned::new(key, fields.place_of(key)?.clone()))).next();
    Program {
        command: non_blank(cx, fields, "command"),
        args: fields.references(cx, "args"),
        env: fields.secret_map(cx, "env").unwrap_or_default(),
        permissions: fields.choice(cx, "permissions"),
        first,
    }
}

/// Keys that only mean something to one vendor are checked and kept as they are.
fn vendor(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    name: &str,
) -> IndexMap<String, Spanned<serde_json::Value>> {
    let mut kept = IndexMap::new();
    let mut keep = |key: &str, value: Option<Spanned<serde_json::Value>>| {
        if let Some(value) = value {
            kept.insert(key.to_owned(), value);
        }
    };
    for key in ["runtime_url", "hermes_home", "pool_endpoint", "api_version"] {
        keep(key, non_blank(cx, fields, key).map(|text| text.map(Into::into)));
    }
    for key in ["inner_provider", "identifier_scope", "egress", "lifecycle", "auth"] {
        keep(key, fields.word(cx, key).map(|word| word.map(Into::into)));
    }
    for key in ["hermes_skip_memory", "hermes_skip_context_files"] {
        keep(key, fields.boolean(cx, key).map(|flag| flag.map(Into::into)));
    }
    keep("hermes_toolsets", toolsets(cx, fields));
    keep("azure", azure(cx, fields));
    if name == "aca" {
        judge_pool(cx, fields, kept.get("pool_endpoint"));
    }
    kept
}

fn toolsets(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<serde_json::Value>> {
    let span = fields.place_of("hermes_toolsets")?.clone();
    let names = fields.names(cx, "hermes_toolsets")?;
    Some(Spanned::new(names.into_iter().map(|name| name.value).collect(), span))
}

fn azure(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<serde_json::Value>> {
    let mut azure = fields.object(cx, "azure")?;
    let version = azure.text(cx, "api_version");
    let span = azure.span.clone();
    azure.finish(cx);
    Some(Spanned::new(serde_json::json!({ "api_version": version.map(|version| version.value) }), span))
}

fn judge_pool(cx: &mut Reader<'_>, fields: &Fields<'_>, endpoint: Option<&Spanned<serde_json::Value>>) {
    let Some(endpoint) = endpoint else { return fields.require(cx, "pool_endpoint") };
    let text = endpoint.value.as_str().unwrap_or("");
    let host = text.strip_prefix("https://").map(|rest| rest.split('/').next().unwrap_or(""));
    if host.is_none_or(str::is_empty) || text.contains(['?', '#']) {
        let message =
            format!("`pool_endpoint` of {} must be an https address without query: `{text}`", fields.owner);
        cx.error("workflow::bad_address", message, &endpoint.span, "not such an address");
    }
}

fn judge_owners(cx: &mut Reader<'_>, fields: &Fields<'_>, name: &str) {
    let known = PROVIDERS.contains(&name);
    let is_service = SERVICES.contains(&name);
    for (key, owners) in OWNERS {
        let of_service = is_service && OF_SERVICES.contains(key);
        let allowed = if known { of_service || owners.contains(&name) } else { GENERAL.contains(key) };
        if allowed {
            continue;
        }
        if let Some(place) = fields.place_of(key) {
            let message = format!("`{key}` is not a setting of {}", fields.owner);
            let finding = cx.error("workflow::not_allowed_here", message, place, "not allowed here");
            let services = SERVICES.iter().filter(|_| OF_SERVICES.contains(key));
            let owners: Vec<&str> = owners.iter().chain(services).copied().collect();
            finding.help = Some(format!("`{key}` belongs to the provider {}", owners.join(", ")));
        }
    }
}

fn judge_dependents(cx: &mut Reader<'_>, fields: &Fields<'_>, provider: &Provider) {
    let place = |key: &str| fields.place_of(key);
    let is_azure = provider.service.as_ref().is_some_and(|service| service.value == "azure");
    if let (Some(place), false) = (place("azure"), is_azure) {
        needs(cx, fields, "azure", "`type: azure`", place);
    }
    if let (Some(place), None) = (place("runtime_token"), place("runtime_url")) {
        needs(cx, fields, "runtime_token", "`runtime_url`", place);
    }
    if let (Some(place), true) = (place("headers"), provider.headers.is_empty()) {
        let message = format!("`headers` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "nothing here");
    }
    let has_address = ["base_url", "api_key", "bearer_token"].iter().any(|key| place(key).is_some());
    if provider.name.value == "copilot" && !has_address {
        for (key, at) in ["type", "wire_api", "headers"].iter().filter_map(|key| Some((key, place(key)?))) {
            needs(cx, fields, key, "`base_url`, `api_key` or `bearer_token`", at);
        }
    }
}

fn needs(cx: &mut Reader<'_>, fields: &Fields<'_>, key: &str, what: &str, place: &crate::diagnostic::Span) {
    let message = format!("`{key}` of {} needs {what}", fields.owner);
    cx.error("workflow::needs_key", message, place, "has no meaning alone");
}
