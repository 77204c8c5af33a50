//! `--detach`: a run that outlives its terminal.
//!
//! The command is started again as a process of its own. That process has this terminal until its run is ready to be driven, so
//! whatever refuses the run is told here, with its exit code. Then it prints the run's name, begins a session of its own, and
//! writes everything further to the run's file `log`. It keeps the terminal open for one purpose: to tell that a gate opened
//! ([`crate::notifying`]). A terminal that is closed meanwhile is no error.

use crate::args::DetachedFrom;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::paint::Paint;
use crate::stdio;
use convoke_failpoint::failpoint;
use convoke_journal::StateDir;
use convoke_model::RunId;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

/// Comes before the name of a run that is ready. No output of ours begins so.
pub const READY: char = '\0';

/// Starts the same command as a process of its own, and waits until its run is ready or refused.
pub fn start(words: impl Iterator<Item = OsString>) -> Result<ExitCode, CommandFailure> {
    let from = if gate::is_attended() { "terminal" } else { "elsewhere" };
    let refused = |error: io::Error| CommandFailure::new(Exit::Failed, format!("cannot detach: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(refused)?);
    command.arg(format!("--detached={from}")).args(words.skip(1));
    // A terminal's lines are for the shell again; a file or a pipe may be what the command reads.
    let input = if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() };
    let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().map_err(refused)?;
    let mut said = String::new();
    let mut output = child.stdout.take().expect("it is piped");
    // Ends when the other side has let go of it: when its run is ready, or with the process.
    output.read_to_string(&mut said).map_err(refused)?;
    match said.strip_prefix(READY) {
        Some(run) => tell_where(run.trim(), &child),
        None => end_as(child, &said),
    }
}

/// The name alone on standard output, for scripts.
fn tell_where(run: &str, child: &Child) -> Result<ExitCode, CommandFailure> {
    let hint = Paint::for_stderr(crate::args::ColorChoice::Auto).advice("hint:");
    let words =
        format!("run {run} goes on in the background (process {})\n{hint} convoke attach {run}", child.id());
    stdio::err(&words);
    stdio::out(run)?;
    Ok(Exit::Success.into())
}

/// A command that started no run ends here as it would have without `--detach`.
fn end_as(mut child: Child, said: &str) -> Result<ExitCode, CommandFailure> {
    if !said.is_empty() {
        stdio::exact(said)?;
    }
    let status = child.wait().ok().and_then(|status| status.code());
    let code = status.and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(Exit::Failed.into(), ExitCode::from))
}

/// Where a detached run writes what it says.
pub fn log_path(state: &StateDir, run: &RunId) -> PathBuf {
    state.run_dir(run).join("log")
}

/// Lets go of the terminal, once nothing can refuse the run any more. Gives the terminal to tell of gates on.
pub fn let_go(from: DetachedFrom, state: &StateDir, run: &RunId) -> Result<Option<File>, CommandFailure> {
    let path = log_path(state, run);
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(|error| {
        CommandFailure::new(Exit::State, format!("`{}` cannot be written: {error}", path.display()))
    })?;
    let terminal = (from == DetachedFrom::Terminal && stdio::err_is_terminal())
        .then(|| stdio::screen().as_fd().try_clone_to_owned().map(File::from).ok())
        .flatten();
    // Fails only for the leader of a process group, which nothing but a session of its own has made it.
    rustix::process::setsid().ok();
    dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
    dup2_stderr(&log).map_err(io::Error::from)?;
    failpoint!("detach.let_go");
    stdio::signal(&format!("{READY}{run}\n"))?;
    failpoint!("detach.named");
    dup2_stdout(&log).map_err(io::Error::from)?;
    Ok(terminal)
}
