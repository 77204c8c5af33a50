//! Programs under test: run to their end and charged with what the kernel says they used.
//!
//! The kernel's own account (`wait4`) is the only one that holds every thread and every child's start and end.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a program took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Spent {
    /// From start to end.
    pub wall: Duration,
    /// User and system time of all threads.
    pub cpu: Duration,
    /// The most memory it had at once.
    pub peak_bytes: u64,
}

/// Runs a program to its end; its standard output comes back. A program that fails is an error.
pub fn run(command: &mut Command) -> Result<(Spent, String), Error> {
    let words = words(command);
    let started = Instant::now();
    let mut child = spawn(command)?;
    let said = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe)));
    let output = read(child.stdout.take().expect("it was asked for"));
    let (status, usage) = wait(&child).map_err(|source| failed_wait(&words, source))?;
    let spent =
        Spent { wall: started.elapsed(), cpu: cpu(&usage), peak_bytes: usage.ru_maxrss as u64 * 1024 };
    match code(status) {
        0 => Ok((spent, output)),
        code => Err(Error::Child { command: words, code, said: last_words(said) }),
    }
}

/// Starts a program with its output caught.
fn spawn(command: &mut Command) -> Result<Child, Error> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    child.map_err(Error::io("start", command.get_program().as_ref()))
}

/// All that comes out of a pipe; a program that is not read from would wait for ever.
fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn failed_wait(words: &str, source: io::Error) -> Error {
    Error::Io { doing: "wait for", path: words.into(), source }
}

/// Waits for a child and its account. After this the child's id may be anybody's: it is not to be signalled again.
fn wait(child: &Child) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live memory of the right types, and `rusage` is valid when zeroed.
        let pid = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr()) };
        match io::Error::last_os_error() {
            _ if pid >= 0 => return Ok((status, unsafe { usage.assume_init() })),
            error if error.kind() == io::ErrorKind::Interrupted => continue,
            error => return Err(error),
        }
    }
}

fn code(status: libc::c_int) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

fn cpu(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Measures this process from a moment on.
pub struct Meter {
    started: Instant,
    before: Duration,
}

impl Meter {
    /// From now on.
    pub fn start() -> Meter {
        Meter { started: Instant::now(), before: own_cpu() }
    }

    /// What it took so far.
    pub fn spent(&self) -> Spent {
        Spent { wall: self.started.elapsed(), cpu: own_cpu() - self.before, peak_bytes: 0 }
    }
}

fn own_cpu() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to live memory of the right type, and `rusage` is valid when zeroed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    cpu(&usage)
}

fn last_words(said: Option<JoinHandle<String>>) -> String {
    let said = said.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let lines: Vec<_> = said.lines().collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_charged_for_what_it_uses() {
        let (spent, output) =
            run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i"]))
                .unwrap();
        assert_eq!(output, "20000\n");
        assert!(spent.cpu > Duration::from_micros(500) && spent.wall >= spent.cpu / 4, "{spent:?}");
        assert!(spent.peak_bytes > 100_000);
    }

    #[test]
    fn a_program_may_say_more_than_a_pipe_holds() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 300000 /dev/zero >&2; echo done"]).stderr(Stdio::piped());
        assert_eq!(run(&mut command).unwrap().1, "done\n");
    }

    #[test]
    fn a_program_that_fails_is_an_error_with_its_last_words() {
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 7"]).stderr(Stdio::piped()));
        assert!(error.unwrap_err().to_string().ends_with("ended with 7: why"));
    }
}
