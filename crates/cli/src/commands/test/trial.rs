//! Runs one test and looks at the run that it left behind.

use super::case::{Case, Suite};
use super::findings::Found;
use crate::changes;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use convoke_journal::StateDir;
use convoke_providers::{CASSETTE_FILE, Tape};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What came of a test's run, or why there was none.
pub fn run(suite: &Suite, case: &Case, record: bool) -> Result<Result<Found, String>, CommandFailure> {
    let scratch =
        tempfile::Builder::new().prefix("convoke-test-").tempdir().map_err(|error| broken(&error))?;
    let answers = match answers(suite, case, record, scratch.path())? {
        Ok(answers) => answers,
        Err(problem) => return Ok(Err(problem)),
    };
    let inputs = scratch.path().join("inputs.json");
    std::fs::write(&inputs, serde_json::to_string(&case.inputs).expect("inputs are JSON"))
        .map_err(|error| broken(&error))?;
    let state = scratch.path().join("state");
    let program = std::env::current_exe().map_err(|error| broken(&error))?;
    let output = Command::new(program)
        .args(["--quiet", "--color", "never", "--state-dir"])
        .arg(&state)
        .arg("run")
        .arg(&suite.workflow)
        .arg("--no-interactive")
        .arg("--input-file")
        .arg(inputs)
        .args(answers)
        .args(&case.args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| broken(&error))?;
    look(&state, String::from_utf8_lossy(&output.stderr).into_owned()).map(Ok)
}

/// The flags that choose the provider. A test without one gets a cassette without calls: no test asks a model by
/// accident.
fn answers(
    suite: &Suite,
    case: &Case,
    record: bool,
    scratch: &Path,
) -> Result<Result<Vec<OsString>, String>, CommandFailure> {
    let flag = |flag: &str, path: PathBuf| Ok(Ok(vec![OsString::from(flag), path.into()]));
    if let Some(replies) = &case.replies {
        return flag("--replies", suite.folder.join(replies));
    }
    let Some(cassette) = &case.cassette else {
        let folder = scratch.join("cassette");
        Tape::create(&folder).map_err(crate::cassette::refused)?;
        return flag("--replay", folder);
    };
    let folder = suite.folder.join(cassette);
    match (folder.join(CASSETTE_FILE).is_file(), record) {
        (true, _) => flag("--replay", folder),
        (false, true) => flag("--record", folder),
        (false, false) => Ok(Err(format!(
            "there is no cassette in `{}`; `convoke test --record` makes it",
            folder.display()
        ))),
    }
}

fn look(state: &Path, said: String) -> Result<Found, CommandFailure> {
    let state = StateDir::for_reading(state);
    // A workflow that is refused leaves no run, and perhaps no state folder.
    let rows = stored::list(&state).unwrap_or_default();
    let Some(row) = rows.first() else { return Ok(Found::refused(said)) };
    let stored = Stored::open(&state, &row.id.0)?;
    let report = convoke_engine::report::fold(&stored.events);
    let output = match &report.output {
        Some(output) => stored.text(output)?.map(|text| text.value()),
        None => None,
    };
    let status = report.status.map_or("failed", |status| status.word()).to_owned();
    let steps = steps(&state, &stored)?;
    Ok(Found::of(&stored.events, status, output, said).with_steps(steps))
}

/// The names of all steps, those of sub-workflows included.
fn steps(state: &StateDir, stored: &Stored) -> Result<Vec<String>, CommandFailure> {
    let plan =
        changes::stored_plan(state, &stored.run, &stored.reader.meta()?, || Ok(stored.events.clone()))?;
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    Ok(nodes.map(|node| node.name.to_string()).collect())
}

fn broken(error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("a test cannot be run: {error}"))
}
