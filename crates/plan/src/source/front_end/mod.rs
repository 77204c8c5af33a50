//! Which kind of file a tree is, and the manifest that it stands for.
//!
//! Teams, planners' output and skills become the tree of an execution manifest, which keeps the places of its file.

mod planner;
pub mod skill;
mod team;

use std::rc::Rc;

use super::quoting::looks_like_workflow;
use super::tree::{Node, Pair, Value, scalar};
use crate::diagnostic::{Diagnostic, Span};
use convoke_model::nearest;

/// The kinds of files that Convoke reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// A workflow.
    Workflow,
    /// Personas and a pipeline of phases.
    PersonaManifest,
    /// Agents with their tasks.
    ExecutionManifest,
    /// A roster and a protocol.
    Team,
    /// What a planner put out.
    Plan,
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
        () if has("personas") && (has("schemaVersion") || has("pipeline")) => Some(FrontEnd::PersonaManifest),
        () if team::is_team(root) => Some(FrontEnd::Team),
        () if has("agents") => Some(FrontEnd::ExecutionManifest),
        () if planner::is_plan(root) => Some(FrontEnd::Plan),
        () => None,
    }
}

/// The keys by which files are told apart.
const TELLING: [&str; 4] = ["workflow", "agents", "members", "personas"];

/// The tree of a file whose kind is hidden by one misspelt key, with that key put right, and the finding about it. Only of a
/// file that may be quoted: what is read as a workflow is shown where it is wrong.
pub(super) fn spelt_right(root: &Node) -> Option<(Rc<Node>, Diagnostic)> {
    let Value::Map(pairs) = &root.value else { return None };
    if !looks_like_workflow(&root.span.file) {
        return None;
    }
    // Without its header, a workflow has the keys of a manifest.
    let known = recognise(root);
    let among: &[&str] = match known {
        None => &TELLING,
        Some(FrontEnd::ExecutionManifest) => &TELLING[..1],
        Some(_) => return None,
    };
    let meant = |pair: &Pair| nearest(&pair.key.value, among.iter().copied());
    let (at, near) = pairs.iter().enumerate().find_map(|(at, pair)| Some((at, meant(pair)?)))?;
    let mut pairs = pairs.clone();
    let written = std::mem::replace(&mut pairs[at].key.value, near.to_owned());
    let span = pairs[at].key.span.clone();
    let right = Node::map(pairs, &root.span);
    recognise(&right)?;
    let message = format!("unknown key `{written}` in the file");
    let found = Diagnostic::error("workflow::unknown_key", message, span, "not a key of any kind of file");
    Some((right, found.help(format!("did you mean `{near}`?"))))
}

fn from_word(word: &str) -> Option<FrontEnd> {
    match word {
        "workflow" => Some(FrontEnd::Workflow),
        "persona_manifest" => Some(FrontEnd::PersonaManifest),
        "execution_manifest" => Some(FrontEnd::ExecutionManifest),
        "team" => Some(FrontEnd::Team),
        "plan" => Some(FrontEnd::Plan),
        _ => None,
    }
}

/// The execution manifest that a file is or stands for; else its kind, if it has one.
pub(super) fn manifest_of(root: &Rc<Node>) -> Result<Rc<Node>, Option<FrontEnd>> {
    match recognise(root) {
        Some(FrontEnd::ExecutionManifest) => Ok(root.clone()),
        Some(FrontEnd::Team) => Ok(team::manifest(root)),
        Some(FrontEnd::Plan) => Ok(planner::manifest(root)),
        kind => Err(kind),
    }
}

/// What a file says twice in words that a manifest has one for.
pub(super) fn contradictions(root: &Node) -> Vec<Diagnostic> {
    match recognise(root) {
        Some(FrontEnd::Team) => team::contradictions(root),
        _ => Vec::new(),
    }
}

/// What to say about a file of a kind that cannot run.
pub(super) fn refuse(root: &Node) -> Diagnostic {
    let (span, path) = (beginning(root), scalar::shorten(&root.span.file.path));
    let message = format!("`{path}` is no workflow: it has no top-level `workflow` and no `agents`");
    let help = "a file is a workflow (`workflow:`), an execution manifest (`agents:` without `workflow:`), a team \
                (`members:`), a planner's output (`steps:`) or a persona manifest (`schemaVersion` with `personas`); \
                `kind:` overrides";
    Diagnostic::error("workflow::not_a_workflow", message, span, "not a known kind of file").help(help)
}

/// What to say about a file that stands for no manifest.
pub(super) fn no_manifest(root: &Node, kind: Option<FrontEnd>) -> Diagnostic {
    let (what, none) = match kind {
        Some(FrontEnd::Workflow) => ("a workflow", "no manifest"),
        Some(FrontEnd::PersonaManifest) => ("a persona manifest", "no execution manifest"),
        _ => return refuse(root),
    };
    let path = scalar::shorten(&root.span.file.path);
    let message = format!("`{path}` is {what}, and {none} stands behind it");
    Diagnostic::error("workflow::unsupported_kind", message, beginning(root), what)
        .help("`convoke plan FILE` shows what it would do")
}

fn beginning(root: &Node) -> Span {
    Span { file: root.span.file.clone(), range: root.span.range.start..root.span.range.start }
}
