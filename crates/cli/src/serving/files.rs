//! Workflow files that may be started over HTTP: those below the folders that the server was given, and no others.

use crate::compiling;
use crate::config::Consent;
use crate::console::Console;
use crate::trust::{self, Origin};
use convoke_plan::Plan;
use convoke_server::{Refusal, RefusalKind, WorkflowFile, WorkflowInput};
use std::path::{Path, PathBuf};

/// Folders below a given one that are looked into.
const DEPTH: usize = 4;

/// The most files that are listed.
const MOST: usize = 300;

/// A file that may be started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The folder that it lies below, from which it is started.
    pub folder: PathBuf,
    /// The file itself, without links in its path.
    pub path: PathBuf,
}

impl Place {
    /// The path from the folder.
    pub fn below(&self) -> &Path {
        self.path.strip_prefix(&self.folder).unwrap_or(&self.path)
    }
}

/// Where a name leads, if that lies below one of the folders: links are followed first.
pub(super) fn allowed(folders: &[PathBuf], name: &str) -> Result<Place, Refusal> {
    let unknown = || {
        let words = format!("`{name}` is no file from which a run may be started");
        Refusal::new(RefusalKind::Unknown, "not_found", words)
    };
    for folder in folders {
        let Ok(path) = folder.join(name).canonicalize() else { continue };
        if path.starts_with(folder) && path.is_file() {
            return Ok(Place { folder: folder.clone(), path });
        }
    }
    Err(unknown())
}

/// Every file that may be started, by path.
pub(super) fn all(console: &Console, folders: &[PathBuf], named: bool) -> Vec<WorkflowFile> {
    let mut found = Vec::new();
    for folder in folders {
        let mut paths = Vec::new();
        look(folder, DEPTH, &mut paths);
        paths.sort();
        let consent = if named { Consent::Project } else { Consent::Files(&[]) };
        let console = console.for_folder(folder, &consent).unwrap_or_else(|_| console.clone());
        let room = MOST.saturating_sub(found.len());
        found.extend(paths.iter().take(room).filter_map(|path| workflow(&console, folder, path, named)));
    }
    found
}

fn look(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let is_passed_over = name.starts_with('.') || matches!(name.as_str(), "node_modules" | "target");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 && !is_passed_over => look(&path, depth - 1, paths),
            Ok(kind) if kind.is_file() && is_workflow(&name) && paths.len() < MOST => paths.push(path),
            _ => {}
        }
    }
}

fn is_workflow(name: &str) -> bool {
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
    stem.is_some_and(|stem| !stem.ends_with(".tests"))
}

/// A file that compiles, or that says that it is a workflow.
fn workflow(console: &Console, folder: &Path, path: &Path, named: bool) -> Option<WorkflowFile> {
    let text = std::fs::read_to_string(path).ok()?;
    if !text.lines().any(|line| line.starts_with("workflow:")) {
        return None;
    }
    let compiled = compiling::compile_file(path, &console.config, None).ok()?;
    let first = compiled.diagnostics.iter().find(|found| found.severity == convoke_plan::Severity::Error);
    let problem = first.filter(|_| compiled.plan.is_none()).map(|found| found.message.clone());
    let problem = problem.or_else(|| {
        let origin = if named { Origin::Named } else { Origin::Found };
        let refused =
            trust::require(&console.config, origin, &trust::Place::of(path), compiled.plan.as_ref()?)
                .err()?;
        Some([vec![refused.message], refused.hints].concat().join("; "))
    });
    let root = compiled.plan.as_ref().map(Plan::root);
    Some(WorkflowFile {
        file: path.strip_prefix(folder).unwrap_or(path).display().to_string(),
        folder: folder.display().to_string(),
        name: root.map_or_else(|| path.display().to_string(), |root| root.name.to_string()),
        description: root.and_then(|root| root.description.clone()),
        inputs: root.and_then(|root| root.inputs.as_ref()).map(|inputs| {
            let input = |(name, input): (&String, &convoke_plan::Input)| WorkflowInput {
                name: name.clone(),
                ty: input.ty.word().to_owned(),
                required: input.required,
                default: input.default.clone(),
                description: input.description.clone(),
            };
            inputs.iter().map(input).collect()
        }),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_a_folder_may_be_started() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("w.yaml"), "workflow: {}").unwrap();
        }
        std::os::unix::fs::symlink(outside.join("w.yaml"), inside.join("link.yaml")).unwrap();
        let folders = [inside.clone()];
        let place = allowed(&folders, "w.yaml").unwrap();
        assert_eq!((place.below(), &place.folder), (Path::new("w.yaml"), &inside));
        let absolute = outside.join("w.yaml");
        for name in
            ["../out/w.yaml", "link.yaml", "none.yaml", "", ".", absolute.to_str().unwrap(), "--config=x"]
        {
            assert!(allowed(&folders, name).is_err(), "{name}");
        }
    }
}
