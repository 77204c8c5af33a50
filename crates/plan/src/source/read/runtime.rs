//! `workflow.runtime`: rules about its keys.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::super::section::Section;
use super::super::settings::{PluginSource, PluginUse, SkillDiscovery, SkillInjection};
use super::super::text::Spanned;
use super::super::tree::{Node, Pair, Value};
use super::super::words::PROVIDERS;
use super::super::workflow::{Entry, Names};
use super::Reader;
use super::fields::Fields;
use super::fixed::models;
use super::scalars::Of;
use convoke_model::nearest;

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

/// Reads `models` of the runtime.
pub fn default_models(cx: &mut Reader<'_>, fields: &mut Fields<'_>, _: &str) -> Option<Names> {
    models(cx, fields, "default_model")
}

/// What warns must warn before it refuses.
pub fn judge_injection(cx: &mut Reader<'_>, fields: &Fields<'_>, read: &mut SkillInjection) {
    if read.warn_bytes > read.max_bytes {
        let message = format!(
            "`warn_bytes` {} of {} is above `max_bytes` {}",
            read.warn_bytes, fields.owner, read.max_bytes
        );
        cx.error("workflow::out_of_range", message, &fields.head, "warns only after refusing");
    }
}

/// No place is looked at twice.
pub fn judge_discovery(cx: &mut Reader<'_>, fields: &Fields<'_>, read: &mut SkillDiscovery) {
    reject_duplicates(cx, read.sources.iter(), &fields.owner_of("sources"));
}

/// Reads `plugin_sources`.
pub fn plugin_sources(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> IndexMap<String, Entry<PluginSource>> {
    let read = |cx: &mut Reader<'_>, pair: &Pair, owner: &str| {
        let owner = format!("`{}` in {owner}", pair.key.value);
        if matches!(pair.value.value, Value::Map(_)) {
            return PluginSource::at(cx, &pair.value, owner);
        }
        let source = cx.text(&pair.value, Of { key: "source", owner: &owner })?;
        Some(PluginSource { source, path: None, plugin: None })
    };
    fields.map(cx, key, read).unwrap_or_default()
}

/// Reads `plugins` of the runtime or of an agent.
pub fn plugins(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Vec<PluginUse>> {
    let items = fields.list(cx, key)?;
    let owner = fields.owner_of(key);
    let plugins: Vec<_> = items.iter().filter_map(|item| plugin(cx, item, &owner)).collect();
    reject_duplicates(cx, plugins.iter().map(|plugin| &plugin.name), &owner);
    Some(plugins)
}

fn plugin(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<PluginUse> {
    if matches!(node.value, Value::Map(_)) {
        return PluginUse::at(cx, node, format!("an entry of {owner}"));
    }
    let name = cx.text(node, Of { key: "name", owner })?;
    Some(PluginUse { name, skills: true, agents: true, mcp: true })
}

fn reject_duplicates<'a>(cx: &mut Reader<'_>, names: impl Iterator<Item = &'a Spanned<String>>, owner: &str) {
    let mut seen = HashSet::new();
    for name in names.filter(|name| !seen.insert(name.value.as_str())) {
        let message = format!("`{}` stands twice in {owner}", name.value);
        cx.error("workflow::duplicate", message, &name.span, "the second one");
    }
}
