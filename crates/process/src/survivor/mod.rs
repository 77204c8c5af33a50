//! Commands that go on when the engine dies: recorded by their supervisor, found again by another engine.
//!
//! Each such command has a folder, its *slot*. What is in it:
//!
//! | file | written by | says |
//! |---|---|---|
//! | `boot` | the engine, before the start | on which start of the machine |
//! | `stdin` | the engine, before the start | what the command reads |
//! | `lock` | locked by the supervisor | held: the supervisor lives |
//! | `started` | the supervisor, created just before the command starts | its process id; `void`: an engine gave the slot up |
//! | `stdout`, `stderr` | the supervisor | what the command wrote, bounded: beginning and end |
//! | `exit` | the supervisor, by a synced file that is renamed | how the command ended; durable |
//! | `attached` | the engine that attends to the command | which engine that is |
//!
//! Kept true: `started` is created once, by the supervisor or by an engine that gives the slot up, so a command that an engine found
//! not started never starts. A lock outlives no process, so neither a process id that was used again nor a new start of the machine
//! is taken for a supervisor that lives. `recorder` is the supervisor's half.

mod record;
mod recorder;

pub use record::{Recorded, Stream};
pub(crate) use recorder::{Recorder, Recording};

use crate::hurry;
use crate::process::{Process, kill_marked};
use convoke_failpoint::failpoint;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// What `started` holds where an engine gave the slot up.
const VOID: &[u8] = b"void";

/// How often a slot is looked at anew that another process is just changing.
const LOOKS: usize = 200;

/// How soon.
const AGAIN: Duration = Duration::from_millis(5);

/// How long the dying may take.
const DYING: Duration = Duration::from_secs(2);

/// The folder of one command that outlives the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    folder: PathBuf,
}

/// How a command stands.
#[derive(Debug)]
pub enum Standing {
    /// It has ended, and this is recorded.
    Finished(Recorded),
    /// It runs.
    Running(Survivor),
    /// It was never started, and now never will be.
    Unstarted,
    /// It cannot be said, for this reason.
    Lost(&'static str),
}

impl Slot {
    /// The slot in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Slot {
        Slot { folder: folder.into() }
    }

    /// All slots below a folder.
    pub fn all(folder: &Path) -> Vec<Slot> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut slots: Vec<Slot> = entries.map(|entry| Slot::at(entry.path())).collect();
        slots.sort();
        slots
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// By this, whatever its command started is known.
    pub(crate) fn mark(&self) -> String {
        format!("survive.{}", self.name())
    }

    /// Makes the folder anew, for a command that is about to start. Whatever was in it is gone.
    pub(crate) fn prepare(
        &self,
        stdin: Option<&str>,
        half: u64,
        limit: Duration,
    ) -> io::Result<(Recording, Option<File>)> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&self.folder)?,
        }
        fs::write(self.folder.join("boot"), boot())?;
        let stdin = match stdin {
            Some(text) => {
                fs::write(self.folder.join("stdin"), text)?;
                Some(File::open(self.folder.join("stdin"))?)
            }
            None => None,
        };
        let lock = self.create("lock")?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let folder = File::open(&self.folder)?;
        let recording =
            Recording::new(folder, lock, [self.create("stdout")?, self.create("stderr")?], half, limit);
        failpoint!("survivor.slot.prepared");
        Ok((recording, stdin))
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.folder.join(name))
    }

    /// How its command stands. One that was not started never will be, once this was asked.
    ///
    /// Blocks for a moment while another process changes it.
    pub fn look(&self) -> io::Result<Standing> {
        let Ok(lock) = File::open(self.folder.join("lock")) else {
            return Ok(Standing::Lost("its record is gone"));
        };
        if fs::read(self.folder.join("boot")).ok().as_deref() != Some(boot().as_bytes()) {
            // What was recorded durably before the machine was started anew still counts.
            let recorded = Recorded::read(&self.folder)?;
            return Ok(recorded.map_or(Standing::Lost("the machine was started anew"), Standing::Finished));
        }
        for _ in 0..LOOKS {
            let is_held = is_held(&lock);
            if let Some(recorded) = Recorded::read(&self.folder)? {
                return Ok(Standing::Finished(recorded));
            }
            match self.started()? {
                None if self.give_up()? => return Ok(Standing::Unstarted),
                None => {}
                Some(Begun::Void) => return Ok(Standing::Unstarted),
                Some(Begun::Nothing) if !is_held => return Ok(Standing::Unstarted),
                Some(Begun::By(pid)) if is_held => match Survivor::of(self, pid) {
                    // It may have ended meanwhile, and its id may be another's.
                    Ok(survivor) if self::is_held(&lock) => return Ok(Standing::Running(survivor)),
                    _ => {}
                },
                // Without a lock and without a record of its end, looked for in this order.
                Some(Begun::By(_)) if !is_held && Recorded::read(&self.folder)?.is_none() => {
                    return Ok(Standing::Lost(
                        "its supervisor was ended before the end of the command was recorded",
                    ));
                }
                _ => {}
            }
            std::thread::sleep(AGAIN);
        }
        Ok(Standing::Lost("its supervisor does not answer"))
    }

    fn started(&self) -> io::Result<Option<Begun>> {
        let bytes = match fs::read(self.folder.join("started")) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        if bytes == VOID {
            return Ok(Some(Begun::Void));
        }
        let pid = <[u8; 4]>::try_from(bytes.as_slice()).ok().map(i32::from_le_bytes).and_then(Pid::from_raw);
        // `void` has four bytes as well, and as a number is no process id.
        Ok(Some(pid.map_or(Begun::Nothing, Begun::By)))
    }

    /// Keeps the command from ever starting; false if it may have started meanwhile.
    fn give_up(&self) -> io::Result<bool> {
        match self.create("started") {
            Ok(mut file) => file.write_all(VOID).map(|()| true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Says which engine attends to the command from here on.
    pub fn attend(&self, engine: &str) -> io::Result<()> {
        let new = self.folder.join("attached.new");
        fs::write(&new, engine)?;
        failpoint!("survivor.attached.written");
        fs::rename(new, self.folder.join("attached"))
    }

    /// Whether this engine attends to the command: another one may have taken the run over.
    pub fn is_attended_by(&self, engine: &str) -> bool {
        fs::read_to_string(self.folder.join("attached")).is_ok_and(|attached| attached == engine)
    }

    /// Bytes that the command has written so far.
    pub fn written(&self) -> u64 {
        let total = |stream: Stream| Recorded::total(&self.folder, stream).unwrap_or_default();
        total(Stream::Stdout) + total(Stream::Stderr)
    }

    /// The process id of the supervisor, while it lives.
    pub fn supervisor(&self) -> Option<u32> {
        let lock = File::open(self.folder.join("lock")).ok()?;
        match self.started().ok()?? {
            Begun::By(pid) if is_held(&lock) => Some(pid.as_raw_nonzero().get().unsigned_abs()),
            _ => None,
        }
    }

    /// Ends the command and whatever it started; whether there was anything to end. The command never starts if it has not yet.
    ///
    /// Blocks for as long as the dying take.
    pub fn end(&self) -> bool {
        let was_there = match self.look() {
            Ok(Standing::Running(survivor)) => {
                survivor.kill();
                let deadline = Instant::now() + DYING;
                while self.supervisor().is_some() && Instant::now() < deadline {
                    std::thread::sleep(AGAIN);
                }
                true
            }
            _ => false,
        };
        kill_marked(&self.mark());
        was_there
    }

    /// Forgets the command.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What is known of a start.
enum Begun {
    /// The supervisor is about to say.
    Nothing,
    /// An engine gave the slot up.
    Void,
    /// By this supervisor.
    By(Pid),
}

/// Shared locks for looking do not keep each other out.
fn is_held(lock: &File) -> bool {
    match flock(lock, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(lock, FlockOperation::Unlock);
            false
        }
        Err(_) => true,
    }
}

/// The machine's present start.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// A command that runs under a supervisor which need not be a child of this process.
#[derive(Debug)]
pub struct Survivor {
    pid: Pid,
    /// Readable once the supervisor has ended.
    exit: OwnedFd,
    mark: String,
}

impl Survivor {
    fn of(slot: &Slot, pid: Pid) -> io::Result<Survivor> {
        let exit = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Survivor { pid, exit, mark: slot.mark() })
    }

    /// The supervisor's id, and when it was started, as the kernel counts.
    pub fn identity(&self) -> (u32, u64) {
        let start = Process::find(self.pid).map_or(0, |process| process.start);
        (self.pid.as_raw_nonzero().get().unsigned_abs(), start)
    }

    /// Waits until the command and everything that it started have ended.
    pub async fn ends(&self) {
        // SAFETY: the descriptor is ours and stays the same for as long as the registration lives.
        match unsafe { AsyncFd::register(self.exit.as_fd()) } {
            Ok(exit) => drop(exit.readable().await),
            // A runtime without room for another descriptor.
            Err(_) => {
                while Process::find(self.pid).is_some_and(|process| process.is_alive()) {
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Asks the command to end, and waits until everything has, but no longer than the grace.
    pub async fn ask_to_end(&self, grace: Duration) {
        if hurry::is_told() {
            return;
        }
        let _ = pidfd_send_signal(self.exit.as_fd(), Signal::TERM);
        hurry::within(grace, self.ends()).await;
    }

    /// Ends everything.
    pub fn kill(&self) {
        let supervisor = self.exit.as_fd();
        let _ = pidfd_send_signal(supervisor, Signal::USR2);
        let _ = pidfd_send_signal(supervisor, Signal::CONT);
    }

    /// Ends descendants whose supervisor was killed.
    pub fn kill_escaped(&self) {
        kill_marked(&self.mark);
    }
}

#[cfg(test)]
mod tests;
