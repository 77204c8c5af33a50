//! Where the streams of a command lead: to the result, to a file, to the next command, or nowhere.

use crate::capture::Capture;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};

/// What is shown of everything that a command line writes, in the order in which it came.
pub(super) type Shown = Arc<Mutex<Capture>>;

/// Where one stream leads.
#[derive(Clone)]
pub(super) enum Sink {
    /// To the result.
    Shown(Shown),
    /// To a file, which was opened beneath the root.
    File(Arc<Mutex<File>>),
    /// To the next command, as long as it reads.
    Next(Arc<tokio::sync::Mutex<Option<Sender>>>),
    /// Nowhere.
    Nowhere,
}

impl Sink {
    /// Moves everything until the stream ends, or the sink takes no more.
    pub async fn fill(self, mut stream: Receiver) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            if !self.take(&buffer[..length]).await {
                // The writer is told by its next write, as by a pipe that nobody reads.
                return;
            }
        }
    }

    async fn take(&self, bytes: &[u8]) -> bool {
        match self {
            Sink::Shown(shown) => {
                shown.lock().expect("a panic poisoned this lock").take(bytes);
                true
            }
            Sink::File(file) => file.lock().expect("a panic poisoned this lock").write_all(bytes).is_ok(),
            Sink::Next(next) => {
                let mut next = next.lock().await;
                let taken = match next.as_mut() {
                    Some(sender) => sender.write_all(bytes).await.is_ok(),
                    None => false,
                };
                if !taken {
                    *next = None;
                }
                taken
            }
            Sink::Nowhere => true,
        }
    }
}

/// Where a command reads from.
pub(super) enum Source {
    /// What the command before it writes comes by itself.
    Previous,
    /// A file, which was opened beneath the root.
    File(File),
    /// A text.
    Text(String),
    /// Nothing.
    Nothing,
}

impl Source {
    /// Gives the command what it reads, until it has had enough.
    pub async fn feed(self, sender: Option<Sender>) {
        let Some(mut sender) = sender else { return };
        match self {
            Source::Text(text) => drop(sender.write_all(text.as_bytes()).await),
            Source::File(mut file) => {
                let mut buffer = vec![0; 64 << 10];
                while let Ok(length @ 1..) = file.read(&mut buffer) {
                    if sender.write_all(&buffer[..length]).await.is_err() {
                        return;
                    }
                }
            }
            Source::Previous | Source::Nothing => {}
        }
    }
}
