//! Every file of the conformance corpus can be read; the corpus lives beside the repository and may be absent.

use std::path::{Path, PathBuf};

use super::super::{SourceReadError, Sources, read_workflow};
use crate::diagnostic::Severity;

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        std::fs::read(path).map_err(|error| SourceReadError::Unreadable(error.to_string()))
    }

    /// Every variable is set, except the one whose absence a case is about.
    fn env(&self, name: &str) -> Option<String> {
        (name != "NOT_SET_ANYWHERE").then(|| "value".to_owned())
    }
}

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/workflows");
    root.canonicalize().ok()
}

fn workflow_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            workflow_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn every_case_of_the_corpus_is_read_without_errors() {
    let Some(root) = corpus() else {
        eprintln!("skipped: the conformance corpus is not beside the repository");
        return;
    };
    let mut files = Vec::new();
    workflow_files(&root.join("cases"), &mut files);
    for file in files.iter().filter(|file| !file.to_string_lossy().contains("151-env-missing")) {
        let (workflow, findings) = read_workflow(&file.to_string_lossy(), &Disk);
        let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(errors.is_empty() && workflow.is_some(), "{}: {errors:?}", file.display());
    }
}
