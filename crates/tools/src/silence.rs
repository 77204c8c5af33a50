//! Notices when a command has written nothing for too long.
//!
//! The reader of its streams notes each output; what silence means is left to the code that waits for it. A
//! command without a limit may be silent forever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// When a command was heard last.
#[derive(Debug)]
pub struct Silence {
    limit: Option<Duration>,
    began: Instant,
    /// Nanoseconds from the beginning to the last byte.
    heard: AtomicU64,
}

impl Silence {
    /// The command has just begun, which counts as a sign of life.
    pub fn new(limit: Option<Duration>) -> Silence {
        Silence { limit, began: Instant::now(), heard: AtomicU64::new(0) }
    }

    /// It has written something.
    pub fn is_broken(&self) {
        self.heard.store(self.began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Returns the limit when it has been silent for that long, and never where there is none.
    pub async fn lasts(&self) -> Duration {
        let Some(limit) = self.limit else { return std::future::pending().await };
        loop {
            let due = self.began + Duration::from_nanos(self.heard.load(Ordering::Relaxed)) + limit;
            if due <= Instant::now() {
                return limit;
            }
            sleep_until(due).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use tokio::io::AsyncWriteExt;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn every_byte_begins_the_time_anew() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let (silence, mut capture) = (Silence::new(Some(LIMIT)), Capture::new(64));
        let talks = async {
            for _ in 0..4 {
                tokio::time::sleep(LIMIT - Duration::from_secs(1)).await;
                writer.write_all(b".").await.unwrap();
            }
            std::future::pending::<()>().await
        };
        let began = Instant::now();
        tokio::select! {
            limit = silence.lasts() => assert_eq!(limit, LIMIT),
            () = capture.drain(reader, &silence) => panic!("nobody closes the stream"),
            () = talks => unreachable!("it waits forever"),
        }
        assert_eq!(began.elapsed(), 4 * (LIMIT - Duration::from_secs(1)) + LIMIT);
        assert_eq!(capture.into_text(), "....");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_silence_is_no_fault() {
        let silence = Silence::new(None);
        assert!(tokio::time::timeout(Duration::from_secs(86_400), silence.lasts()).await.is_err());
    }
}
