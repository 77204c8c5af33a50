//! What makes an effect happen once: probes that ask nothing or are never asked, commands that would survive without a bound.

use super::outline::Outline;
use crate::diagnostic::{Diagnostic, Span};
use crate::source::workflow::{Common, OnUnknown, Probe, Step, StepKind, Worker, WorkerKind};
use crate::suggest;

/// Every step.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let servers: Vec<&str> = outline.workflow.runtime.mcp_servers.keys().map(String::as_str).collect();
    for step in outline.workflow.agents.iter().chain(outline.inline().map(|(_, step)| step)) {
        probe(&step.owner(), &step.common, &servers, findings);
        if let StepKind::Phase(phase) = &step.kind {
            for worker in phase.workers() {
                worker_probe(&step.owner(), worker, &servers, findings);
            }
        }
        survival(step, findings);
    }
}

/// Of what does the work of a phase, scripts alone can be probed.
fn worker_probe(owner: &str, worker: &Worker, servers: &[&str], findings: &mut Vec<Diagnostic>) {
    probe(owner, &worker.common, servers, findings);
    if let (Some(stated), WorkerKind::Agent(_)) = (&worker.common.probe, &worker.kind) {
        let message = format!("{owner}: `probe` is for actors of the type `script`");
        let found =
            Diagnostic::error("workflow::not_allowed_here", message, stated.span.clone(), "of an agent");
        findings.push(found.help("say `on_unknown: ask`, `retry` or `fail`"));
    }
}

fn probe(owner: &str, common: &Common, servers: &[&str], findings: &mut Vec<Diagnostic>) {
    let stated = common.on_unknown.as_ref();
    let wanted = stated.filter(|stated| stated.value == OnUnknown::Probe);
    match (&common.probe, wanted) {
        (None, Some(wanted)) => {
            let message = format!("{owner}: `on_unknown: probe` needs a `probe`");
            let found =
                Diagnostic::error("workflow::needs_key", message, wanted.span.clone(), "nothing to ask");
            findings.push(found.help(
                "`probe` of a script or tool step names a command or a tool that says whether the effect happened",
            ));
        }
        (Some(probe), None) => {
            let message = format!("{owner}: `probe` is asked with `on_unknown: probe` only");
            let found = Diagnostic::error("workflow::needs_key", message, probe.span.clone(), "never asked");
            findings.push(found.help("say `on_unknown: probe`"));
        }
        _ => {}
    }
    if let Some(probe) = &common.probe {
        findings.extend(asked(owner, probe, servers));
    }
}

fn asked(owner: &str, probe: &Probe, servers: &[&str]) -> Option<Diagnostic> {
    let error = |code, message: String, span: &Span, label: &str| {
        Diagnostic::error(code, message, span.clone(), label.to_owned())
    };
    match (&probe.command, &probe.tool) {
        (None, None) => {
            let message = format!("{owner}: `probe` names neither a `command` nor a `tool`");
            let found = error("workflow::needs_key", message, &probe.span, "nothing to ask");
            Some(found.help("a command says by its exit code whether the effect happened (0 yes, 10 no), a tool by its result"))
        }
        (Some(command), Some(_)) => {
            let message = format!("{owner}: `probe` names a `command` and a `tool`");
            Some(error("workflow::needs_key", message, &command.span, "one of them").help("leave one out"))
        }
        (None, Some(tool)) => {
            let server = probe.server.as_ref();
            match server {
                Some(server) if !servers.contains(&server.value.as_str()) => {
                    let message = format!(
                        "{owner}: `probe` names the MCP server `{}`, which there is not",
                        server.value
                    );
                    let found =
                        error("workflow::unknown_server", message, &server.span, "not in `mcp_servers`");
                    Some(found.help(suggest::instead(&server.value, servers)))
                }
                None if servers.len() != 1 => {
                    let message = format!("{owner}: `probe` calls a tool of no certain server");
                    let found = error("workflow::needs_key", message, &tool.span, "which server?");
                    Some(found.help("say `server` in `probe`"))
                }
                _ => None,
            }
        }
        (Some(_), None) => None,
    }
}

/// A command that goes on without Convoke is bounded by the step's own time.
fn survival(step: &Step, findings: &mut Vec<Diagnostic>) {
    match &step.kind {
        StepKind::Script(script) => {
            let survive = script.survive.as_ref().filter(|stated| stated.value);
            if let Some(survive) = survive.filter(|_| step.common.timeout.is_none()) {
                let message = format!("{}: `survive` needs a `timeout`", step.owner());
                let found = Diagnostic::error(
                    "workflow::needs_key",
                    message,
                    survive.span.clone(),
                    "without a bound",
                );
                findings.push(
                    found.help("a command that goes on when Convoke dies ends when the step's time is over"),
                );
            }
        }
        StepKind::Phase(phase) => {
            for worker in phase.workers() {
                let WorkerKind::Script(script) = &worker.kind else { continue };
                if let Some(survive) = script.survive.as_ref().filter(|stated| stated.value) {
                    let message = format!("{}: `survive` is for script steps of workflows", step.owner());
                    let found = Diagnostic::error(
                        "workflow::needs_key",
                        message,
                        survive.span.clone(),
                        "not of a phase",
                    );
                    findings.push(found.help("leave it out"));
                }
            }
        }
        _ => {}
    }
}
