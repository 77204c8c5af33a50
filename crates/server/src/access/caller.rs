//! The process at the other end of a connection, as far as it matters: whether a run has started it.
//!
//! An agent must not answer for the person that it asks. The command line refuses its own commands where an ancestor carries the mark of a
//! run; where a connection comes from this machine, over whichever of its addresses, the process that made it is looked up and judged in
//! the same way. Asked once per connection, and only where something would be changed. Behind a proxy the other end is the proxy: then
//! only the token judges (docs/explanation/security.md).

use crate::error::ApiError;
use axum::http::StatusCode;
use convoke_process::{Peer, peer};
use std::net::{SocketAddr, UdpSocket};
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
        if !is_here(self.peer, self.local) {
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

/// Whether an address is one of this machine's.
fn is_here(peer: SocketAddr, local: SocketAddr) -> bool {
    let (ip, own) = (peer.ip().to_canonical(), local.ip().to_canonical());
    if ip.is_loopback() || ip == own {
        return true;
    }
    // A machine has many addresses, and a process may call from any of them. Where any address at all may be taken, that tells nothing.
    let any = ["ipv4", "ipv6"].map(|family| format!("/proc/sys/net/{family}/ip_nonlocal_bind"));
    let is_telling =
        any.iter().all(|path| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "0"));
    let mut address = peer;
    address.set_ip(ip);
    address.set_port(0);
    is_telling && UdpSocket::bind(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_this_machine_is_here_and_no_other() {
        let here = |peer: &str, local: &str| {
            is_here(format!("{peer}:40000").parse().unwrap(), format!("{local}:4600").parse().unwrap())
        };
        assert!(here("127.0.0.1", "127.0.0.1") && here("127.8.8.8", "192.0.2.77"));
        assert!(here("192.0.2.77", "192.0.2.77") && here("[::ffff:192.0.2.77]", "192.0.2.77"));
        assert!(!here("203.0.113.9", "192.0.2.77"));
        // Another address of ours than the one that was called; nothing is sent to learn it.
        let asked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("203.0.113.1:9")?;
            socket.local_addr()
        });
        if let Ok(own) = asked {
            assert!(here(&own.ip().to_string(), "198.51.100.7"), "{own}");
        }
    }
}
