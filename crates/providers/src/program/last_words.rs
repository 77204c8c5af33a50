//! Reads what a program writes to standard error, so that it never waits for a reader, and keeps the end of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// Bytes that are kept.
const MOST: usize = 8 << 10;

/// Lines that a message shows.
const SHOWN: usize = 6;

/// How long what is still on its way is waited for once the program has ended.
const PATIENCE: Duration = Duration::from_millis(100);

/// The end of a stream.
pub struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl LastWords {
    /// Begins to read.
    pub fn listen(stream: impl AsyncRead + Unpin + Send + 'static) -> LastWords {
        let kept = Arc::default();
        let reading = tokio::spawn(read(stream, Arc::clone(&kept)));
        LastWords { kept, reading }
    }

    /// The last lines, once the program has ended.
    pub async fn heard(&mut self) -> String {
        let _ = tokio::time::timeout(PATIENCE, &mut self.reading).await;
        let kept = self.kept.lock().expect("a panic poisoned this lock");
        last_lines(&String::from_utf8_lossy(&kept))
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let mut kept = kept.lock().expect("a panic poisoned this lock");
        kept.extend_from_slice(&buffer[..length]);
        let excess = kept.len().saturating_sub(MOST);
        kept.drain(..excess);
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}
