//! Sees to it that a process which was told to stop does, whatever the engine is at.
//!
//! The engine decides on the thread that also listens to signals, so a decision that takes long (a thousand texts to
//! render, a disk that does not answer) would make the process deaf. A thread of its own waits for the same signals. From
//! then on the thread of the engine has to show every now and then that it still turns. If it does not for
//! [`RENDERING`], rendering is cancelled: the decision is forgotten, what had happened is recorded, and the run is
//! interrupted in the ordinary way. If it does not for [`PATIENCE`] after that, the process ends at once with the
//! signal's code: the journal is as it was after the last commit, and `resume` decides again.

use super::signals::{Signal, Signals};
use crate::exit::Exit;
use convoke_engine::Handle;
use convoke_model::RunId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long the engine may decide after a signal before its rendering is cancelled. A decision ends well before, as a rule.
const RENDERING: Duration = Duration::from_secs(1);

/// How long the engine may be at one thing once nothing is rendered any more.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often the thread of the engine shows that it turns, once a signal has come.
pub const PULSE: Duration = Duration::from_millis(200);

/// What the thread of the engine shows to the one that watches it.
#[derive(Clone, Default)]
pub struct Watchdog {
    turns: Arc<AtomicU64>,
    at_rest: Arc<AtomicBool>,
    run: Arc<OnceLock<Handle>>,
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

    /// From here on this run's rendering can be cancelled.
    pub fn may_cancel(&self, run: Handle) {
        // A process drives one run; a second one would not be watched.
        let _ = self.run.set(run);
    }

    /// The thread of the engine turns: it has heard of a signal, or still does after one.
    pub fn turns(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// The engine has stopped; what is left is bounded by other means.
    pub fn rests(&self) {
        self.at_rest.store(true, Ordering::Relaxed);
    }

    fn watch(&self, run: &RunId) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::listen() else { return };
            let signal = signals.next().await;
            loop {
                if self.turned(RENDERING).await {
                    continue;
                }
                self.run.get().iter().for_each(|run| run.cancel_rendering());
                if !self.turned(PATIENCE).await {
                    break;
                }
            }
            if !self.at_rest.load(Ordering::Relaxed) {
                end(signal, run);
            }
        });
    }

    /// Waits for the next sign of the engine's thread; `false` if there is none any more.
    async fn turned(&self, patience: Duration) -> bool {
        let before = self.turns.load(Ordering::Relaxed);
        let deadline = tokio::time::Instant::now() + patience;
        while self.turns.load(Ordering::Relaxed) == before {
            if self.at_rest.load(Ordering::Relaxed) || tokio::time::Instant::now() >= deadline {
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
