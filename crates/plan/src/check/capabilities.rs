//! Bounds of conversations that contradict each other once an agent's and the workflow's are put together.

use super::outline::Outline;
use crate::diagnostic::{Diagnostic, Span};
use crate::source::capability::{Capabilities, capabilities};
use crate::source::workflow::AgentStep;

/// The workflow's own, then those of every agent that says something.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let runtime = &outline.workflow.runtime;
    let steps = outline.workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    let agents = steps.flat_map(|step| {
        let owner = step.owner();
        step.models().map(move |agent| (owner.clone(), agent))
    });
    let nobody = AgentStep::default();
    findings.extend(compaction("runtime", &runtime.capabilities, &capabilities(runtime, &nobody)));
    for (owner, agent) in agents {
        findings.extend(compaction(&owner, &agent.capabilities, &capabilities(runtime, agent)));
    }
}

/// Shortening must leave less than what sets it off.
fn compaction(
    owner: &str,
    written: &Capabilities,
    meant: &convoke_model::Capabilities,
) -> Option<Diagnostic> {
    let span: &Span = &written.compaction.as_ref()?.span;
    let meant = meant.compaction.filter(|compaction| compaction.to >= compaction.at)?;
    let message =
        format!("{owner}: `compaction` begins at {} percent and would leave {}", meant.at, meant.to);
    let found = Diagnostic::error("workflow::out_of_range", message, span.clone(), "leaves nothing out");
    Some(found.help("`to` must be smaller than `at` (default 50 and 80)"))
}
