//! Attempts as jobs of this process. They outlive the stream of the call that began them: a restart of a server, or another leader
//! of its partition, ends streams and no attempt.
//!
//! Kept true: an attempt begins here at most once. Jobs are remembered after their end, so that a job that has ended is not taken for one
//! that never began.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The jobs of a process.
pub struct Jobs {
    /// Where other processes ask for them: host and port.
    pub address: String,
    state: Mutex<State>,
    /// How many go on.
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    jobs: HashMap<String, CancellationToken>,
    ever: HashSet<String>,
}

impl Jobs {
    pub fn new(address: String) -> Jobs {
        Jobs { address, state: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// The right to begin a job, given once for each name: the token that tells it to stop.
    pub fn claim(&self, name: &str) -> Option<CancellationToken> {
        let mut state = self.state();
        if !state.ever.insert(name.to_owned()) {
            return None;
        }
        let cancel = CancellationToken::new();
        state.jobs.insert(name.to_owned(), cancel.clone());
        self.count.send_replace(state.jobs.len());
        Some(cancel)
    }

    /// A job has ended, and its run knows.
    pub fn end(&self, name: &str) {
        let mut state = self.state();
        state.jobs.remove(name);
        self.count.send_replace(state.jobs.len());
    }

    /// Whether a job goes on.
    pub fn goes_on(&self, name: &str) -> bool {
        self.state().jobs.contains_key(name)
    }

    /// Tells a job to stop.
    pub fn stop(&self, name: &str) {
        if let Some(cancel) = self.state().jobs.get(name) {
            cancel.cancel();
        }
    }

    /// Tells every job to stop.
    pub fn stop_all(&self) {
        self.state().jobs.values().for_each(CancellationToken::cancel);
    }

    /// How many go on.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until none goes on.
    pub async fn all_ended(&self) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| *count == 0).await.ok();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("a panic poisoned this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_begun_once_also_after_its_end() {
        let jobs = Jobs::new("a".into());
        let cancel = jobs.claim("j").unwrap();
        assert!(jobs.claim("j").is_none() && jobs.goes_on("j"));
        jobs.stop("j");
        assert!(cancel.is_cancelled());
        jobs.end("j");
        assert!(jobs.claim("j").is_none() && !jobs.goes_on("j"));
        assert_eq!(jobs.count(), 0);
    }
}
