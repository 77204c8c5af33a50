//! Starts processes, always from the same thread.
//!
//! The kernel sends the parent-death signal when the *thread* that started a child ends, not when the process does, so
//! a runtime's worker must not be that thread. Starting also copies the page tables, which may take a millisecond.
//! The child is the supervisor of the command that was asked for (`supervisor`), which gets no descriptor but its three,
//! leads a group of its own, and dies with the engine.

use crate::exec::Exec;
use crate::room::{Shortage, is_shortage, require_room, restore_descriptor_limit};
use crate::supervisor;
use crate::survivor::Recording;
use convoke_failpoint::failpoint;
use convoke_sandbox::Prepared;
use rustix::process::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::oneshot;

/// A process, or why there is none and the command, which may be started later.
type Outcome = Result<Fresh, (io::Error, Box<Command>)>;
type Started = oneshot::Sender<Outcome>;
type Request = (Command, Started, Ticket);

/// Starts a process.
pub struct Order {
    /// The command.
    pub command: Command,
    /// What it is confined to.
    pub sandbox: Option<Prepared>,
    /// Where it is recorded, if it outlives the engine.
    pub recording: Option<Recording>,
    /// Whether it goes on when the engine ends, though nothing is recorded of it.
    pub outlives: bool,
    /// It is not started later than this: the error is [`io::ErrorKind::TimedOut`].
    pub until: Option<Instant>,
}

/// A command that waits to be started: the thread takes it, or the caller takes it back, and never both.
#[derive(Clone, Default)]
struct Ticket(Arc<AtomicBool>);

impl Ticket {
    /// Whether it was not taken before.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// The thread that starts processes: begun with the first of them, because most runs have none. It lives until this is dropped.
pub struct Spawner {
    name: String,
    requests: Mutex<Option<Sender<Request>>>,
}

impl Spawner {
    /// A spawner whose thread has this name.
    pub fn new(name: &str) -> Spawner {
        Spawner { name: name.to_owned(), requests: Mutex::default() }
    }

    /// Starts a command; what is given back is its supervisor, which ends when everything has and as the command did. Where
    /// the machine has no room for it, says so once and waits until something has ended. `None` if the command was taken back before it was
    /// started; then it never will be.
    pub async fn start_unless(
        &self,
        order: Order,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<Child>> {
        let Order { mut command, sandbox, recording, outlives, until } = order;
        let engine = rustix::process::getpid().as_raw_nonzero().get();
        command.process_group(0);
        let exec = Exec::of(&command)?;
        // SAFETY: between fork and exec only system calls are made; nothing is allocated or locked.
        unsafe {
            command.pre_exec(move || {
                supervised(engine, &exec, sandbox.as_ref(), recording.as_ref(), outlives, until)
            })
        };
        let (mut taken_back, mut shortage) = (pin!(taken_back), Shortage::default());
        let mut waits = Some(waits);
        loop {
            let ticket = Ticket::default();
            let mut request = pin!(self.request(command, ticket.clone()));
            let outcome = tokio::select! {
                biased;
                outcome = &mut request => outcome?,
                () = &mut taken_back => {
                    // A command that is being started already is ended by its caller.
                    return Ok(if ticket.take() { None } else { request.await?.ok().map(Fresh::take) });
                }
            };
            let (error, again) = match outcome {
                Ok(fresh) => return Ok(Some(fresh.take())),
                Err(refused) => refused,
            };
            if !is_shortage(&error) {
                return Err(error);
            }
            if let Some(waits) = waits.take() {
                waits(&error);
            }
            let goes_on = tokio::select! {
                biased;
                () = &mut taken_back => return Ok(None),
                goes_on = shortage.wait() => goes_on,
            };
            if !goes_on {
                return Err(error);
            }
            command = *again;
        }
    }

    async fn request(&self, command: Command, ticket: Ticket) -> io::Result<Outcome> {
        let (started, child) = oneshot::channel();
        self.requests()?.send((command, started, ticket)).map_err(|_| gone())?;
        child.await.map_err(|_| gone())
    }

    /// The way to the thread, which is started if it is not there yet.
    fn requests(&self) -> io::Result<Sender<Request>> {
        let mut known = self.requests.lock().expect("a panic poisoned this lock");
        if let Some(requests) = &*known {
            return Ok(requests.clone());
        }
        // Unbounded, because its senders bound it: a caller of `start_unless` has one request here at a time and waits for the
        // outcome. Callers are attempts that run and the tool servers that they share. The request of a caller that is gone
        // stays until the thread comes to it. A bounded `send` would block a worker of the runtime.
        let (requests, received) = channel();
        std::thread::Builder::new().name(self.name.clone()).spawn(move || start_all(&received))?;
        Ok(known.insert(requests).clone())
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts processes has ended")
}

fn start_all(requests: &Receiver<Request>) {
    while let Ok((mut command, started, ticket)) = requests.recv() {
        if !ticket.take() {
            continue;
        }
        // The caller may have been cancelled meanwhile; a process that is not taken ends.
        failpoint!("process.spawn.before");
        let spawned = require_room().and_then(|()| command.spawn());
        failpoint!("process.spawn.done");
        drop(started.send(match spawned {
            Ok(child) => Ok(Fresh(Some(child))),
            Err(error) => Err((error, Box::new(command))),
        }));
    }
}

/// A process on its way to its caller. If the caller is gone, the process ends with its group.
struct Fresh(Option<Child>);

impl Fresh {
    fn take(mut self) -> Child {
        self.0.take().expect("it is taken once")
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        supervisor::end(Pid::from_child(&child));
        // Dying may take the kernel a moment, and this code may not wait.
        let waiting = std::thread::Builder::new().spawn(move || child.wait());
        // A machine without another thread leaves it to the end of the engine.
        drop(waiting);
    }
}

/// Runs in the child: the limit of descriptors that the engine was started with, then the supervisor, which comes back only
/// when it could not start the command.
///
/// The time is looked at here and not before the fork: an engine that is stopped and goes on starts nothing any more, and one that
/// is stopped from here on has started it in time.
fn supervised(
    engine: i32,
    exec: &Exec,
    sandbox: Option<&Prepared>,
    recording: Option<&Recording>,
    outlives: bool,
    until: Option<Instant>,
) -> io::Result<()> {
    if until.is_some_and(|until| until < Instant::now()) {
        return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
    }
    restore_descriptor_limit()?;
    Err(supervisor::supervise(engine, exec, sandbox, recording, outlives))
}

#[cfg(test)]
mod tests;
