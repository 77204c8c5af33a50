//! The process at the other end of a connection over loopback, and whether a run has started it.
//!
//! The kernel tells which socket has the address that a connection comes from, and which processes hold that socket. A process that
//! keeps others out of its memory keeps them out of its descriptors as well; then every such process of the socket's user may be the one, and
//! is judged. Invariant: a process below a command of a run is never taken for one outside.

use crate::process::{Process, is_marked, processes};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// What is known of the process at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// No run has started it.
    Outside,
    /// A run has started it, at whatever distance, or may have.
    Inside,
    /// It has gone, or cannot be told.
    Gone,
}

/// Judges the process that holds the other end of a connection to `local`.
pub fn peer(other: SocketAddr, local: SocketAddr) -> Peer {
    let Some(socket) = socket_of(other, local) else { return Peer::Gone };
    let link = format!("socket:[{}]", socket.inode);
    let (mut holders, mut hidden) = (Vec::new(), Vec::new());
    for process in processes().filter(|process| user_of(process) == Some(socket.user)) {
        match holds(&process, &link) {
            Some(true) => holders.push(process),
            Some(false) => {}
            None => hidden.push(process),
        }
    }
    let suspects = if holders.is_empty() { hidden } else { holders };
    match suspects.iter().any(is_marked) {
        _ if suspects.is_empty() => Peer::Gone,
        true => Peer::Inside,
        false => Peer::Outside,
    }
}

struct Socket {
    user: u32,
    inode: u64,
}

/// The socket whose own address is `other` and which is connected to `local`.
fn socket_of(other: SocketAddr, local: SocketAddr) -> Option<Socket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let text = tables.iter().filter_map(|table| fs::read_to_string(table).ok());
    text.flat_map(|text| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
        .find_map(|line| entry(&line, other, local))
}

fn entry(line: &str, other: SocketAddr, local: SocketAddr) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is = |field: &str, address: SocketAddr| {
        address_of(field)
            .is_some_and(|(ip, port)| ip == address.ip().to_canonical() && port == address.port())
    };
    let matches = is(fields.get(1)?, other) && is(fields.get(2)?, local);
    let inode = fields.get(9)?.parse().ok()?;
    // A socket that no process holds any more has no number.
    (matches && inode != 0).then_some(Socket { user: fields.get(7)?.parse().ok()?, inode })
}

/// `0100007F:1F90`: each word of the address as the machine keeps it, and the port.
fn address_of(field: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = field.split_once(':')?;
    let words: Option<Vec<u8>> = (0..address.len() / 8)
        .map(|at| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok())
        .try_fold(Vec::new(), |mut bytes, word| {
            bytes.extend_from_slice(&word?.to_ne_bytes());
            Some(bytes)
        });
    let bytes = words?;
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

fn user_of(process: &Process) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Sockets belong to the user by whom files are made.
    line.split_ascii_whitespace().nth(3)?.parse().ok()
}

/// Whether a process holds a socket; `None` if it does not let us look.
fn holds(process: &Process, link: &str) -> Option<bool> {
    let folder = format!("/proc/{}/fd", process.pid.as_raw_nonzero());
    let entries = fs::read_dir(folder).ok()?;
    let is_it =
        |entry: fs::DirEntry| fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(link));
    Some(entries.flatten().any(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_of_ours_is_outside_and_one_that_is_closed_cannot_be_told() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let local = listener.local_addr().unwrap();
            let stream = TcpStream::connect(local).unwrap();
            let other = stream.local_addr().unwrap();
            let ours = Process::find(rustix::process::getpid()).unwrap();
            let expected = if is_marked(&ours) { Peer::Inside } else { Peer::Outside };
            assert_eq!(peer(other, local), expected);
            assert_eq!(peer(local, other), Peer::Gone, "it is not accepted yet");
        }
    }

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        assert_eq!(address_of("0100007F:1F90"), Some(("127.0.0.1".parse().unwrap(), 8080)));
        let mapped = "0000000000000000FFFF00000100007F:0050";
        assert_eq!(address_of(mapped), Some(("127.0.0.1".parse().unwrap(), 80)));
        assert_eq!(address_of("0100007F"), None);
    }
}
