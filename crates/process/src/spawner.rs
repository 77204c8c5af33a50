//! Starts processes, always from the same thread.
//!
//! The kernel sends the parent-death signal when the *thread* that started a child ends, not when the process does, so
//! a runtime's worker must not be that thread. Starting also copies the page tables, which may take a millisecond.
//! The child is the supervisor of the command that was asked for (`supervisor`), which gets no descriptor but its three,
//! leads a group of its own, and dies with the engine.

use crate::exec::Exec;
use crate::room::{Shortage, is_shortage, require_room, restore_descriptor_limit};
use crate::supervisor;
use rustix::process::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// A process, or why there is none and the command, which may be started later.
type Outcome = Result<Fresh, (io::Error, Box<Command>)>;
type Started = oneshot::Sender<Outcome>;

/// The thread that starts processes. It lives until this is dropped.
pub struct Spawner {
    orders: Mutex<Sender<(Command, Started)>>,
}

impl Spawner {
    /// Starts the thread, with a name of its own.
    pub fn new(name: &str) -> Spawner {
        let (orders, received) = channel();
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || start_all(&received))
            .expect("a machine that has no thread left cannot run processes either");
        Spawner { orders: Mutex::new(orders) }
    }

    /// Starts a command; what is given back is its supervisor, which ends when everything has and as the command did. Where
    /// the machine has no room for it, waits until something has ended.
    pub async fn start(&self, mut command: Command) -> io::Result<Child> {
        let engine = rustix::process::getpid().as_raw_nonzero().get();
        command.process_group(0);
        let exec = Exec::of(&command)?;
        // SAFETY: between fork and exec only system calls are made; nothing is allocated or locked.
        unsafe { command.pre_exec(move || supervised(engine, &exec)) };
        let (mut command, mut shortage) = (command, Shortage::default());
        loop {
            match self.order(command).await? {
                Ok(fresh) => return Ok(fresh.take()),
                Err((error, again)) if is_shortage(&error) && shortage.wait().await => command = *again,
                Err((error, _)) => return Err(error),
            }
        }
    }

    async fn order(&self, command: Command) -> io::Result<Outcome> {
        let (started, child) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts processes has ended");
        self.orders
            .lock()
            .expect("nobody panics while holding it")
            .send((command, started))
            .map_err(|_| gone())?;
        child.await.map_err(|_| gone())
    }
}

fn start_all(orders: &Receiver<(Command, Started)>) {
    while let Ok((mut command, started)) = orders.recv() {
        // Whoever wanted it may have been cancelled meanwhile; what is not taken ends.
        let spawned = require_room().and_then(|()| command.spawn());
        drop(started.send(match spawned {
            Ok(child) => Ok(Fresh(Some(child))),
            Err(error) => Err((error, Box::new(command))),
        }));
    }
}

/// A process on its way to whoever wanted it. It may never arrive: nobody takes it, and then it ends with its group.
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
        // Dying may take the kernel a moment, and nobody may wait for it here.
        let waiting = std::thread::Builder::new().spawn(move || child.wait());
        // A machine without another thread leaves it to the end of the engine.
        drop(waiting);
    }
}

/// Runs in the child: the limit of descriptors that the engine was started with, then the supervisor, which comes back only
/// when it could not start the command.
fn supervised(engine: i32, exec: &Exec) -> io::Result<()> {
    restore_descriptor_limit()?;
    Err(supervisor::supervise(engine, exec))
}

#[cfg(test)]
mod tests;
