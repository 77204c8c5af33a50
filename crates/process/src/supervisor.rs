//! The supervisor: a process between the engine and one command, which ends everything that the command started.
//!
//! It is a copy of the engine that makes system calls and nothing else: no second program has to be loaded. It is the
//! *subreaper* of the command, so every descendant that loses its parent becomes the supervisor's child, whatever session
//! or group it went to, and nothing can leave. It ends when no descendant is left, with the command's own exit status. So
//! waiting for the supervisor is waiting for the whole tree, and a step that is tried again has no second writer.
//!
//! | what happens | what it does |
//! |---|---|
//! | the command ends | what it left behind has [`LAST_WORDS`] to end, then it is killed |
//! | [`ASK`] | the command's group is asked to end; the supervisor waits until all have |
//! | [`END`], sent by the engine or by the kernel when the engine dies | everything is killed at once |
//!
//! A command that *survives* has a supervisor that hears nothing of the engine's death. It takes what the command writes and
//! records how the command ended (`survivor`), and ends it when its time is over.
//!
//! A namespace of process ids would do the same, but a command would see other process ids than its neighbours, could not
//! signal them, and without privileges would lose its groups and set-user-id programs such as `sudo`. If the supervisor
//! itself is killed, its command dies with it (parent-death signal), and the mark in the environment finds the rest.
//!
//! A sandbox belongs here: this is the one place that every command passes.

use crate::exec::Exec;
use crate::survivor::{Recorder, Recording};
use convoke_failpoint::failpoint;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::CStr;
use std::time::{Duration, Instant};
use std::{io, mem, ptr};

/// Asks the command to end.
const ASK: libc::c_int = libc::SIGTERM;

/// Ends everything.
const END: libc::c_int = libc::SIGUSR2;

/// How long what a command leaves behind may still speak.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// How soon it is looked again whether something appeared that is to be killed.
const AGAIN: Duration = Duration::from_millis(5);

/// Its name in lists of processes.
pub const NAME: &CStr = c"convoke-guard";

/// Has a supervisor ask its command to end. The only error is that it has.
pub fn ask(supervisor: Pid) {
    let _ = kill_process(supervisor, Signal::TERM);
}

/// Has a supervisor end everything, also if it was stopped. The only error is that it has ended.
pub fn end(supervisor: Pid) {
    let _ = kill_process(supervisor, Signal::USR2);
    let _ = kill_process(supervisor, Signal::CONT);
}

/// Runs in a new child of `engine`, between fork and exec: starts the command and becomes its supervisor, one that records and
/// outlives the engine where there is a recording, and one that outlives it without one where that is said. Comes back only with the reason why the command could not be started.
pub fn supervise(
    engine: libc::pid_t,
    exec: &Exec,
    recording: Option<&Recording>,
    outlives: bool,
) -> io::Error {
    // SAFETY: only system calls, without a lock or an allocation, as it must be after a fork of many threads.
    unsafe {
        let mut all = mem::zeroed::<libc::sigset_t>();
        let mut before = mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        let mut start = Start { supervisor: libc::getpid(), mask: before, exec, streams: None, error: 0 };
        let supervisor = |command, recorder| Supervisor {
            command,
            status: None,
            asked: false,
            ending: false,
            all,
            recorder,
        };
        let Some(recording) = recording else {
            if !outlives {
                libc::prctl(libc::PR_SET_PDEATHSIG, END);
                // The engine may have died before the signal was set.
                if libc::getppid() != engine {
                    return io::ErrorKind::Interrupted.into();
                }
            }
            failpoint!("supervisor.command.before");
            return match begin(&mut start) {
                Ok(command) => supervisor(command, None).watch(),
                Err(error) => error,
            };
        };
        let (recorder, ends) = match recording.begin() {
            Ok(begun) => begun,
            Err(error) => return error,
        };
        start.streams = Some(ends);
        match begin(&mut start) {
            Ok(command) => supervisor(command, Some(recorder)).watch(),
            Err(error) => {
                recording.take_back();
                error
            }
        }
    }
}

/// What the command's process is given, and what it gives back if it cannot become the command.
struct Start<'a> {
    supervisor: libc::pid_t,
    mask: libc::sigset_t,
    exec: &'a Exec,
    /// Where it writes to, if not to the engine.
    streams: Option<[libc::c_int; 2]>,
    error: i32,
}

/// Room for the few calls before the exec.
const STACK: usize = 64 * 1024;

/// Starts the command's process in the memory of this one, which stands still until it has become the command: nothing
/// of what the engine has in memory is copied a second time.
///
/// # Safety
/// As `supervise`.
unsafe fn begin(start: &mut Start<'_>) -> io::Result<libc::pid_t> {
    // SAFETY: the stack is new and long enough, and `start` outlives the process's use of this memory.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let stack = libc::mmap(ptr::null_mut(), STACK, access, kind, -1, 0);
        if stack == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let given = ptr::from_mut(start).cast();
        let command = libc::clone(become_command, stack.byte_add(STACK), flags, given);
        let failed = io::Error::last_os_error();
        libc::munmap(stack, STACK);
        if command == -1 {
            return Err(failed);
        }
        // It was written by the other process while this one stood still.
        match ptr::read_volatile(&start.error) {
            0 => Ok(command),
            error => {
                libc::waitpid(command, ptr::null_mut(), 0);
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

extern "C" fn become_command(given: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `begin` gives its own `Start`, and waits; only system calls are made.
    unsafe {
        let start = given.cast::<Start<'_>>();
        libc::setpgid(0, 0);
        if let Some([out, err]) = (*start).streams {
            libc::dup2(out, 1);
            libc::dup2(err, 2);
        }
        // Descriptors are marked, not closed: the supervisor's copies are others.
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let error = if libc::getppid() == (*start).supervisor {
            libc::sigprocmask(libc::SIG_SETMASK, &(*start).mask, ptr::null_mut());
            (*start).exec.run()
        } else {
            libc::EINTR
        };
        ptr::write_volatile(&mut (*start).error, error);
        libc::_exit(127)
    }
}

struct Supervisor {
    command: libc::pid_t,
    /// How the command ended, once it has.
    status: Option<libc::c_int>,
    /// It was asked to end: all processes have the time that the engine gives.
    asked: bool,
    /// Everything is killed, and whatever appears.
    ending: bool,
    /// Every signal: all are blocked, and taken one by one.
    all: libc::sigset_t,
    /// Takes what the command writes, where it outlives the engine.
    recorder: Option<Recorder>,
}

impl Supervisor {
    /// SAFETY: as `supervise`; the process is given up for this.
    unsafe fn watch(mut self) -> ! {
        unsafe {
            // Also the descriptor by which the engine waits for the command's exec, and the command's own streams.
            match &self.recorder {
                Some(recorder) => recorder.close_others(),
                None => drop(libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0)),
            }
            libc::chdir(c"/".as_ptr());
            libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
            failpoint!("supervisor.command.started");
            let mut until: Option<Instant> = None;
            loop {
                let had_ended = self.status.is_some();
                if !self.reap() {
                    failpoint!("supervisor.end.before");
                    let status = self.status.unwrap_or(0);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.finish(status);
                    }
                    end_as(status);
                }
                if self.status.is_some() && !had_ended && !self.asked {
                    failpoint!("supervisor.command.ended");
                    until = Some(Instant::now() + LAST_WORDS);
                }
                if self.ending {
                    self.signal_all(libc::SIGKILL);
                    until = Some(Instant::now() + AGAIN);
                }
                match self.next_signal(until) {
                    END => self.ending = true,
                    ASK => {
                        (self.asked, until) = (true, None);
                        self.signal_all(ASK);
                    }
                    _ => self.ending |= until.is_some_and(|until| until <= Instant::now()),
                }
                self.end_in_time();
            }
        }
    }

    /// A command that may run without an engine ends when its time is over.
    fn end_in_time(&mut self) {
        if let Some(recorder) = &mut self.recorder
            && !self.ending
            && self.status.is_none()
            && recorder.deadline <= Instant::now()
        {
            (recorder.timed_out, self.ending) = (true, true);
        }
    }

    /// Reaps the children that have ended; whether any child is left.
    unsafe fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: a system call that fills one number.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => return true,
                -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                -1 => return false,
                pid if pid == self.command => self.status = Some(status),
                _ => {}
            }
        }
    }

    /// The next signal, or -1 when there was none until then.
    unsafe fn next_signal(&mut self, until: Option<Instant>) -> libc::c_int {
        if let Some(recorder) = &mut self.recorder {
            let until = until.map_or(recorder.deadline, |until| until.min(recorder.deadline));
            let is_over = self.ending || self.status.is_some();
            let until = if is_over { until.max(Instant::now() + AGAIN) } else { until };
            // SAFETY: as for `supervise`.
            return unsafe { recorder.next_signal(Some(until)) };
        }
        let patience = until.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = patience.map(|patience| libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: patience.subsec_nanos() as _,
        });
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: a system call that reads the set and the time.
        unsafe { libc::sigtimedwait(&self.all, ptr::null_mut(), limit) }
    }

    /// Signals the command's group, while its leader keeps the group's number from being used again; and, to kill them,
    /// every process whose parent has died or that has left the group.
    unsafe fn signal_all(&self, signal: libc::c_int) {
        // SAFETY: system calls without pointers.
        unsafe {
            if self.status.is_none() {
                libc::kill(-self.command, signal);
            }
            if signal == libc::SIGKILL || self.status.is_some() {
                each_child(|pid| {
                    libc::kill(pid, signal);
                });
            }
        }
    }
}

/// Calls `act` with each child of this process, as the kernel lists them.
unsafe fn each_child(mut act: impl FnMut(libc::pid_t)) {
    // SAFETY: the buffer is as long as is said, and the descriptor is ours.
    unsafe {
        let list = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let mut buffer = [0u8; 4096];
        let mut pid = 0;
        loop {
            let count = libc::read(list, buffer.as_mut_ptr().cast(), buffer.len());
            if count <= 0 {
                break;
            }
            for byte in &buffer[..count as usize] {
                match byte {
                    b'0'..=b'9' => pid = pid * 10 + libc::pid_t::from(byte - b'0'),
                    _ if pid > 0 => act(mem::take(&mut pid)),
                    _ => {}
                }
            }
        }
        libc::close(list);
    }
}

/// Ends this process as another one ended.
unsafe fn end_as(status: libc::c_int) -> ! {
    // SAFETY: system calls; the signal's action is made the default one before it is sent.
    unsafe {
        if libc::WIFEXITED(status) {
            libc::_exit(libc::WEXITSTATUS(status));
        }
        let signal = libc::WTERMSIG(status);
        let mut only = mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        // The core, if there is one, was the command's.
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &only, ptr::null_mut());
        libc::_exit(128 + signal);
    }
}
