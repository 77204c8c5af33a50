//! Listening: wishes that were granted, and heartbeats.

use super::Office;
use crate::fact::Capacity as News;
use convoke_capacity::Waited;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the end of a run may have to wait for this thread.
const LONGEST_NAP: Duration = Duration::from_millis(100);

impl Office {
    pub(super) fn watch(&self) {
        let (mut heard, mut beaten) = (0, Instant::now());
        while !self.closed.load(Ordering::Relaxed) {
            match self.table.listen(heard, LONGEST_NAP.min(self.ttl / 4)) {
                Ok(rung) if rung != heard => {
                    heard = rung;
                    self.fetch();
                }
                _ => {}
            }
            self.catch_up();
            if beaten.elapsed() >= self.ttl / 4 {
                beaten = Instant::now();
                self.heartbeat();
            }
        }
    }

    /// Looks at everything that waits.
    fn fetch(&self) {
        let tickets = self.books().tickets();
        for (ticket, ask) in tickets {
            match self.insist(|table| table.fetch(ticket)) {
                Some(Ok(Waited::NotYet)) | None => {}
                Some(Ok(Waited::Granted(lease))) => {
                    self.books().waiting.remove(&ticket);
                    self.granted(ask, lease);
                }
                Some(Ok(Waited::Lapsed)) => {
                    self.books().waiting.remove(&ticket);
                    self.tell(News::Lapsed { ask });
                }
                Some(Err(error)) => {
                    // Taken back meanwhile, or never to be met any more.
                    if self.books().waiting.remove(&ticket).is_some() {
                        self.tell(News::Refused { ask, why: error.to_string() });
                    }
                }
            }
        }
    }

    fn heartbeat(&self) {
        if let Some(Ok(renewal)) = self.insist(|table| table.heartbeat())
            && !renewal.lost.is_empty()
        {
            self.tell(News::Lost { fences: renewal.lost });
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        false
    }
}
