//! A command and everything it started, as one thing that can be signalled and that dies as a whole.
//!
//! The command leads a process group, and a variable in its environment marks its descendants even where they leave
//! the group. Signals go to the group only while its leader is not reaped: until then its id cannot be used again.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::fs;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// The variable that marks a command's descendants.
pub const MARK: &str = "CONVOKE_COMMAND";

/// How often a process that forks as fast as it is killed is chased.
const MOST_ROUNDS: usize = 20;

/// A command's process group. Dropped early, it is killed.
pub struct Group {
    leader: Option<Child>,
    pid: Pid,
    mark: String,
}

impl Group {
    /// The group that `leader` leads.
    pub fn new(leader: Child, mark: String) -> Group {
        let pid = Pid::from_child(&leader);
        Group { leader: Some(leader), pid, mark }
    }

    /// Its id, which is its leader's too.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Asks every member to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // The only error is that nobody is left.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Ends descendants that have left the group.
    pub fn kill_escaped(&self) {
        kill_marked(&self.mark);
    }

    /// Collects the leader's exit status. Call it once the leader has ended, or it blocks.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.leader.take().and_then(|mut leader| leader.wait().ok())
    }

    /// Waits until no member lives, but no longer than this: what cannot be killed hangs in the kernel.
    pub async fn gone(&self, within: Duration) {
        let mut pause = Duration::from_millis(1);
        let dying = async {
            while !is_gone(self.pid) {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(50));
            }
        };
        let _ = tokio::time::timeout(within, dying).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        let Some(mut leader) = self.leader.take() else { return };
        self.kill_escaped();
        // Dying may take the kernel a moment, and nobody may wait for it here.
        std::thread::spawn(move || leader.wait());
    }
}

/// Whether no living process is in the group. Dead members that nobody has reaped do not count.
pub fn is_gone(group: Pid) -> bool {
    test_kill_process_group(group) == Err(Errno::SRCH)
        || !processes().any(|process| process.group == group.as_raw_nonzero().get() && process.is_alive())
}

/// Ends all processes with the mark, and what they start meanwhile.
pub fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    for _ in 0..MOST_ROUNDS {
        let found: Vec<Pid> =
            processes().filter(|it| it.is_alive() && it.mark_is(&wanted)).map(|it| it.pid).collect();
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        // The signal is delivered before the process runs again; let it.
        std::thread::yield_now();
    }
}

/// One process, as the kernel tells it.
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its group.
    pub group: i32,
    /// When it was started, in clock ticks since the machine was.
    pub start: u64,
    state: char,
}

impl Process {
    /// The process with this id.
    pub fn find(pid: Pid) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name, in brackets, may itself hold brackets and blanks.
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let start = fields.nth(16)?.parse().ok()?;
        Some(Process { pid, group, start, state })
    }

    /// Whether it still runs: the dead stay listed until they are reaped.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Its mark, if it is the descendant of a command of ours.
    pub fn mark(&self) -> Option<String> {
        let environment = self.environment()?;
        let prefix = format!("{MARK}=");
        let entry =
            environment.split(|byte| *byte == 0).find(|entry| entry.starts_with(prefix.as_bytes()))?;
        String::from_utf8(entry[prefix.len()..].to_vec()).ok()
    }

    fn mark_is(&self, wanted: &str) -> bool {
        self.environment().is_some_and(|environment| {
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
    }

    fn environment(&self) -> Option<Vec<u8>> {
        fs::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero())).ok()
    }
}

/// All processes of the machine that can be seen.
pub fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter_map(Process::find)
}
