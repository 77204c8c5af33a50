//! Names in routes, entry points, needs, groups and hooks that lead nowhere.

use super::super::outline::{END, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::workflow::Hook;
use crate::suggest;

/// Every name must lead to a step or a group.
pub(in crate::check) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    entry_points(outline, findings);
    for ix in 0..outline.items.len() {
        leads(outline, ix, findings);
        needs(outline, ix, findings);
        members(outline, ix, findings);
    }
    hooks(outline, findings);
}

fn entry_points(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for name in &outline.workflow.entry_point {
        let who = format!("entry_point names `{}`", name.value);
        known(outline, "workflow::unknown_entry_point", &who, name, findings);
    }
}

fn leads(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let item = outline.items[ix];
    for lead in outline.leads(ix).into_iter().filter(|lead| lead.to.value != END) {
        let who = format!("{} `{}`: {} `{}`", item.word(), item.name().value, names(lead.key), lead.to.value);
        known(outline, "workflow::unknown_route_target", &who, lead.to, findings);
    }
}

/// The key with its verb: `routes name`, `on_error names`.
pub(in crate::check) fn names(key: &str) -> String {
    let verb = if key.ends_with('s') { "name" } else { "names" };
    format!("{key} {verb}")
}

fn needs(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let item = outline.items[ix];
    for need in &item.common().needs {
        let verb = if outline.workflow.from_manifest { "depends on" } else { "needs" };
        let who = format!("{} `{}` {verb} `{}`", item.word(), item.name().value, need.step.value);
        known(outline, "workflow::unknown_dependency", &who, &need.step, findings);
    }
}

fn members(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let item = outline.items[ix];
    for member in outline.members(ix) {
        let who = format!("{} `{}` runs `{}`", item.word(), item.name().value, member.value);
        known(outline, "workflow::unknown_member", &who, member, findings);
    }
}

fn hooks(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let hooks = &outline.workflow.hooks;
    for (key, hook) in
        [("on_start", &hooks.on_start), ("on_complete", &hooks.on_complete), ("on_error", &hooks.on_error)]
    {
        if let Some(Hook::Step(name)) = hook {
            let who = format!("hook {key} runs `{}`", name.value);
            known(outline, "workflow::unknown_hook_step", &who, name, findings);
        }
    }
}

fn known(
    outline: &Outline<'_>,
    code: &'static str,
    who: &str,
    name: &Spanned<String>,
    findings: &mut Vec<Diagnostic>,
) {
    if name.value.is_empty() || outline.find(&name.value).is_some() {
        return;
    }
    let mut available: Vec<&str> = outline.items.iter().map(|item| item.name().value.as_str()).collect();
    available.retain(|name| outline.is_written(name));
    let message = format!("{who}, which is not in this {}", outline.kind());
    let found = Diagnostic::error(code, message, name.span.clone(), "no step or group has this name")
        .help(suggest::instead(&name.value, &available));
    findings.push(found);
}
