//! Whether this process ends at once, and nothing that it started is given time to tidy up any more.
//!
//! It is one fact of the whole process, because so is what it follows from: a second signal. Told once, it stays.

use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::watch;

static HURRY: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// From here on no process that is to end is asked first, and none is waited for before it is killed.
pub fn end_at_once() {
    HURRY.send_replace(true);
}

/// Whether that was told.
pub(crate) fn is_told() -> bool {
    *HURRY.borrow()
}

/// Waits for this, but no longer than the grace, and not at all once all is to end at once.
pub async fn within(grace: Duration, wanted: impl Future<Output = ()>) {
    let mut told = HURRY.subscribe();
    tokio::select! {
        biased;
        () = wanted => {}
        _ = told.wait_for(|told| *told) => {}
        () = tokio::time::sleep(grace) => {}
    }
}
