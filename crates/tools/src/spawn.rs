//! Starts processes, always from the same thread.
//!
//! The kernel sends the parent-death signal when the *thread* that started a child ends, not when the process does, so
//! a runtime's worker must not be that thread. Starting also copies the page tables, which may take a millisecond.
//! A child gets no descriptor but its three, leads a group of its own, and dies with the engine.

use crate::environment::Environment;
use crate::group::MARK;
use convoke_model::{Class, Failure, ScriptCall};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

type Started = oneshot::Sender<io::Result<Child>>;

/// The thread that starts processes. It lives until this is dropped.
pub struct Spawner {
    orders: Mutex<Sender<(Command, Started)>>,
}

impl Spawner {
    /// Starts the thread.
    pub fn new() -> Spawner {
        let (orders, received) = channel();
        std::thread::Builder::new()
            .name("commands".into())
            .spawn(move || start_all(&received))
            .expect("a machine that has no thread left cannot run commands either");
        Spawner { orders: Mutex::new(orders) }
    }

    /// Starts a process.
    pub async fn start(&self, command: Command) -> io::Result<Child> {
        let (started, child) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts commands has ended");
        self.orders
            .lock()
            .expect("nobody panics while holding it")
            .send((command, started))
            .map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}

fn start_all(orders: &Receiver<(Command, Started)>) {
    while let Ok((mut command, started)) = orders.recv() {
        if let Err(Ok(mut unwanted)) = started.send(command.spawn()) {
            // Whoever wanted it has been cancelled meanwhile.
            let _ = unwanted.kill();
            let _ = unwanted.wait();
        }
    }
}

/// The process that a call asks for, ready to be started.
pub fn command(call: &ScriptCall, environment: &Environment, mark: &str) -> Command {
    let mut command = Command::new(&call.command);
    command.args(&call.args).env_clear().envs(environment.for_call(call)).env(MARK, mark);
    if let Some(folder) = &call.working_dir {
        command.current_dir(folder);
    }
    command.stdin(if call.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let engine = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made; nothing is allocated or locked.
    unsafe { command.pre_exec(move || bind_to(engine)) };
    command
}

/// Runs in the child: close what it must not inherit, and die with the engine.
fn bind_to(engine: Pid) -> io::Result<()> {
    // SAFETY: a system call without pointers. Descriptors are marked, not closed: one of them reports a failed exec.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        return Err(io::Error::last_os_error());
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The engine may have died before the signal was set.
    if getppid() == Some(engine) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
}

/// Why a process could not be started, said so that its author can act.
pub fn refusal(call: &ScriptCall, error: &io::Error) -> Failure {
    let command = &call.command;
    let folder = call.working_dir.as_deref();
    let place = folder.map_or(String::new(), |folder| format!(" in `{folder}`"));
    let (reason, what) = match error.kind() {
        _ if let Some(folder) = folder.filter(|folder| !Path::new(folder).is_dir()) => {
            ("bad_working_dir", format!("command `{command}` cannot start: there is no folder `{folder}`"))
        }
        io::ErrorKind::NotFound => ("not_found", format!("command `{command}` was not found{place}")),
        io::ErrorKind::PermissionDenied => {
            ("not_executable", format!("command `{command}` is not executable{place}"))
        }
        _ => ("cannot_start", format!("command `{command}` cannot start{place}: {error}")),
    };
    Failure::new(Class::Fatal, what).reason(reason)
}
