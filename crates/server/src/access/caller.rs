//! The process at the other end of a connection, as far as it matters: whether a run has started it.
//!
//! An agent must not answer for the person that it asks. The command line refuses its own commands where an ancestor carries the mark of a
//! run; over loopback the process that made the connection is looked up and judged in the same way. Asked once per connection, and only
//! where something would be changed.

use crate::error::ApiError;
use axum::http::StatusCode;
use convoke_process::{Peer, peer};
use std::net::SocketAddr;
use tokio::sync::OnceCell;

/// One accepted connection.
pub(crate) struct Connection {
    /// The address of the other end.
    pub peer: SocketAddr,
    /// The address at this end.
    pub local: SocketAddr,
    judged: OnceCell<Peer>,
}

impl Connection {
    pub fn new(peer: SocketAddr, local: SocketAddr) -> Connection {
        Connection { peer, local, judged: OnceCell::new() }
    }

    /// Refuses a caller that a run has started, or that is on this machine and cannot be told.
    pub async fn refuse_children(&self) -> Result<(), ApiError> {
        if !self.peer.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        let (other, local) = (self.peer, self.local);
        let look = || async move {
            tokio::task::spawn_blocking(move || peer(other, local)).await.unwrap_or(Peer::Gone)
        };
        let words = match self.judged.get_or_init(look).await {
            Peer::Outside => return Ok(()),
            Peer::Inside => {
                "a step of a run has started the calling process, and a step does not decide for people"
            }
            Peer::Gone => "the calling process cannot be told",
        };
        Err(ApiError::new(StatusCode::FORBIDDEN, "inside_a_run", words)
            .hint("call from a shell of your own; a step may look at runs"))
    }
}
