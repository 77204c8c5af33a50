//! Starts processes, always from the same thread.
//!
//! The kernel sends the parent-death signal when the *thread* that started a child ends, not when the process does, so
//! a runtime's worker must not be that thread. Starting also copies the page tables, which may take a millisecond.
//! The child is the supervisor of the command that was asked for (`supervisor`), which gets no descriptor but its three,
//! leads a group of its own, and dies with the engine.

use crate::exec::Exec;
use crate::supervisor;
use rustix::process::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

type Started = oneshot::Sender<io::Result<Fresh>>;

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

    /// Starts a command; what is given back is its supervisor, which ends when everything has and as the command did.
    pub async fn start(&self, mut command: Command) -> io::Result<Child> {
        let engine = rustix::process::getpid().as_raw_nonzero().get();
        command.process_group(0);
        let exec = Exec::of(&command)?;
        // SAFETY: between fork and exec only system calls are made; nothing is allocated or locked.
        unsafe { command.pre_exec(move || Err(supervisor::supervise(engine, &exec))) };
        let (started, child) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts processes has ended");
        self.orders
            .lock()
            .expect("nobody panics while holding it")
            .send((command, started))
            .map_err(|_| gone())?;
        child.await.map_err(|_| gone())?.map(Fresh::take)
    }
}

fn start_all(orders: &Receiver<(Command, Started)>) {
    while let Ok((mut command, started)) = orders.recv() {
        // Whoever wanted it may have been cancelled meanwhile; what is not taken ends.
        drop(started.send(command.spawn().map(|child| Fresh(Some(child)))));
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
        std::thread::spawn(move || child.wait());
    }
}

#[cfg(test)]
mod tests;
