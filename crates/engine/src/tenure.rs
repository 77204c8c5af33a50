//! Whether this process still drives its run.
//!
//! Another process may take a run over whose owner was silent for longer than its lease: stopped, or stuck. The journal
//! refuses what a stale owner appends. So that nothing is *sent* in its name either, ownership is confirmed before what
//! needs no commit and before each call to a model, unless that was done a moment ago. A process that is stopped between
//! this and the call itself sends that one call when it goes on, as it would have if it had been stopped right after it.

use convoke_journal::{Error, Writer};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a confirmation is good for: less than the shortest lease, and long enough for many calls.
const GOOD_FOR: Duration = Duration::from_millis(500);

pub(crate) struct Tenure {
    writer: Arc<Writer>,
    /// When; `None` if it must be asked for again.
    confirmed: Mutex<Option<Instant>>,
}

impl Tenure {
    /// The journal was opened, so the run is ours.
    pub fn new(writer: Arc<Writer>) -> Tenure {
        Tenure { writer, confirmed: Mutex::new(Some(Instant::now())) }
    }

    /// A commit went through, so it still is.
    pub fn note(&self) {
        *self.confirmed.lock().expect("nobody panics while holding it") = Some(Instant::now());
    }

    /// The machine was suspended: whatever was known is asked for again before anything is sent.
    pub fn doubt(&self) {
        *self.confirmed.lock().expect("nobody panics while holding it") = None;
    }

    /// Fails if another process drives the run.
    pub async fn confirm(&self) -> Result<(), Error> {
        let confirmed = *self.confirmed.lock().expect("nobody panics while holding it");
        if confirmed.is_some_and(|confirmed| confirmed.elapsed() < GOOD_FOR) {
            return Ok(());
        }
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.ask(move |journal| {
            let _ = reply.send(journal.and_then(|journal| journal.beat()));
        });
        answer.await.map_err(|_| Error::Closed)??;
        self.note();
        Ok(())
    }
}
