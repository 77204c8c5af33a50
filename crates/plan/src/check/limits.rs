//! Limits that cannot be kept.

use super::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;

/// A parallel group that a run starts with must fit into `max_iterations`, else every run ends at once.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(limit) = &outline.workflow.limits.max_iterations else { return };
    for ix in outline.entries() {
        let Item::Parallel(group) = outline.items[ix] else { continue };
        let members = group.agents.len() as u64;
        if members > limit.value {
            let message = format!(
                "max_iterations {} is less than the {members} members of `{}`, where the workflow starts",
                limit.value, group.name.value
            );
            let found =
                Diagnostic::error("workflow::limit_too_small", message, limit.span.clone(), "too few")
                    .also(group.name.span.clone(), format!("{members} members"))
                    .help(format!("each member counts as one; allow at least {members}"));
            findings.push(found);
        }
    }
}
