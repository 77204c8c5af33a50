//! Every workflow of the conformance corpus: good files give a plan, broken ones the right finding at the right line.
//!
//! The corpus lies beside the repository; where it is not there, these tests say so and pass.

#![allow(clippy::print_stderr)] // a skipped test says so

use convoke_plan::compile::{Compiled, Options, compile};
use convoke_plan::source::{SourceReadError, Sources};
use convoke_plan::{Diagnostic, Severity};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => SourceReadError::NotFound,
            std::io::ErrorKind::IsADirectory => SourceReadError::NotAFile,
            _ => SourceReadError::Unreadable(error.to_string()),
        })
    }

    fn env(&self, name: &str) -> Option<String> {
        (name != "NOT_SET_ANYWHERE").then(|| format!("http://{name}"))
    }
}

fn corpus() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/workflows");
    found.is_dir().then_some(found)
}

fn compiled(path: &Path) -> Compiled {
    compile(path.to_str().expect("paths of the corpus are text"), &Disk, &Options::default())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn shown(found: &[Diagnostic]) -> String {
    let line = |found: &Diagnostic| {
        let place = found.labels.first().map(|label| label.span.line_column());
        format!(
            "\n  {:?} {} {:?} {} ({})",
            found.severity,
            found.code,
            place,
            found.message,
            found.help.as_deref().unwrap_or("")
        )
    };
    found.iter().map(line).collect()
}

#[test]
fn good_files_give_a_plan() {
    let Some(corpus) = corpus() else { return eprintln!("skipped: no corpus beside the repository") };
    let mut wrong = Vec::new();
    for case in std::fs::read_dir(corpus.join("cases")).unwrap() {
        let case = case.unwrap().path();
        let expected = json(&case.join("case.json"))["validates"].as_bool();
        let result = compiled(&case.join("workflow.yaml"));
        if expected.is_some_and(|expected| expected != result.plan.is_some()) {
            wrong.push(format!("{}{}", case.display(), shown(&result.diagnostics)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn broken_files_are_explained_at_the_right_line() {
    let Some(corpus) = corpus() else { return eprintln!("skipped: no corpus beside the repository") };
    let facts = json(&corpus.join("invalid/invalid.json"));
    let mut wrong = Vec::new();
    for (file, fact) in facts.as_object().unwrap() {
        let result = compiled(&corpus.join("invalid").join(file));
        if !result.diagnostics.iter().any(|found| fits(found, fact)) {
            wrong.push(format!("{file}{}", shown(&result.diagnostics)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a finding says what must be said, at one of the places that will do.
fn fits(found: &Diagnostic, fact: &Value) -> bool {
    let severity = if fact["severity"] == "error" { Severity::Error } else { Severity::Warning };
    let text = format!("{} {}", found.message, found.help.as_deref().unwrap_or("")).to_lowercase();
    let mentions =
        |words: &Value| words.as_str().unwrap().split('|').any(|word| text.contains(&word.to_lowercase()));
    let also = fact["also_lines"].as_array().cloned().unwrap_or_default();
    let lines: Vec<u64> = [&fact["line"]].into_iter().chain(&also).filter_map(Value::as_u64).collect();
    let line = found.labels.first().map(|label| label.span.line_column().0 as u64);
    found.severity == severity
        && fact["must_mention"].as_array().unwrap().iter().all(mentions)
        && line.is_some_and(|line| lines.contains(&line))
}
