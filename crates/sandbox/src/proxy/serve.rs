//! Serves the connections of one command.

use super::address::is_public;
use super::hosts::{Host, Hosts, Standing};
use super::request::{self, Asked};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Connections of one command at once.
const CONNECTIONS: usize = 128;
/// How long the first lines may take.
const FIRST_LINES: Duration = Duration::from_secs(10);
/// How long a host may take to be found and to answer.
const CONNECTING: Duration = Duration::from_secs(20);

/// The way from one command's network to the hosts that it may reach.
pub struct Door {
    socket: OwnedFd,
    hosts: Hosts,
}

impl Door {
    /// Behind this listening socket, to these hosts.
    pub fn new(socket: OwnedFd, hosts: Hosts) -> Door {
        Door { socket, hosts }
    }

    /// Serves until it is dropped.
    pub async fn serve(self) -> io::Result<()> {
        let listener = std::net::TcpListener::from(self.socket);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (hosts, room) = (Arc::new(self.hosts), Arc::new(Semaphore::new(CONNECTIONS)));
        let mut connections = JoinSet::new();
        loop {
            let Ok(place) = room.clone().acquire_owned().await else { return Ok(()) };
            let (stream, _) = listener.accept().await?;
            let hosts = hosts.clone();
            connections.spawn(async move {
                // A connection that breaks is the command's affair.
                let _ = attend(stream, &hosts).await;
                drop(place);
            });
            while connections.try_join_next().is_some() {}
        }
    }
}

async fn attend(mut stream: TcpStream, hosts: &Hosts) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(1024);
    let head = timeout(FIRST_LINES, first_lines(&mut stream, &mut bytes)).await??;
    let Some(head) = head else {
        return refuse(&mut stream, "400 Bad Request", "no request that a proxy takes").await;
    };
    let Some(asked) = request::read(&bytes[..head]) else {
        return refuse(&mut stream, "400 Bad Request", "no request that a proxy takes").await;
    };
    let mut target = match timeout(CONNECTING, reach(&asked, hosts)).await {
        Err(_) => return refuse(&mut stream, "504 Gateway Timeout", "the host does not answer").await,
        Ok(Err(Refusal::Closed(why))) => return refuse(&mut stream, "403 Forbidden", why).await,
        Ok(Err(Refusal::Failed)) => {
            return refuse(&mut stream, "502 Bad Gateway", "the host cannot be reached").await;
        }
        Ok(Ok(target)) => target,
    };
    match &asked.forward {
        None => stream.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n").await?,
        Some(head) => target.write_all(head).await?,
    }
    target.write_all(&bytes[head..]).await?;
    copy_bidirectional(&mut stream, &mut target).await?;
    Ok(())
}

/// Reads the first lines; how long they are, or `None` if they do not end.
async fn first_lines(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    while bytes.len() < request::MOST {
        if let Some(end) = request::end(bytes) {
            return Ok(Some(end));
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
    Ok(request::end(bytes))
}

enum Refusal {
    Closed(&'static str),
    Failed,
}

async fn reach(asked: &Asked, hosts: &Hosts) -> Result<TcpStream, Refusal> {
    let standing = hosts.standing(&asked.host, asked.port);
    let addresses: Vec<SocketAddr> = match (&asked.host, standing) {
        (_, Standing::Unlisted) => {
            return Err(Refusal::Closed("this host is not among those that the command may reach"));
        }
        (Host::Address(address), _) => vec![SocketAddr::new(*address, asked.port)],
        (Host::Name(name), _) => {
            let found =
                tokio::net::lookup_host((name.as_str(), asked.port)).await.map_err(|_| Refusal::Failed)?;
            found.collect()
        }
    };
    let is_open = |address: &SocketAddr| standing == Standing::ByAddress || is_public(address.ip());
    if addresses.iter().any(|address| !is_open(address)) {
        return Err(Refusal::Closed("the name leads to an address that is not public"));
    }
    for address in addresses {
        if let Ok(stream) = TcpStream::connect(address).await {
            return Ok(stream);
        }
    }
    Err(Refusal::Failed)
}

async fn refuse(stream: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}
