//! Signals that ask the process to let go of its run.

use std::io;
use tokio::signal::unix::{self, SignalKind};

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM: somebody shuts down, and will not wait long.
    Terminate,
}

impl Signal {
    /// Who asked, for the record.
    pub fn words(self) -> &'static str {
        match self {
            Signal::Interrupt => "Ctrl-C",
            Signal::Terminate => "SIGTERM",
        }
    }

    /// What happens now, for the person who waits.
    pub fn advice(self) -> &'static str {
        match self {
            Signal::Interrupt => "stopping: what runs may end first; Ctrl-C again stops at once",
            Signal::Terminate => "stopping at once",
        }
    }
}

/// Waits for signals.
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    /// From here on, signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Signals> {
        let interrupt = unix::signal(SignalKind::interrupt())?;
        Ok(Signals { interrupt, terminate: unix::signal(SignalKind::terminate())? })
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
