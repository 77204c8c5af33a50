//! The last lines that a server wrote to its standard error, for when it has to be said why it died.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Bytes that are kept.
const KEPT: usize = 4096;
/// Lines that are told.
const LINES: usize = 10;

/// What has been read so far; copies see the same.
#[derive(Clone, Default)]
pub struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: CancellationToken,
}

impl Tail {
    /// Reads until the stream ends, so that the server never waits for a reader.
    pub async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.take(&buffer[..length]);
        }
        self.ended.cancel();
    }

    fn take(&self, read: &[u8]) {
        let mut bytes = self.bytes.lock().expect("a panic poisoned this lock");
        bytes.extend_from_slice(read);
        let excess = bytes.len().saturating_sub(KEPT);
        bytes.drain(..excess);
    }

    /// Ready once the stream has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// The last lines; none if nothing was written.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.bytes.lock().expect("a panic poisoned this lock");
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_lines_are_kept() {
        let text: String = (0..5000).map(|n| format!("line {n}\n\n")).collect();
        let tail = Tail::default();
        tail.clone().drain(text.as_bytes()).await;
        tail.ended().await;
        let expected: Vec<String> = (4990..5000).map(|n| format!("line {n}")).collect();
        assert_eq!(tail.lines(), expected);
        assert!(tail.bytes.lock().unwrap().len() <= KEPT);
    }
}
