//! Ends the process when it was told to stop and the engine does not hear it.
//!
//! The engine decides on the thread that also listens to signals, so a decision that takes long (a thousand texts to
//! render, a disk that does not answer) would make the process deaf. A thread of its own waits for the same signals. If
//! the engine has not taken one within [`PATIENCE`], the process ends at once with the signal's code: the journal is as it
//! was after the last commit, and `resume` decides again.

use super::signals::{Signal, Signals};
use crate::exit::Exit;
use convoke_model::RunId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the engine may take to hear of a signal. One rendering ends well before.
const PATIENCE: Duration = Duration::from_secs(5);

/// Counts the signals that were heard.
#[derive(Debug, Clone, Default)]
pub struct Watchdog {
    heard: Arc<AtomicU64>,
}

impl Watchdog {
    /// Starts to watch. Without a thread the process is as deaf as the engine, which is no reason not to run.
    pub fn start(run: &RunId) -> Watchdog {
        let watchdog = Watchdog::default();
        let (watching, run) = (watchdog.clone(), run.clone());
        let started =
            std::thread::Builder::new().name("signals".to_owned()).spawn(move || watching.watch(&run));
        drop(started);
        watchdog
    }

    /// The engine has heard of a signal.
    pub fn heard(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    fn watch(&self, run: &RunId) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::listen() else { return };
            loop {
                let before = self.heard.load(Ordering::Relaxed);
                let signal = signals.next().await;
                if !self.is_heard(before).await {
                    end(signal, run);
                }
            }
        });
    }

    async fn is_heard(&self, before: u64) -> bool {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.heard.load(Ordering::Relaxed) == before {
            if tokio::time::Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        true
    }
}

fn end(signal: Signal, run: &RunId) -> ! {
    let words = signal.words();
    crate::stdio::err(&format!(
        "error: stopped at once by {words}, in the middle of a decision\nhint: convoke resume {run}"
    ));
    let exit = if signal == Signal::Interrupt { Exit::Interrupted } else { Exit::Terminated };
    std::process::exit(exit as i32)
}
