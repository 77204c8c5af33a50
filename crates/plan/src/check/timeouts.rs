//! Bounds of the parts of a request, or of a script's silence, that the bound of the whole makes void.

use super::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::settings::Timeouts;
use crate::source::workflow::{ScriptStep, Step, StepKind, WorkerKind};
use std::time::Duration;

/// The workflow's own, then those of every agent.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let runtime = &outline.workflow.runtime;
    let total = runtime.request_timeout();
    findings.extend(too_long("runtime", &runtime.timeouts, total));
    let steps = outline.workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    for step in steps {
        for agent in step.models() {
            findings.extend(too_long(&step.owner(), &agent.timeouts, total));
        }
        for (owner, script, whole) in scripts(step) {
            findings.extend(script.timeouts.stated().filter_map(|one| void(&owner, whole, one)));
        }
    }
}

/// The programs of a step, with their owners and how long each may take.
fn scripts(step: &Step) -> Vec<(String, &ScriptStep, Option<&Spanned<Duration>>)> {
    let name = &step.name.value;
    match &step.kind {
        StepKind::Script(script) => {
            vec![(format!("script `{name}`"), script, step.common.timeout.as_ref())]
        }
        StepKind::Phase(phase) => {
            let scripts = phase.workers().filter_map(|worker| match &worker.kind {
                WorkerKind::Script(script) => {
                    Some((format!("node `{name}`"), &**script, worker.common.timeout.as_ref()))
                }
                WorkerKind::Agent(_) => None,
            });
            scripts.collect()
        }
        _ => Vec::new(),
    }
}

/// A bound of a script that bounds nothing.
fn void(
    owner: &str,
    whole: Option<&Spanned<Duration>>,
    (key, stated): (&'static str, &Spanned<Duration>),
) -> Option<Diagnostic> {
    let (message, label) = match (key, whole) {
        ("idle", Some(whole)) if stated.value >= whole.value => (
            format!("{owner}: `timeouts.idle` is not shorter than the whole may take (`timeout`)"),
            format!("it ends after {} s", whole.value.as_secs_f64()),
        ),
        ("idle", _) => return None,
        _ => (
            format!("{owner}: `timeouts.{key}` is for requests to a model"),
            "a script makes none".to_owned(),
        ),
    };
    let finding = Diagnostic::warning("workflow::no_effect", message, stated.span.clone(), label);
    Some(finding.help("`timeouts.idle` bounds how long a script may write nothing, `timeout` the whole"))
}

/// A part that may take longer than the whole: a warning, because the request ends in time all the same.
fn too_long(owner: &str, timeouts: &Timeouts, total: Duration) -> impl Iterator<Item = Diagnostic> {
    let longer = timeouts.stated().filter(move |(_, stated)| stated.value > total);
    longer.map(move |(key, stated)| {
        let (part, whole) = (stated.value.as_secs_f64(), total.as_secs_f64());
        let message =
            format!("{owner}: `timeouts.{key}` of {part} s is longer than the whole request may take");
        let label = format!("the request ends after {whole} s");
        Diagnostic::warning("workflow::no_effect", message, stated.span.clone(), label)
            .help(format!("`timeout` of `runtime` is the bound of the whole request (here {whole} s)"))
    })
}
