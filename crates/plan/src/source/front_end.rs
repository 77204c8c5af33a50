//! Which kind of file a tree is.

use super::tree::{Node, Value, scalar};
use crate::diagnostic::{Diagnostic, Span};

/// The kinds of files that Convoke reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// A workflow.
    Workflow,
    /// Personas with their skills.
    PersonaManifest,
    /// Agents with their tasks.
    ExecutionManifest,
}

/// Tells the kind of a file by its keys, or by `kind:`, which overrides them; `None` when it is neither.
pub fn recognise(root: &Node) -> Option<FrontEnd> {
    let has = |key: &str| root.get(key).is_some();
    let stated = root.get("kind").and_then(|node| match &node.value {
        Value::Scalar(scalar) => from_word(&scalar.raw),
        _ => None,
    });
    match () {
        () if stated.is_some() => stated,
        () if has("workflow") => Some(FrontEnd::Workflow),
        () if has("schemaVersion") && has("personas") => Some(FrontEnd::PersonaManifest),
        () if has("agents") => Some(FrontEnd::ExecutionManifest),
        () => None,
    }
}

fn from_word(word: &str) -> Option<FrontEnd> {
    match word {
        "workflow" => Some(FrontEnd::Workflow),
        "persona_manifest" => Some(FrontEnd::PersonaManifest),
        "execution_manifest" => Some(FrontEnd::ExecutionManifest),
        _ => None,
    }
}

/// What to say about a file that is no workflow.
pub(super) fn refuse(root: &Node, kind: Option<FrontEnd>) -> Diagnostic {
    let span = Span { file: root.span.file.clone(), range: root.span.range.start..root.span.range.start };
    let path = scalar::shorten(&root.span.file.path);
    let supported = "a workflow has a top-level `workflow:`";
    let recognised = |name: &str, reason: &str| {
        let message = format!("`{path}` is {name} ({reason}), which is recognised but not yet supported");
        Diagnostic::error("workflow::unsupported_kind", message, span.clone(), "not a workflow")
            .help(supported)
    };
    match kind {
        Some(FrontEnd::PersonaManifest) => {
            recognised("a persona manifest", "`schemaVersion` with `personas`")
        }
        _ => {
            let message = format!("`{path}` is no workflow: it has no top-level `workflow` and no `agents`");
            let help = "a file is a workflow (`workflow:`), a persona manifest (`schemaVersion` with `personas`) or an \
                        execution manifest (`agents:` without `workflow:`); `kind:` overrides";
            Diagnostic::error("workflow::not_a_workflow", message, span, "not a known kind of file")
                .help(help)
        }
    }
}
