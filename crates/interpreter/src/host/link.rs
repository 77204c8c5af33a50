//! The connection to one worker: a request goes out, a report comes back, or the worker is dead and it is known why.

use crate::frame::{self, Bounds, PREFIX};
use crate::outcome::Death;
use crate::protocol::{Report, Request};
use convoke_process::{Group, Pipes};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;

/// How long a worker that closed its output, or whose input was closed, may take to end by itself.
const CLOSING: Duration = Duration::from_secs(1);

/// How long a killed worker may take to be gone.
const DYING: Duration = Duration::from_secs(5);

/// How much of a dead worker's complaints is kept.
const COMPLAINT: usize = 4096;

/// Why there will be no more reports.
pub enum Ending {
    /// The worker died, and said this on its way.
    Died(Death, String),
    /// The worker said something that makes no sense, and was ended.
    Nonsense(String),
}

/// A worker and its streams. Dropped, it is killed.
pub struct Link {
    group: Group,
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

impl Link {
    /// The connection over these streams.
    pub fn new(group: Group, pipes: Pipes) -> io::Result<Link> {
        let Pipes { stdin, stdout, stderr } = pipes;
        let stdin = stdin.ok_or_else(|| io::Error::other("its input is not connected"))?;
        Ok(Link { group, stdin, stdout, stderr })
    }

    /// The worker's process id.
    pub fn pid(&self) -> Option<u32> {
        self.group.command()
    }

    /// Says one thing and hears one. The connection is of no use after an ending.
    pub async fn exchange(
        &mut self,
        request: &Request,
        body: &[u8],
        bounds: Bounds,
        within: Duration,
    ) -> Result<(Report, Vec<u8>), Ending> {
        let heard = timeout(within, self.say_and_hear(request, body, bounds)).await;
        match heard {
            Ok(Ok(heard)) => Ok(heard),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.death(true).await;
                Err(Ending::Nonsense(error.to_string()))
            }
            Ok(Err(_)) => Err(self.dead(false).await),
            Err(_) => Err(self.dead(true).await),
        }
    }

    async fn say_and_hear(
        &mut self,
        request: &Request,
        body: &[u8],
        bounds: Bounds,
    ) -> io::Result<(Report, Vec<u8>)> {
        self.stdin.write_all(&frame::encode(request, body)?).await?;
        let mut prefix = [0; PREFIX];
        self.stdout.read_exact(&mut prefix).await?;
        let (head, body) = bounds.lengths(prefix)?;
        let mut bytes = vec![0; head + body];
        self.stdout.read_exact(&mut bytes).await?;
        let body = bytes.split_off(head);
        Ok((frame::decode(&bytes)?, body))
    }

    async fn dead(&mut self, by_host: bool) -> Ending {
        let death = self.death(by_host).await;
        Ending::Died(death, self.complaint())
    }

    /// Waits for the end of a worker whose output has ended, or makes it end.
    async fn death(&mut self, by_host: bool) -> Death {
        // It may have closed its output only to live on.
        if by_host || timeout(CLOSING, self.group.leader_ends()).await.is_err() {
            self.group.kill();
        }
        if timeout(DYING, self.group.leader_ends()).await.is_err() {
            // It hangs in the kernel; the drop of the group sees to it.
            return Death { signal: None, code: None, by_host };
        }
        let status = self.group.reap();
        Death { signal: status.and_then(|it| it.signal()), code: status.and_then(|it| it.code()), by_host }
    }

    /// What is left in the pipe. It is not read before: a worker that complains without end only stops itself.
    fn complaint(&self) -> String {
        let mut bytes = vec![0; COMPLAINT];
        let length = self.stderr.try_read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..length]).trim().to_string()
    }

    /// Lets the worker end by itself, which it does when its input ends.
    pub async fn close(self) {
        let Link { mut group, stdin, .. } = self;
        drop(stdin);
        if timeout(CLOSING, group.leader_ends()).await.is_ok() {
            group.reap();
        }
    }
}
