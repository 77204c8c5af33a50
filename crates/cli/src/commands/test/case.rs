//! The file of tests that stands beside a workflow file.

use super::reading::{Mistake, read};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// How files of tests end.
const ENDINGS: [&str; 2] = [".tests.yaml", ".tests.yml"];

/// The tests of one workflow.
#[derive(Debug)]
pub struct Suite {
    /// The file of tests.
    pub file: PathBuf,
    /// The workflow file.
    pub workflow: PathBuf,
    /// Where cassettes are found from.
    pub folder: PathBuf,
    /// The tests, in the file's order.
    pub cases: Vec<Case>,
}

/// One test, as the file says it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Case {
    /// What must hold, in words.
    pub name: String,
    /// What the workflow is given.
    #[serde(default)]
    pub inputs: Map<String, Value>,
    /// Further flags of `convoke run`.
    #[serde(default)]
    pub args: Vec<String>,
    /// The folder of the cassette that answers.
    pub cassette: Option<PathBuf>,
    /// A file of scripted replies that answers instead.
    pub replies: Option<PathBuf>,
    /// What must come of it.
    #[serde(default)]
    pub expect: Expect,
}

/// What must come of a run; what is left out may be anything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Expect {
    /// How it ends; `succeeded` unless told.
    pub status: Option<String>,
    /// Fields that the output has, among others.
    pub output: Option<Value>,
    /// The output, and nothing else.
    pub exact_output: Option<Value>,
    /// Steps that ran.
    #[serde(default)]
    pub ran: Vec<String>,
    /// Steps that did not run.
    #[serde(default)]
    pub skipped: Vec<String>,
    /// The most calls to models.
    pub max_calls: Option<u64>,
    /// Words of the error.
    pub error: Option<String>,
}

impl Suite {
    /// Reads a file of tests.
    pub fn read(file: &Path) -> Result<Suite, CommandFailure> {
        let refuse =
            |why: String| CommandFailure::new(Exit::Refused, format!("tests `{}`: {why}", file.display()));
        // Each mistake has a line of its own, with its place.
        let refuse_all = |mistakes: Vec<Mistake>| {
            let lines: Vec<_> = mistakes.iter().map(|mistake| mistake.at(file)).collect();
            CommandFailure::new(Exit::Refused, lines.join("\nerror: "))
        };
        let text =
            std::fs::read_to_string(file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let cases = read(&text).map_err(refuse_all)?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let workflow =
            workflow_of(file).ok_or_else(|| refuse("there is no workflow file beside it".to_owned()))?;
        Ok(Suite { file: file.to_owned(), workflow, folder, cases })
    }
}

/// Whether a path is a file of tests.
pub fn is_tests(path: &Path) -> bool {
    stem(path).is_some()
}

/// The file of tests that is meant by a path: itself, or the one beside a workflow.
pub fn tests_of(path: &Path) -> Result<PathBuf, CommandFailure> {
    if is_tests(path) {
        return Ok(path.to_owned());
    }
    let beside = ENDINGS.map(|ending| path.with_extension(&ending[1..]));
    beside.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let words = format!("workflow file `{}` has no tests", path.display());
        let name = path.with_extension(&ENDINGS[0][1..]);
        CommandFailure::new(Exit::Usage, words).hint(format!("write them to `{}`", name.display()))
    })
}

fn workflow_of(tests: &Path) -> Option<PathBuf> {
    let stem = stem(tests)?;
    let beside = ["yaml", "yml"].map(|ending| tests.with_file_name(format!("{stem}.{ending}")));
    beside.into_iter().find(|file| file.is_file())
}

fn stem(tests: &Path) -> Option<&str> {
    let name = tests.file_name()?.to_str()?;
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_workflows_find_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("w.yaml"), "").unwrap();
        assert_eq!(tests_of(&path("w.yaml")).unwrap_err().exit, Exit::Usage);
        std::fs::write(path("w.tests.yaml"), "- {name: a}\n- {name: b, expect: {ran: [x]}}").unwrap();
        assert_eq!(tests_of(&path("w.yaml")).unwrap(), path("w.tests.yaml"));
        let suite = Suite::read(&path("w.tests.yaml")).unwrap();
        assert_eq!((suite.workflow, suite.cases.len()), (path("w.yaml"), 2));
    }

    #[test]
    fn a_broken_file_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.tests.yaml");
        for text in
            ["- {name: a, expected: {}}", "tests: 1", "- {name: a, cassette: x, replies: y}", "- {name: a}"]
        {
            std::fs::write(&path, text).unwrap();
            let failure = Suite::read(&path).unwrap_err();
            assert_eq!(failure.exit, Exit::Refused);
            assert!(failure.message.contains("w.tests.yaml"), "{}", failure.message);
        }
    }
}
