//! A `convoke` process that runs while the test looks at it, signals it, and waits for it.
//!
//! Every wait has a deadline: a program that hangs is a failed test, not a stuck one.

use super::Said;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take before it counts as hanging. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// How often something is looked at while waiting for it.
const GLANCE: Duration = Duration::from_millis(2);

/// A running command; dropped, it is killed.
pub struct Process {
    child: Option<Child>,
    stdout: Option<Collected>,
    stderr: Option<Collected>,
}

impl Process {
    /// Starts it as the leader of a process group of its own.
    pub fn start(mut command: Command) -> Process {
        let mut child = command.process_group(0).spawn().expect("the binary starts");
        let stdout = child.stdout.take().map(Collected::from);
        let stderr = child.stderr.take().map(Collected::from);
        Process { child: Some(child), stdout, stderr }
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it runs"))
    }

    /// Sends a signal to the process alone. One that has ended meanwhile gets none.
    pub fn signal(&self, signal: Signal) {
        match kill_process(self.pid(), signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("no signal for {:?}: {error}", self.pid()),
        }
    }

    /// Kills it at once and takes its remains away; says whether it was still running.
    pub fn kill(&mut self) -> bool {
        let child = self.child.as_mut().expect("it runs");
        let ran = child.try_wait().expect("it can be waited for").is_none();
        child.kill().expect("it can be killed");
        child.wait().expect("it can be waited for");
        ran
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().expect("it runs").try_wait().expect("it can be waited for").is_some()
    }

    /// Whether standard error holds these words by now.
    pub fn has_said(&self, words: &str) -> bool {
        self.stderr.as_ref().is_some_and(|stderr| stderr.so_far().contains(words))
    }

    /// Waits until standard error holds these words.
    #[track_caller]
    pub fn await_words(&self, words: &str) {
        let stderr = self.stderr.as_ref().expect("standard error is collected");
        until(&format!("it says `{words}`"), || stderr.so_far().contains(words));
    }

    /// What it has said on standard error so far.
    pub fn said_so_far(&self) -> String {
        self.stderr.as_ref().expect("standard error is collected").so_far()
    }

    /// The first line of its output, once it is there.
    #[track_caller]
    pub fn await_line(&self) -> String {
        let stdout = self.stdout.as_ref().expect("standard output is collected");
        until("it prints a line", || stdout.so_far().contains('\n'));
        stdout.so_far().lines().next().unwrap_or_default().to_owned()
    }

    /// What it said, once it has ended.
    #[track_caller]
    pub fn wait(mut self) -> Said {
        let mut child = self.child.take().expect("it runs");
        let ended = within(PATIENCE, || child.try_wait().expect("it can be waited for").is_some());
        if !ended {
            child.kill().expect("it can be killed");
        }
        let status = child.wait().expect("it can be waited for");
        let text = |stream: Option<Collected>| stream.map(Collected::whole).unwrap_or_default();
        let said =
            Said { code: status.code(), stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) };
        assert!(ended, "it did not end within {PATIENCE:?}\n{said}");
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// What a stream has said so far, read by a thread of its own.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Collected {
    fn from(mut stream: impl Read + Send + 'static) -> Collected {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                shared.lock().expect("a panic poisoned this lock").extend_from_slice(&piece[..count]);
            }
        });
        Collected { bytes, reader }
    }

    fn so_far(&self) -> String {
        let bytes = self.bytes.lock().expect("a panic poisoned this lock");
        String::from_utf8(bytes.clone()).expect("convoke speaks UTF-8")
    }

    fn whole(self) -> String {
        let text = self.bytes.clone();
        self.reader.join().expect("a reader ends");
        let bytes = std::mem::take(&mut *text.lock().expect("a panic poisoned this lock"));
        String::from_utf8(bytes).expect("convoke speaks UTF-8")
    }
}

/// Looks again and again until it is so; false when the time is over.
pub fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if begin.elapsed() > time {
            return false;
        }
        std::thread::sleep(GLANCE);
    }
}

/// Waits until it is so, or fails.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within(PATIENCE, is_so), "waited {PATIENCE:?} in vain: {what}");
}

/// Ends processes that work in a folder: runs in the background that wait for a person outlive the test that started them.
pub fn end_those_in(folder: &Path) {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in all
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
    {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        pid.and_then(|pid| kill_process(pid, Signal::KILL).ok());
    }
}

/// Whether a process of this id is there and not just a zombie.
pub fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name stands in parentheses and may hold anything; the state is the word after it.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// The process ids in a file, one a line, that are written with a final line break.
pub fn pids_in(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| line.trim().parse().expect("a process id")).collect()
}
