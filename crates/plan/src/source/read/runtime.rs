//! `workflow.runtime`.

use std::collections::HashSet;

use super::super::keys::runtime::{PLUGIN, PLUGIN_SOURCE};
use super::super::settings::{
    Checkpoint, PluginSource, PluginUse, Runtime, SkillDiscovery, SkillInjection, Timeouts, ToolOutput,
};
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::super::words::PROVIDERS;
use super::Reader;
use super::capability::capabilities;
use super::fields::Fields;
use super::fixed::{fixed, models};
use super::provider::provider;
use super::scalars::Of;
use super::server::server;
use convoke_model::nearest;

/// Reads `runtime`.
pub(super) fn runtime(cx: &mut Reader<'_>, header: &mut Fields<'_>) -> Runtime {
    let Some(mut fields) = header.object(cx, "runtime") else { return Runtime::default() };
    let runtime = Runtime {
        provider: fields.take("provider").and_then(|pair| provider(cx, &pair.value, &fields.owner)),
        default_model: fields.text(cx, "default_model"),
        models: models(cx, &mut fields, "default_model"),
        repair_model: fixed(cx, &mut fields, "repair_model"),
        mcp_servers: fields
            .map(cx, "mcp_servers", |cx, pair, _| server(cx, &pair.value, &pair.key.value))
            .unwrap_or_default(),
        temperature: fields.number(cx, "temperature"),
        max_tokens: fields.integer(cx, "max_tokens"),
        timeout: fields.seconds(cx, "timeout"),
        timeouts: timeouts(cx, &mut fields),
        max_session: fields.seconds(cx, "max_session_seconds"),
        context_window: fields.integer(cx, "context_window"),
        max_agent_iterations: fields.integer(cx, "max_agent_iterations"),
        capabilities: capabilities(cx, &mut fields),
        default_reasoning_effort: fields
            .word(cx, "default_reasoning_effort")
            .map(|word| word.map(str::to_owned)),
        default_context_tier: fields.word(cx, "default_context_tier").map(|word| word.map(str::to_owned)),
        checkpoint: checkpoint(cx, &mut fields),
        tool_output: tool_output(cx, &mut fields),
        working_dir: fields.template(cx, "working_dir"),
        skills: fields.names(cx, "skills").unwrap_or_default(),
        skill_injection: skill_injection(cx, &mut fields),
        skill_discovery: skill_discovery(cx, &mut fields),
        plugin_sources: fields
            .map(cx, "plugin_sources", |cx, pair, owner| {
                plugin_source(cx, &pair.value, format!("`{}` in {owner}", pair.key.value))
            })
            .unwrap_or_default(),
        plugins: plugins(cx, &mut fields).unwrap_or_default(),
    };
    fields.finish(cx);
    runtime
}

/// Reads `timeouts` of the runtime or of an agent.
pub(super) fn timeouts(cx: &mut Reader<'_>, owner: &mut Fields<'_>) -> Timeouts {
    let Some(mut fields) = owner.object(cx, "timeouts") else { return Timeouts::default() };
    let timeouts = Timeouts {
        connect: fields.duration(cx, "connect"),
        first_token: fields.duration(cx, "first_token"),
        idle: fields.duration(cx, "idle"),
    };
    fields.finish(cx);
    timeouts
}

/// A name that no list has may be defined in the configuration; one that is nearly in the list is a slip.
pub(super) fn judge_provider(cx: &mut Reader<'_>, name: &Spanned<String>, owner: &str) {
    if name.value.trim().is_empty() {
        let message = format!("`provider` of {owner} is empty");
        cx.error("workflow::empty_value", message, &name.span, "name a provider");
        return;
    }
    if PROVIDERS.contains(&name.value.as_str()) {
        return;
    }
    if let Some(near) = nearest(&name.value, PROVIDERS.iter().copied()) {
        let message = format!("provider `{}` of {owner} is not known", name.value);
        let finding = cx.error("workflow::unknown_provider", message, &name.span, "no such provider");
        finding.help = Some(format!("did you mean `{near}`?"));
    }
}

/// Text that must not be blank; an empty one most often comes from an empty variable.
pub(super) fn non_blank(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    let before = cx.diagnostics.len();
    let text = fields.text(cx, key)?;
    if text.value.trim().is_empty() {
        // What is empty because a variable is unset has been reported as that.
        if cx.diagnostics.len() == before {
            let message = format!("`{key}` of {} is empty, probably because a variable is", fields.owner);
            cx.error("workflow::empty_value", message, &text.span, "nothing here");
        }
        return None;
    }
    Some(text)
}

fn checkpoint(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Checkpoint> {
    let mut fields = fields.object(cx, "checkpoint")?;
    let checkpoint = Checkpoint {
        every_agent: fields.flag(cx, "every_agent", false),
        every: fields.seconds(cx, "every_seconds").map(|seconds| seconds.value),
        keep_last: fields.integer(cx, "keep_last").map_or(5, |count| count.value),
        span: fields.span.clone(),
    };
    fields.finish(cx);
    Some(checkpoint)
}

fn tool_output(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> ToolOutput {
    let default = ToolOutput::default();
    let Some(mut fields) = fields.object(cx, "tool_output") else { return default };
    let output = ToolOutput {
        enabled: fields.flag(cx, "enabled", default.enabled),
        max_chars: fields.integer(cx, "max_chars").map_or(default.max_chars, |count| count.value),
        spill_to_file: fields.flag(cx, "spill_to_file", default.spill_to_file),
        spill_dir: fields.text(cx, "spill_dir"),
    };
    fields.finish(cx);
    output
}

fn skill_injection(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> SkillInjection {
    let default = SkillInjection::default();
    let Some(mut fields) = fields.object(cx, "skill_injection") else { return default };
    let read = SkillInjection {
        warn_bytes: fields.integer(cx, "warn_bytes").map_or(default.warn_bytes, |bytes| bytes.value),
        max_bytes: fields.integer(cx, "max_bytes").map_or(default.max_bytes, |bytes| bytes.value),
    };
    if read.warn_bytes > read.max_bytes {
        let message = format!(
            "`warn_bytes` {} of {} is above `max_bytes` {}",
            read.warn_bytes, fields.owner, read.max_bytes
        );
        cx.error("workflow::out_of_range", message, &fields.head, "warns only after refusing");
    }
    fields.finish(cx);
    read
}

fn skill_discovery(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> SkillDiscovery {
    let Some(mut fields) = fields.object(cx, "skill_discovery") else { return SkillDiscovery::default() };
    let items = fields.list(cx, "sources").unwrap_or_default();
    let mut sources = Vec::new();
    for item in items {
        let of = Of { key: "sources", owner: &fields.owner };
        sources.extend(cx.choice(item, of, &["personal", "project"]).map(|word| word.map(str::to_owned)));
    }
    reject_duplicates(cx, sources.iter(), &fields.owner_of("sources"));
    let exclude = fields.names(cx, "exclude").unwrap_or_default();
    fields.finish(cx);
    SkillDiscovery { sources, exclude }
}

fn plugin_source(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<PluginSource> {
    if !matches!(node.value, Value::Map(_)) {
        let source = cx.text(node, Of { key: "source", owner: &owner })?;
        return Some(PluginSource { source, path: None, plugin: None });
    }
    let mut fields = Fields::open(cx, node, &PLUGIN_SOURCE, owner)?;
    let source = fields.text(cx, "source");
    let path = fields.text(cx, "path");
    let plugin = fields.text(cx, "plugin");
    fields.finish(cx);
    Some(PluginSource { source: source?, path, plugin })
}

/// Reads `plugins` of the runtime or of an agent.
pub(super) fn plugins(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Vec<Spanned<PluginUse>>> {
    let items = fields.list(cx, "plugins")?;
    let owner = fields.owner_of("plugins");
    let plugins: Vec<_> = items.iter().filter_map(|item| plugin(cx, item, &owner)).collect();
    let names: Vec<_> = plugins.iter().map(|plugin| plugin.clone().map(|plugin| plugin.name)).collect();
    reject_duplicates(cx, names.iter(), &owner);
    Some(plugins)
}

fn plugin(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Spanned<PluginUse>> {
    if !matches!(node.value, Value::Map(_)) {
        let name = cx.text(node, Of { key: "name", owner })?;
        return Some(name.map(|name| PluginUse { name, skills: true, agents: true, mcp: true }));
    }
    let mut fields = Fields::open(cx, node, &PLUGIN, format!("an entry of {owner}"))?;
    let name = fields.text(cx, "name");
    let (skills, agents) = (fields.flag(cx, "skills", true), fields.flag(cx, "agents", true));
    let mcp = fields.flag(cx, "mcp", true);
    fields.finish(cx);
    Some(name?.map(|name| PluginUse { name, skills, agents, mcp }))
}

fn reject_duplicates<'a>(cx: &mut Reader<'_>, names: impl Iterator<Item = &'a Spanned<String>>, owner: &str) {
    let mut seen = HashSet::new();
    for name in names.filter(|name| !seen.insert(name.value.as_str())) {
        let message = format!("`{}` stands twice in {owner}", name.value);
        cx.error("workflow::duplicate", message, &name.span, "the second one");
    }
}
