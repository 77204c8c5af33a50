//! Signals that ask the process to let go of its run.

use crate::exit::Exit;
use std::io;
use tokio::signal::unix::{self, SignalKind};

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM: a shutdown.
    Terminate,
    /// SIGHUP: the terminal is gone. It means what SIGTERM means.
    Hangup,
}

impl Signal {
    /// Its name, for the record.
    pub fn words(self) -> &'static str {
        match self {
            Signal::Interrupt => "Ctrl-C",
            Signal::Terminate => "SIGTERM",
            Signal::Hangup => "SIGHUP",
        }
    }

    /// What happens now, in words for people.
    pub fn advice(self) -> &'static str {
        match self {
            Signal::Interrupt => "stopping: what runs may end first; Ctrl-C again stops at once",
            Signal::Terminate | Signal::Hangup => {
                "stopping: what runs may end first; a second signal stops at once"
            }
        }
    }

    /// The exit code of a process that it ended.
    pub fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate | Signal::Hangup => Exit::Terminated,
        }
    }
}

/// Waits for signals.
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// `None` where the caller has the process ignore it (`nohup`).
    hangup: Option<unix::Signal>,
}

impl Signals {
    /// From here on, signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Signals> {
        let interrupt = unix::signal(SignalKind::interrupt())?;
        let terminate = unix::signal(SignalKind::terminate())?;
        let hangup = (!ignores_hangup()).then(|| unix::signal(SignalKind::hangup())).transpose()?;
        Ok(Signals { interrupt, terminate, hangup })
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = hung_up(self.hangup.as_mut()) => Signal::Hangup,
        }
    }
}

async fn hung_up(hangup: Option<&mut unix::Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether the process was started to outlive its terminal.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Signal n is bit n - 1, and SIGHUP is the first.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
