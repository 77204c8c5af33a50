//! Runs that are started over HTTP: processes of their own, as `--detach` makes them.
//!
//! What comes from a caller is never an option of the command line: inputs go through a private file, everything else stands behind its
//! option in one word. The process is ready when it has named its run; what refuses the run before is told in its own words.

use super::files::Place;
use super::host::refusal;
use crate::detaching::READY;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_journal::StateDir;
use convoke_model::{RunId, TaskId};
use convoke_server::{Refusal, RefusalKind, StartOptions};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts a new run in the folder of its file.
pub(super) fn run(
    state: &StateDir,
    place: &Place,
    found: bool,
    inputs: &Map<String, Value>,
    options: &StartOptions,
    by: &str,
) -> Result<RunId, Refusal> {
    let mut given = tempfile::NamedTempFile::new().map_err(cannot)?;
    given.write_all(Value::Object(inputs.clone()).to_string().as_bytes()).map_err(cannot)?;
    let mut words = vec![OsString::from("run")];
    words.push(word("--input-file=", given.path()));
    words.push(format!("--metadata=started_by={by}").into());
    if options.budget.is_some() {
        let words = "a budget is part of the workflow file (`limits.budget_usd`)";
        return Err(Refusal::new(RefusalKind::Refused, "refused", words));
    }
    // What the file holds then is judged again by the process that runs it.
    words.extend(found.then(|| OsString::from("--found")));
    words.extend(flags(options));
    // A name that begins like an option is none.
    words.extend([OsString::from("--"), Path::new(".").join(place.below()).into_os_string()]);
    start(state, Some(&place.folder), words)
}

/// Goes on with a run.
pub(super) fn resume(state: &StateDir, run: &RunId, options: &StartOptions) -> Result<RunId, Refusal> {
    let mut words = vec![OsString::from("resume")];
    // Refused by the process itself, where the run is none of `convoke goal`.
    words.extend(options.budget.map(|dollars| OsString::from(format!("--budget={dollars}"))));
    words.extend(flags(options));
    words.extend([OsString::from("--"), OsString::from(&*run.0)]);
    start(state, None, words)
}

/// Goes on with a run so that a task is done again.
pub(super) fn retry(
    state: &StateDir,
    run: &RunId,
    task: &TaskId,
    repeat_effects: bool,
) -> Result<RunId, Refusal> {
    let mut words = vec![OsString::from("resume"), format!("--retry={task}").into()];
    words.extend(repeat_effects.then(|| OsString::from("--repeat-effects")));
    words.extend([OsString::from("--"), OsString::from(&*run.0)]);
    start(state, None, words)
}

fn word(option: &str, value: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

fn flags(options: &StartOptions) -> Vec<OsString> {
    let stated = [
        options.provider.as_ref().map(|provider| format!("--provider={provider}")),
        options.model.as_ref().map(|model| format!("--model={model}")),
        options.max_concurrency.map(|count| format!("--max-concurrency={count}")),
        options.skip_gates.then(|| "--skip-gates".to_owned()),
    ];
    stated.into_iter().flatten().map(OsString::from).collect()
}

fn start(state: &StateDir, folder: Option<&Path>, words: Vec<OsString>) -> Result<RunId, Refusal> {
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command.arg("--detached=elsewhere").arg(word("--state-dir=", state.path())).args(words);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    // A group of its own: what interrupts the server does not interrupt it.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(cannot)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let complaint = std::thread::spawn(move || text_of(stderr));
    let said = text_of(stdout);
    match said.strip_prefix(READY) {
        Some(run) => {
            let run = RunId(run.trim().into());
            // Its end is waited for on a thread, so that it leaves no zombie; how it ends is its own business.
            std::thread::spawn(move || child.wait());
            Ok(run)
        }
        None => Err(refused(child, complaint.join().unwrap_or_default())),
    }
}

fn text_of(stream: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut text).ok();
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn cannot(error: io::Error) -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "state", format!("the run cannot be started: {error}"))
}

/// The words of a process that started no run, with its exit code.
fn refused(mut child: Child, said: String) -> Refusal {
    let code = child.wait().ok().and_then(|status| status.code());
    let exit = match code {
        Some(6) => Exit::Owned,
        Some(24) => Exit::Inside,
        Some(74) => Exit::State,
        Some(1) => Exit::Failed,
        _ => Exit::Refused,
    };
    let (mut message, mut hints) = (Vec::new(), Vec::new());
    for line in said.lines() {
        match (line.strip_prefix("error: "), line.strip_prefix("hint: ")) {
            (Some(words), _) => message.push(words.to_owned()),
            (_, Some(words)) => hints.push(words.to_owned()),
            _ => message.extend(line.trim_start().strip_prefix("caused by: ").map(str::to_owned)),
        }
    }
    if message.is_empty() {
        message.push(said.trim().to_owned());
    }
    let mut failure = CommandFailure::new(exit, message.join(": "));
    failure.hints = hints;
    refusal(failure)
}
