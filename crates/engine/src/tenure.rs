//! Whether this process still drives its run.
//!
//! Another process may take a run over whose owner was silent for longer than its lease: stopped, or stuck. The journal
//! refuses what a stale owner appends. So that nothing is *done* in its name either, ownership is confirmed by a sign of life after
//! each commit that something follows from, before each attempt and before each call to a model, unless that was done a moment
//! ago. A command of a step is not started once the lease that the last sign of life began is over, by a look at the clock between
//! fork and exec (`convoke_process`). So is a coding agent, and a request
//! is not handed to its connection then. A process that is stopped behind that, while it connects or calls a tool of a server, sends that one
//! call when it goes on, as it would have if it had been stopped right after it.
//!
//! Kept true: times are those from before the sign of life was given. A stop between it and its note makes the process less sure,
//! never more.

use convoke_journal::{Error, Writer};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a confirmation is good for: less than the shortest lease, and long enough for many calls.
const GOOD_FOR: Duration = Duration::from_millis(500);

pub(crate) struct Tenure {
    writer: Arc<Writer>,
    /// When the last sign of life was asked for that was given; `None` if there must be another one.
    confirmed: Mutex<Option<Instant>>,
    /// For how long a sign of life keeps other processes from taking over, where that is known.
    lease: Option<Duration>,
}

impl Tenure {
    /// The run is ours as soon as that is confirmed.
    pub fn new(writer: Arc<Writer>, lease: Option<Duration>) -> Tenure {
        Tenure { writer, confirmed: Mutex::default(), lease }
    }

    /// A sign of life that was asked for at this time was given.
    pub fn note(&self, asked: Instant) {
        *self.confirmed.lock().expect("a panic poisoned this lock") = Some(asked);
    }

    /// Until when no other process can have taken the run over.
    pub fn sure_until(&self) -> Option<Instant> {
        let confirmed = *self.confirmed.lock().expect("a panic poisoned this lock");
        Some(confirmed? + self.lease?)
    }

    /// The machine was suspended: whatever was known is asked for again before anything is sent.
    pub fn doubt(&self) {
        *self.confirmed.lock().expect("a panic poisoned this lock") = None;
    }

    /// Fails if another process drives the run.
    pub async fn confirm(&self) -> Result<(), Error> {
        let confirmed = *self.confirmed.lock().expect("a panic poisoned this lock");
        if confirmed.is_some_and(|confirmed| confirmed.elapsed() < GOOD_FOR) {
            return Ok(());
        }
        let (asked, (reply, answer)) = (Instant::now(), tokio::sync::oneshot::channel());
        self.writer.ask(move |journal| {
            let _ = reply.send(journal.and_then(|journal| journal.beat()));
        });
        answer.await.map_err(|_| Error::Closed)??;
        self.note(asked);
        Ok(())
    }
}
