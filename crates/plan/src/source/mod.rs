//! Reads workflow files: text becomes a tree in which every value keeps its place, the tree becomes typed structs.
//!
//! `load` reads files (`!file` included), `tree` is YAML, `keys` lists every key of the language, `read` makes the typed
//! form of `workflow`, `settings` and `output`. Reading collects every structural error and still gives as much of the
//! workflow as it can. References between steps, templates and conditions are left to `check`. Files and environment
//! are reached through [`Sources`] only.

mod address;
pub mod approvals;
mod broken;
pub mod capability;
mod codes;
pub(crate) mod declared;
pub(crate) mod escape;
mod front_end;
pub mod keys;
mod loading;
mod locate;
pub mod manifest;
pub mod output;
pub(crate) mod own_tools;
pub mod personas;
mod quoting;
mod read;
pub mod roles;
mod schema;
mod section;
pub mod settings;
mod shape;
pub mod sources;
pub mod text;
pub mod tree;
pub mod words;
pub mod workflow;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use loading::{env, expand, load};

pub use crate::path::{join_beside, normalise};
pub(crate) use broken::{broken, broken_condition};
pub use codes::CODES;
pub use expand::{MOST_FILES, expand};
pub use front_end::{FrontEnd, recognise, skill};
pub use load::MAX_FILE_BYTES;
pub(crate) use load::PROJECT_HELP;
pub use locate::{Located, locate, place_of};
pub use manifest::ManifestDefaults;
pub use read::parse_duration;
pub use roles::{Organisation, OrganisationError, OrganisationRole};
pub use schema::{manifest_schema, persona_schema, schema};
pub use shape::{Key, ObjectType, Shape};
pub use sources::{Entry, SourceReadError, Sources};
pub use text::{SecretText, Segment, Spanned, Text};
pub use workflow::Workflow;

use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, SourceFile, Span};
use crate::goal_plan::{Proposal, Terms, violations};

/// Reads a workflow file and everything it includes.
///
/// Gives the workflow as far as it could be read, and all findings; with an error among them it must not run.
pub fn read_workflow(path: &str, sources: &dyn Sources) -> (Option<Workflow>, Vec<Diagnostic>) {
    read_workflow_with(path, sources, &ManifestDefaults::default())
}

/// The same, with what holds for manifests that say nothing of their own.
pub fn read_workflow_with(
    path: &str,
    sources: &dyn Sources,
    defaults: &ManifestDefaults,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    let (workflow, findings) = read_any(path, sources, defaults);
    (workflow, quoting::without_contents(findings))
}

fn read_any(
    path: &str,
    sources: &dyn Sources,
    defaults: &ManifestDefaults,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    let mut loader = load::Loader::new(sources);
    let Some(root) = load_any(&mut loader, path) else { return (None, loader.diagnostics) };
    let mut reader = read::Reader::new(sources);
    reader.know_secrets(&root);
    let path = normalise(path);
    let workflow = match front_end::manifest_of(&root) {
        Ok(manifest) => {
            loader.diagnostics.extend(front_end::contradictions(&root));
            let taken = roles::manifest(&mut loader, &manifest);
            let read = read_manifest(&mut reader, &taken.root, &path, &loader.files, defaults);
            with_role_servers(read, taken.servers)
        }
        Err(Some(FrontEnd::PersonaManifest)) => {
            let taken = roles::personas(&mut loader, &root);
            let read = read_personas(&mut reader, &taken.root, &path, &loader.files);
            with_role_servers(read, taken.servers)
        }
        Err(Some(FrontEnd::Workflow)) => {
            let taken = roles::workflow(&mut loader, &root);
            let read = read::workflow(&mut reader, &taken.root, &path, &loader.files);
            with_role_servers(read, taken.servers)
        }
        Err(_) => {
            loader.diagnostics.push(front_end::refuse(&root));
            None
        }
    };
    loader.diagnostics.append(&mut reader.diagnostics);
    loader.diagnostics.sort_by_key(|finding| position(finding, &loader.files));
    (workflow, loader.diagnostics)
}

/// Servers that came with roles are told apart from those that the file states.
fn with_role_servers(workflow: Option<Workflow>, role_servers: Vec<String>) -> Option<Workflow> {
    workflow.map(|workflow| Workflow { role_servers, ..workflow })
}

/// The tree of a file; that of a skill is its manifest.
fn load_any(loader: &mut load::Loader<'_>, path: &str) -> Option<Rc<tree::Node>> {
    if !path.ends_with(".md") {
        let root = loader.load_root(path)?;
        let Some((right, finding)) = front_end::spelt_right(&root) else { return Some(root) };
        loader.diagnostics.push(finding);
        return Some(right);
    }
    let file = loader.load_file(path)?;
    match front_end::skill::manifest(&file) {
        Ok(root) => Some(root),
        Err(finding) => {
            loader.diagnostics.push(finding);
            None
        }
    }
}

/// The execution manifest that a file is, or from which its work is made, as data: references to the environment are
/// kept. Nothing, and why, for a file that is a workflow or cannot be read.
pub fn manifest_data(path: &str, sources: &dyn Sources) -> (Option<serde_json::Value>, Vec<Diagnostic>) {
    let mut loader = load::Loader::new(sources);
    let root = load_any(&mut loader, path);
    let manifest = root.and_then(|root| match front_end::manifest_of(&root) {
        Ok(manifest) => {
            loader.diagnostics.extend(front_end::contradictions(&root));
            Some(roles::manifest(&mut loader, &manifest).root.as_written())
        }
        Err(kind) => {
            loader.diagnostics.push(front_end::no_manifest(&root, kind));
            None
        }
    });
    (manifest, loader.diagnostics)
}

/// Judges a plan for a goal that a person wrote, under the name that its findings go by. Nothing in it is followed:
/// neither files nor the environment.
pub fn check_plan(path: &str, text: &str, terms: &Terms) -> Vec<Diagnostic> {
    check_text(path, text, "the plan", terms)
}

/// The same, for a plan of this owner.
fn check_text(path: &str, text: &str, owner: &str, terms: &Terms) -> Vec<Diagnostic> {
    let mut loader = load::Loader::new(&sources::Nothing);
    let file = Arc::new(SourceFile { path: path.to_owned(), text: text.to_owned() });
    let Some(root) = loader.build(&file, &format!("the plan `{path}`")) else { return loader.diagnostics };
    let mut reader = read::Reader::new(&sources::Nothing);
    read::judge_plan(&mut reader, &root, owner, terms);
    loader.files.push(file);
    loader.diagnostics.append(&mut reader.diagnostics);
    loader.diagnostics.sort_by_key(|finding| position(finding, &loader.files));
    if loader.diagnostics.is_empty() {
        loader.diagnostics.extend(as_taken(&root, text, owner, terms));
    }
    loader.diagnostics
}

/// A run reads the text by rules for texts that templates make, which are stricter about YAML: whatever it would refuse is
/// refused here.
fn as_taken(root: &tree::Node, text: &str, owner: &str, terms: &Terms) -> Option<Diagnostic> {
    let first =
        |plan: Proposal| violations(&plan.tasks, terms, &|_| false).first().map(|one| one.told(&plan.tasks));
    let why = Proposal::read_text(text).map_or_else(Some, first)?;
    let message = format!("{owner} cannot be taken: {why}");
    Some(Diagnostic::error(
        "workflow::wrong_type",
        message,
        read::head(root),
        "not a plan that a run can read",
    ))
}

/// A YAML text as data.
#[cfg(test)]
pub(crate) fn data_of(text: &str) -> Option<serde_json::Value> {
    let sources = testing::Memory::default().file("data.yaml", text);
    let mut loader = load::Loader::new(&sources);
    loader.load_root("data.yaml").map(|root| root.as_written())
}

/// An execution manifest becomes the workflow that does its work.
fn read_manifest(
    reader: &mut read::Reader<'_>,
    root: &tree::Node,
    path: &str,
    files: &[Arc<SourceFile>],
    defaults: &ManifestDefaults,
) -> Option<Workflow> {
    let manifest = read::manifest(reader, root)?.completed(defaults);
    Some(manifest::workflow(&manifest, &root.span.file, path, files, &mut reader.diagnostics))
}

/// A persona manifest becomes the workflow whose steps are its phases.
fn read_personas(
    reader: &mut read::Reader<'_>,
    root: &tree::Node,
    path: &str,
    files: &[Arc<SourceFile>],
) -> Option<Workflow> {
    let manifest = read::personas(reader, root)?;
    Some(personas::workflow(&manifest, &root.span.file, path, files, &mut reader.diagnostics))
}

/// Findings are told in the order of the text, file by file.
fn position(finding: &Diagnostic, files: &[Arc<SourceFile>]) -> (usize, usize) {
    let Some(label) = finding.labels.first() else { return (usize::MAX, 0) };
    let file = files.iter().position(|file| Arc::ptr_eq(file, &label.span.file));
    (file.unwrap_or(usize::MAX), label.span.range.start)
}

/// Reads a file that a template includes, as one text after environment substitution.
///
/// A file that does not exist gives nothing and no finding, because a template looks in several places; other problems
/// are findings at `at`, the place of the inclusion.
pub fn read_partial(path: &str, sources: &dyn Sources, at: &Span) -> (Option<Text>, Vec<Diagnostic>) {
    let mut loader = load::Loader::new(sources);
    let text = loader.load_text(path, at);
    let mut reader = read::Reader::new(sources);
    let text = text.map(|text| reader.substituted(text));
    loader.diagnostics.append(&mut reader.diagnostics);
    (text, loader.diagnostics)
}
