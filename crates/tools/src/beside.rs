//! Programs that a run starts beside itself: nobody waits for them, and their output is nobody's.
//!
//! They carry the mark and stand under a supervisor as every command of a run does, so that none of them decides for the person whom
//! the run asks. Unlike the others they are not ended with the engine: what is told at a run's end is told after it.

use convoke_process::{Launcher, OnDrop};
use std::io;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// How long room for another process is waited for. Nothing depends on the program.
const ROOM: Duration = Duration::from_secs(1);

/// Starts a program. It has the variables that were set on the command and no others.
pub fn start_beside(command: Command) -> io::Result<()> {
    let (started, answer) = channel();
    thread::Builder::new().name("beside".to_owned()).spawn(move || stand_by(command, &started))?;
    answer.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it has ended")))
}

/// On a thread of its own: the program's end is waited for, so that it leaves no zombie.
fn stand_by(command: Command, started: &Sender<io::Result<()>>) {
    let begun = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let launcher = Launcher::new("beside", OnDrop::Leave);
        runtime.block_on(async { launcher.start_beside(command, tokio::time::sleep(ROOM)).await })
    });
    match begun {
        Ok(Some(mut child)) => {
            let _ = started.send(Ok(()));
            let _ = child.wait();
        }
        Ok(None) => drop(started.send(Err(io::Error::other("no room for another process")))),
        Err(error) => drop(started.send(Err(error))),
    }
}
