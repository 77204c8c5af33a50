//! `convoke test`: runs workflows against cassettes and compares what they give with what their tests say.
//!
//! Each test is a run of its own, in a process and a state folder of its own, so that nothing of one reaches another
//! and the user's runs stay as they are.

mod case;
mod findings;
mod reading;
mod trial;
mod update;

use crate::args::{Format, TestArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use case::{Case, Suite};
use findings::Found;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How one test ended.
#[derive(Debug, Serialize)]
struct Verdict {
    file: String,
    name: String,
    passed: bool,
    /// Whether its expectations were changed to what came out.
    updated: bool,
    /// How the run ended.
    status: String,
    /// Calls to models.
    calls: u64,
    /// What is not as expected.
    problems: Vec<String>,
}

/// Runs every test and says which passed.
pub fn run(console: &Console, args: &TestArgs) -> Result<Exit, CommandFailure> {
    let mut verdicts = Vec::new();
    for suite in suites(&args.paths)? {
        for index in 0..suite.cases.len() {
            let verdict = judge(&suite, index, args)?;
            if args.format == Format::Text {
                console.data(&text(console, &verdict))?;
            }
            verdicts.push(verdict);
        }
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.passed).count();
    let passed = verdicts.len() - failed;
    match args.format {
        Format::Text => console.data(&format!("{passed} passed, {failed} failed"))?,
        Format::Json => {
            console.json(&serde_json::json!({"passed": passed, "failed": failed, "tests": verdicts}))?;
        }
    }
    if failed == 0 { Ok(Exit::Success) } else { Err(CommandFailure::explained(Exit::Failed)) }
}

fn judge(suite: &Suite, index: usize, args: &TestArgs) -> Result<Verdict, CommandFailure> {
    let case = &suite.cases[index];
    let mut updated = false;
    let (status, calls, problems) = match trial::run(suite, case, args.record)? {
        Ok(found) => {
            let mut wrong = problems(case, &found);
            if args.update
                && !wrong.is_empty()
                && let Some(corrected) = update::update(suite, index, case, &found)?
            {
                updated = true;
                wrong = problems(&corrected, &found);
            }
            (found.status.clone(), found.calls, wrong)
        }
        Err(problem) => ("not_run".to_owned(), 0, vec![problem]),
    };
    let (file, name) = (suite.workflow.display().to_string(), case.name.clone());
    Ok(Verdict { file, name, passed: problems.is_empty(), updated, status, calls, problems })
}

/// What is not as expected; a test without a cassette or provider gets that finding first.
fn problems(case: &Case, found: &Found) -> Vec<String> {
    let problems = findings::problems(&case.expect, found);
    let nobody = found.unanswered && case.cassette.is_none() && case.replies.is_none();
    let why = "a step asks a model, and the test names neither a `cassette` nor `replies` to answer";
    let why = (nobody && !problems.is_empty()).then(|| why.to_owned());
    why.into_iter().chain(problems).collect()
}

fn text(console: &Console, verdict: &Verdict) -> String {
    let word = match (verdict.passed, verdict.updated) {
        (true, false) => console.paint.good("ok    "),
        (true, true) => console.paint.warn("updated"),
        (false, _) => console.paint.bad("FAILED"),
    };
    let problems = verdict.problems.iter().flat_map(|problem| problem.lines());
    let problems: String = problems.map(|line| format!("\n         {line}")).collect();
    format!("{word}   {}: {}{problems}", verdict.file, verdict.name)
}

/// The tests of every file and folder, in the order given; a folder's by name.
fn suites(paths: &[PathBuf]) -> Result<Vec<Suite>, CommandFailure> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        match path.is_dir() {
            true => collect(path, &mut files)?,
            false => files.push(case::tests_of(path)?),
        }
        if files.len() == before {
            let words = format!("folder `{}` has no tests", path.display());
            return Err(
                CommandFailure::new(Exit::Usage, words).hint("tests of NAME.yaml stand in NAME.tests.yaml")
            );
        }
    }
    files.iter().map(|file| Suite::read(file)).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), CommandFailure> {
    let refuse = |error: std::io::Error| {
        CommandFailure::new(Exit::Usage, format!("folder `{}` cannot be read: {error}", folder.display()))
    };
    let entries =
        std::fs::read_dir(folder).map_err(refuse)?.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // A link to a folder may lead back up; what is meant to be tested stands in the folder itself.
        if path.is_dir() && !path.is_symlink() && !hidden {
            collect(&path, found)?;
        } else if case::is_tests(&path) {
            found.push(path);
        }
    }
    Ok(())
}
