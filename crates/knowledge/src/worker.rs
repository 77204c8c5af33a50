//! The process in which a query of somebody else runs: our own binary, started with one word.
//!
//! Inside a process a query can grow a text until memory is gone, or nest until the stack is; so it runs in one that can be lost. The
//! worker limits its memory, may open nothing but the folder of the graph, reaches no network, and ends itself when a query's time is
//! over and the evaluator did not notice. It speaks lines of JSON over its standard streams: a [`Question`] in, an answer out.

use crate::Error;
use crate::ask::{Answer, Question, answer};
use crate::store::Store;
use landlock::{Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The name of the graph's file in its folder.
pub const FILE: &str = "graph.db";

/// The stack of the thread that evaluates.
const STACK: usize = 64 << 20;

/// What the process needs besides what a query may use.
const OWN_MEMORY: u64 = 192 << 20;

/// How long after a query's time the worker ends itself.
const GRACE: Duration = Duration::from_millis(500);

/// The code with which a worker ends itself when time is over.
const OUT_OF_TIME: i32 = 97;

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Answer(Answer),
    Refused(String),
    Stopped(String),
}

/// Serves questions about the graph in a folder until standard input ends. Takes rights away from its own process.
pub fn serve(folder: &Path) -> ExitCode {
    confine(folder);
    let mut lines = std::io::stdin().lines();
    while let Some(Ok(line)) = lines.next() {
        let reply = match serde_json::from_str::<Question>(&line) {
            Ok(question) => within_time(folder, question),
            Err(error) => Reply::Refused(format!("this is no question: {error}")),
        };
        let mut text = serde_json::to_vec(&reply).expect("a reply is data");
        text.push(b'\n');
        let mut out = std::io::stdout().lock();
        if out.write_all(&text).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// A kernel that has no such rights to take away leaves them: the limits of memory and time hold all the same.
fn confine(folder: &Path) {
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, no_core).ok();
    let restrict = || -> Result<(), Box<dyn std::error::Error>> {
        let abi = landlock::ABI::V4;
        let here = PathBeneath::new(PathFd::new(folder)?, AccessFs::from_all(abi));
        Ruleset::default()
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .create()?
            .add_rule(here)?
            .restrict_self()?;
        Ok(())
    };
    restrict().ok();
}

fn within_time(folder: &Path, question: Question) -> Reply {
    limit_memory(question.bounds.memory);
    let time = Duration::from_millis(question.bounds.time_ms) + GRACE;
    let (done, wait) = channel::<()>();
    std::thread::spawn(move || {
        if wait.recv_timeout(time) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            std::process::exit(OUT_OF_TIME);
        }
    });
    let file = folder.join(FILE);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || evaluate(&file, &question));
    let reply = match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) => Reply::Stopped("the evaluator gave up on it".into()),
        Err(error) => Reply::Stopped(error.to_string()),
    };
    drop(done);
    reply
}

fn limit_memory(bytes: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    let wanted = (bytes + OWN_MEMORY).min(maximum.unwrap_or(u64::MAX));
    setrlimit(Resource::Data, Rlimit { current: Some(wanted), maximum }).ok();
}

fn evaluate(file: &Path, question: &Question) -> Reply {
    let answered = match &question.given {
        Some(given) => given.store().and_then(|store| answer(store.connection(), question)),
        None => Store::reader(file).and_then(|connection| answer(&connection, question)),
    };
    match answered {
        Ok(answer) => Reply::Answer(answer),
        Err(Error::Refused(why)) => Reply::Refused(why),
        Err(Error::Stopped(why)) => Reply::Stopped(why),
        Err(error) => Reply::Stopped(error.to_string()),
    }
}

/// How a worker is started.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// The word that makes a worker of it; the folder of the graph comes behind it.
    pub word: String,
    /// The folder of the graph.
    pub folder: PathBuf,
}

/// A worker, started when there is a question and again when one was lost.
#[derive(Debug)]
pub struct Worker {
    command: WorkerCommand,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// None is started yet.
    pub fn new(command: WorkerCommand) -> Worker {
        Worker { command, running: None }
    }

    /// Asks; waits for the answer, or for the end of the worker.
    pub fn ask(&mut self, question: &Question) -> Result<Answer, Error> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let mut line = serde_json::to_vec(question).expect("a question is data");
        line.push(b'\n');
        let mut text = String::new();
        let spoke = running.input.write_all(&line).and_then(|()| running.input.flush());
        let heard = spoke.and_then(|()| running.output.read_line(&mut text));
        match heard {
            Ok(length) if length > 0 => {
                self.running = Some(running);
                match serde_json::from_str(&text) {
                    Ok(Reply::Answer(answer)) => Ok(answer),
                    Ok(Reply::Refused(why)) => Err(Error::Refused(why)),
                    Ok(Reply::Stopped(why)) => Err(Error::Stopped(why)),
                    Err(error) => Err(Error::Stopped(format!("its answer cannot be read: {error}"))),
                }
            }
            _ => Err(lost(&mut running.child, question)),
        }
    }

    fn start(&self) -> Result<Running, Error> {
        let mut child = Command::new(&self.command.program)
            .arg(&self.command.word)
            .arg(&self.command.folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Error::Stopped("the worker has no streams".into()));
        };
        Ok(Running { child, input, output: BufReader::new(output) })
    }
}

/// Why a worker ended on a question.
fn lost(child: &mut Child, question: &Question) -> Error {
    let code = child.wait().ok().and_then(|status| status.code());
    let mib = question.bounds.memory >> 20;
    Error::Stopped(match code {
        Some(OUT_OF_TIME) => format!("it took longer than {} s", question.bounds.time_ms as f64 / 1000.0),
        _ => format!("it needed more than {mib} MiB of memory, or stands too deep in itself"),
    })
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(Running { mut child, input, .. }) = self.running.take() {
            drop(input);
            child.kill().ok();
            child.wait().ok();
        }
    }
}
