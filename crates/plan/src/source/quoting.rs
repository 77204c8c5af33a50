//! Which files findings may quote: those that are part of a workflow.
//!
//! A path that leads to a key, a password list or a log by mistake, or because a workflow names it, must not end up
//! on a terminal or in the log of a build. Such a file is named with its place and never shown.

use super::tree::Node;
use crate::diagnostic::{Diagnostic, SourceFile};
use std::sync::Arc;

/// Keys that stand in workflows, manifests and their parts, and hardly anywhere else.
const KEYS: [&str; 16] = [
    "workflow",
    "agents",
    "members",
    "personas",
    "schemaVersion",
    "steps",
    "prompt",
    "system_prompt",
    "entry_point",
    "routes",
    "for_each",
    "parallel",
    "needs",
    "persona",
    "synthesis",
    "pipeline",
];

/// Endings of files that are written to be read: prompts and templates.
const DOCUMENTS: [&str; 6] = [".md", ".txt", ".j2", ".jinja", ".jinja2", ".prompt"];

/// Endings of files that describe organisations, and what their words begin with.
const ORGANISATIONS: [&str; 5] = [".ttl", ".jsonld", ".json", ".rdf", ".xml"];
const NAMESPACES: [&str; 2] = ["https://w3id.org/convoke#", "http://www.w3.org/ns/org#"];

/// Whether a file that was named as a workflow may be quoted: it has keys of one.
pub(super) fn looks_like_workflow(file: &SourceFile) -> bool {
    KEYS.iter().any(|key| has_key(&file.text, key))
}

/// Whether a finding about something in a file may show lines of it.
fn may_be_quoted(file: &SourceFile) -> bool {
    let name = file.path.to_ascii_lowercase();
    DOCUMENTS.iter().any(|ending| name.ends_with(ending))
        || looks_like_workflow(file)
        || describes_organisation(&name, file)
}

/// Whether a file that a role is taken from may be quoted: it has the ending and a namespace of one.
fn describes_organisation(name: &str, file: &SourceFile) -> bool {
    ORGANISATIONS.iter().any(|ending| name.ends_with(ending))
        && NAMESPACES.iter().any(|namespace| file.text.contains(namespace))
}

/// Whether a finding is about a file as such: that it is no workflow, or cannot be read as one.
fn is_about_file(finding: &Diagnostic) -> bool {
    finding.code.starts_with("file::") || finding.code == "workflow::not_a_workflow"
}

/// Whether a text has a key, as YAML or JSON write it.
fn has_key(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| " \n\t{,\"'\u{feff}".contains(c));
        let after = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
        before && after.starts_with(':')
    })
}

/// The findings without the lines of files that may not be quoted: places stay, texts go.
pub(super) fn without_contents(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for finding in &mut findings {
        hide_words(finding);
    }
    for finding in &mut findings {
        let may = if is_about_file(finding) { looks_like_workflow } else { may_be_quoted };
        for label in finding.labels.iter_mut().filter(|label| !may(&label.span.file)) {
            let SourceFile { path, text } = &*label.span.file;
            label.span.file = Arc::new(SourceFile { path: path.clone(), text: blank(text) });
        }
    }
    findings
}

/// What is said about a file may name some of its content: a key that stands twice, a text where a list belongs. Findings
/// about the file as such name none of it.
fn hide_words(finding: &mut Diagnostic) {
    let about_file = is_about_file(finding);
    let file = finding.labels.first().map(|label| &label.span.file).filter(|file| !may_be_quoted(file));
    if let Some(file) = file.filter(|_| !about_file) {
        finding.message = format!("`{}` does not fit here, and is no part of a workflow", file.path);
        finding.help = None;
        finding.labels.iter_mut().for_each(|label| label.text.clear());
    }
}

/// A text of the same lines and bytes with nothing in it.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// What a value is, without its content where that is a whole file's.
pub(super) fn kind_of(node: &Node) -> String {
    match &node.included {
        Some(included) => format!("the text of `{}`", included.path),
        None if looks_like_workflow(&node.span.file) => node.describe(),
        None => "a single value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn only_parts_of_workflows_are_quoted() {
        for text in ["workflow: {name: w}", "- {name: a, prompt: x}", "{\"agents\": []}", "\u{feff}agents:\n"]
        {
            assert!(may_be_quoted(&file("w.yaml", text)), "{text}");
        }
        assert!(may_be_quoted(&file("p.MD", "anything")));
        for text in [
            "OPENAI_API_KEY=sk-1",
            "-----BEGIN KEY-----",
            "data: {password: x}",
            "my_workflow: x",
            "workflows",
        ] {
            assert!(!may_be_quoted(&file(".env", text)), "{text}");
        }
    }

    #[test]
    fn a_blank_text_keeps_places() {
        assert_eq!(blank("äb\nc"), "   \n ");
    }
}
