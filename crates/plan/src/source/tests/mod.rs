//! Tests of reading as a whole: what is found in a file, and where.

mod broken;
mod corpus;
mod files;
mod goal;
mod keys;
mod properties;
mod reduce;
mod roles;
mod steps;
mod values;
mod yaml;

use super::testing::Memory;
use super::workflow::{Step, StepKind};
use super::{Workflow, read_workflow};
use crate::diagnostic::{Diagnostic, Severity};

/// A header that is right, to put other things below.
const HEADER: &str = "workflow: {name: w, entry_point: a}\n";

fn read(text: &str) -> (Option<Workflow>, Vec<Diagnostic>) {
    read_workflow("w.yaml", &Memory::default().file("w.yaml", text))
}

/// Reads a file that must be free of findings.
fn good(text: &str) -> Workflow {
    let (workflow, findings) = read(text);
    assert!(findings.is_empty(), "{}\n{text}", messages(&findings));
    workflow.expect("a file without findings can be read")
}

/// Reads a workflow of one step, without findings.
fn good_step(body: &str) -> Step {
    good(&format!("{HEADER}agents:\n  - {{name: a, {body}}}\n")).agents.remove(0)
}

fn good_kind(body: &str) -> StepKind {
    good_step(body).kind
}

/// The findings of a workflow of one step.
fn step_findings(body: &str) -> Vec<Diagnostic> {
    read(&format!("{HEADER}agents:\n  - {{name: a, {body}}}\n")).1
}

fn messages(findings: &[Diagnostic]) -> String {
    findings.iter().map(|finding| format!("{} {}\n", finding.code, finding.message)).collect()
}

/// Asserts that there is exactly one finding, an error with this code whose text has all these words.
fn assert_one(findings: &[Diagnostic], code: &str, words: &[&str], about: &str) {
    assert_eq!(findings.len(), 1, "{about}: {}", messages(findings));
    let finding = &findings[0];
    assert_eq!(finding.code, code, "{about}: {}", finding.message);
    assert_eq!(finding.severity, Severity::Error, "{about}: {}", finding.message);
    let text = format!("{} {}", finding.message, finding.help.as_deref().unwrap_or(""));
    for word in words {
        assert!(text.contains(word), "{about}: `{word}` is not in `{text}`");
    }
}

fn line(finding: &Diagnostic) -> usize {
    finding.labels[0].span.line_column().0
}
