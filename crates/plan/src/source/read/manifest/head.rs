//! What every kind of manifest says about its run.

use super::super::super::manifest::Head;
use super::super::super::settings::Runtime;
use super::super::Reader;
use super::super::fields::Fields;
use super::super::header;
use super::super::provider::provider;
use super::super::server::servers;
use super::models;

/// Reads the keys that all manifests have.
pub(in crate::source::read) fn head(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Head {
    Head {
        name: fields.text(cx, "name").filter(|name| !name.value.trim().is_empty()),
        description: fields.text(cx, "description"),
        version: fields.text(cx, "version"),
        inputs: header::inputs_at(cx, fields, "inputs"),
        runtime: runtime_of(cx, fields),
        tools: fields.names(cx, "tools"),
        limits: fields.value(cx, "limits").unwrap_or_default(),
        cost: fields.value(cx, "cost").unwrap_or_default(),
        hooks: fields.value(cx, "hooks").unwrap_or_default(),
        instructions: fields.templates(cx, "instructions").unwrap_or_default(),
        labels: fields.value(cx, "labels").unwrap_or_default(),
        secrets: super::super::secret::secrets(cx, fields),
        metadata: header::metadata(cx, fields),
        span: fields.head.clone(),
    }
}

/// `runtime`, with what stands at the top instead.
fn runtime_of(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Runtime {
    let mut read: Runtime = fields.value(cx, "runtime").unwrap_or_default();
    if let Some(pair) = fields.take("provider") {
        let own = provider(cx, &pair.value, &fields.owner);
        twice(cx, fields, "provider", read.provider.is_some());
        read.provider = own.or(read.provider);
    }
    if let Some(model) = fields.text(cx, "model") {
        twice(cx, fields, "model", read.default_model.is_some() || read.models.is_some());
        models::reject_service_alone(cx, &model.value, &model.span);
        models::default(&mut read, model);
    }
    let above = fields.is_written("mcp_servers");
    let servers = servers(cx, fields, "mcp_servers");
    twice(cx, fields, "mcp_servers", above && !read.mcp_servers.is_empty());
    read.mcp_servers.extend(servers);
    read
}

fn twice(cx: &mut Reader<'_>, fields: &Fields<'_>, key: &str, also_below: bool) {
    if let (true, Some(place)) = (also_below, fields.place_of(key)) {
        let message = format!("`{key}` stands at the top of the manifest and in its `runtime`");
        cx.error("workflow::excludes", message, place, "keep one of the two");
    }
}
