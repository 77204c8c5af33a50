//! A relay between claimants and an owner: forwards messages, loses some of them, and cuts connections.
//!
//! After the hand-over a lost message is always followed by a cut: a socket loses messages only with its end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The name of an owner's socket in its folder.
const SOCKET: &str = "share.sock";

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Claimant,
    Owner,
}

/// What goes wrong on one connection.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    None,
    /// The connection is cut in place of this message of one side.
    Cut {
        from: Side,
        at: usize,
    },
    /// This message of one side is lost: `Hello` or `Ready`, `Task` or `Go`.
    Lose {
        from: Side,
        at: usize,
    },
    /// The message with the end of the attempt is lost.
    LoseEnd,
    /// The acknowledgement of the end is lost.
    LoseDone,
}

/// Relays from a socket in this folder to the owner's, with a fault for each connection.
pub fn start(folder: &Path, owner: PathBuf, faults: Vec<Fault>) -> AbortOnDropHandle<()> {
    let listener = UnixListener::bind(folder.join(SOCKET)).expect("a socket");
    AbortOnDropHandle::new(tokio::spawn(accept(listener, owner.join(SOCKET), faults.into())))
}

async fn accept(listener: UnixListener, owner: PathBuf, mut faults: VecDeque<Fault>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((claimant, _)) = listener.accept().await else { return };
        let fault = faults.pop_front().unwrap_or(Fault::None);
        // An owner that is gone has no socket: the claimant sees its connection closed.
        if let Ok(owner) = UnixStream::connect(&owner).await {
            connections.spawn(connect(claimant, owner, fault));
        }
    }
}

async fn connect(claimant: UnixStream, owner: UnixStream, fault: Fault) {
    let ((from_claimant, to_claimant), (from_owner, to_owner)) = (claimant.into_split(), owner.into_split());
    tokio::select! {
        () = forward(Side::Claimant, from_claimant, to_owner, fault) => {}
        () = forward(Side::Owner, from_owner, to_claimant, fault) => {}
    }
}

async fn forward(side: Side, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fault: Fault) {
    for number in 0.. {
        let Ok(length) = from.read_u32().await else { return };
        let mut message = vec![0; length as usize];
        if from.read_exact(&mut message).await.is_err() {
            return;
        }
        match fault {
            Fault::Cut { from, at } if from == side && at == number => return,
            Fault::Lose { from, at } if from == side && at == number => continue,
            Fault::LoseEnd if message.starts_with(b"{\"end\"") => continue,
            Fault::LoseDone if message.starts_with(b"\"done\"") => continue,
            _ => {}
        }
        if to.write_u32(length).await.is_err() || to.write_all(&message).await.is_err() {
            return;
        }
    }
}
