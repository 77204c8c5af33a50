//! The file of tests that stands beside a workflow file.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::source::nearest;
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
        let text =
            std::fs::read_to_string(file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let cases = read(&text).map_err(|mistakes| refuse(mistakes.join("; ")))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let workflow =
            workflow_of(file).ok_or_else(|| refuse("there is no workflow file beside it".to_owned()))?;
        Ok(Suite { file: file.to_owned(), workflow, folder, cases })
    }
}

/// `yes`, `no`, `on` and `off` are words, as they are in workflow files.
///
/// Everything that is wrong is told at once.
pub fn read(text: &str) -> Result<Vec<Case>, Vec<String>> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let written: Vec<Map<String, Value>> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| vec![error.to_string()])?;
    let mut mistakes = Vec::new();
    let mut cases = Vec::new();
    for (at, case) in written.into_iter().enumerate() {
        let name = case.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("test {}", at + 1), |name| format!("test `{name}`"));
        match case_of(case) {
            Ok(case) => cases.push(case),
            Err(why) => mistakes.extend(why.into_iter().map(|why| format!("{name}: {why}"))),
        }
    }
    if mistakes.is_empty() { Ok(cases) } else { Err(mistakes) }
}

const CASE_KEYS: [&str; 6] = ["name", "inputs", "args", "cassette", "replies", "expect"];
const EXPECT_KEYS: [&str; 7] = ["status", "output", "exact_output", "ran", "skipped", "max_calls", "error"];

/// One test, or everything that is wrong with it.
fn case_of(mut written: Map<String, Value>) -> Result<Case, Vec<String>> {
    let mut mistakes = unknown_keys(&mut written, &CASE_KEYS, "");
    if let Some(Value::Object(expect)) = written.get_mut("expect") {
        mistakes.extend(unknown_keys(expect, &EXPECT_KEYS, "expect."));
    }
    if written.contains_key("cassette") && written.contains_key("replies") {
        mistakes.push("it has a cassette and replies; one of them must answer".to_owned());
    }
    match serde_json::from_value(Value::Object(written)) {
        Ok(case) if mistakes.is_empty() => return Ok(case),
        Ok(_) => {}
        Err(error) => mistakes.push(error.to_string()),
    }
    Err(mistakes)
}

/// Takes out the keys that nobody knows, with the nearest one that is known.
fn unknown_keys(map: &mut Map<String, Value>, known: &[&str], within: &str) -> Vec<String> {
    let unknown: Vec<String> = map.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    map.retain(|key, _| known.contains(&key.as_str()));
    let words = |key: &String| match nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown key `{within}{key}`, did you mean `{near}`?"),
        None => format!("unknown key `{within}{key}`, known are {}", known.join(", ")),
    };
    unknown.iter().map(words).collect()
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
    fn words_are_read_as_in_workflow_files() {
        let cases = read("- {name: a, expect: {output: [yes, no, on, off, true, False]}}").unwrap();
        let expected = serde_json::json!(["yes", "no", "on", "off", true, false]);
        assert_eq!(cases[0].expect.output, Some(expected));
    }

    #[test]
    fn every_mistake_is_told_at_once_with_the_nearest_key() {
        let text = "- {name: a, expected: {}, input: {x: 1}}\n- {name: b, expect: {otuput: 1, ran: x}}\n- {inputs: {}}\n";
        let mistakes = read(text).unwrap_err();
        let expected = [
            "test `a`: unknown key `expected`, did you mean `expect`?",
            "test `a`: unknown key `input`, did you mean `inputs`?",
            "test `b`: unknown key `expect.otuput`, did you mean `output`?",
        ];
        assert_eq!(mistakes[..3], expected.map(str::to_owned));
        assert!(mistakes[3].starts_with("test `b`: ") && mistakes[4].contains("`name`"), "{mistakes:?}");
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
