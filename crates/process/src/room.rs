//! Descriptors and processes as something that can run out: raised to what the machine allows, counted, and waited for.
//!
//! What runs out comes back when something ends, so a shortage is a reason to wait and not a failure. A wait in which nothing comes
//! back ends. Children get the limit that the engine itself was started with: programs exist that do not expect a higher one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// What to do when there is no room.
pub const NO_ROOM_HINT: &str = "raise the limits of the machine (`ulimit -n` for descriptors, `ulimit -u` for processes), or lower `machine_concurrency`";

/// The most descriptors that the engine asks for; no machine's concurrency needs more.
const MOST: u64 = 1 << 20;
/// Descriptors that stay free when a process is started: its pipes, what starting it takes, and the engine's own work.
const SPARE: usize = 24;
/// How long nothing may come back before a wait ends.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first pause of a wait, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(500)];

/// The soft limit that this process was started with; 0 where it was not changed.
static ORIGINAL: AtomicU64 = AtomicU64::new(0);

/// Lets this process open as many descriptors as the machine allows it to. Children keep the limit that holds now.
pub fn raise_descriptor_limit() {
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else { return };
    let wanted = maximum.unwrap_or(MOST).min(MOST);
    let raised = Rlimit { current: Some(wanted), maximum };
    if wanted > current && setrlimit(Resource::Nofile, raised).is_ok() {
        ORIGINAL.store(current, Ordering::Relaxed);
    }
}

/// Runs in a child: the limit that the engine was started with holds again. Only system calls.
pub(crate) fn restore_descriptor_limit() -> io::Result<()> {
    let original = ORIGINAL.load(Ordering::Relaxed);
    if original == 0 {
        return Ok(());
    }
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(original), maximum })?)
}

/// Whether an error says that descriptors, processes or memory for them have run out.
pub fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM))
}

/// An error where a process could not be started without taking the last descriptors.
pub(crate) fn require_room() -> io::Result<()> {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    let is_full = open_descriptors().is_some_and(|open| open + SPARE > limit as usize);
    if is_full { Err(io::Error::from_raw_os_error(libc::EMFILE)) } else { Ok(()) }
}

/// How many descriptors are open, as far as that can be looked up.
fn open_descriptors() -> Option<usize> {
    // The folder itself is open while it is read.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

/// A wait for room. It goes on as long as anything comes back.
#[derive(Debug, Default)]
pub struct Shortage {
    pause: Option<Duration>,
    /// How many descriptors were open when that last changed, and when it did.
    seen: Option<(Option<usize>, Instant)>,
}

impl Shortage {
    /// Waits a moment; false when nothing came back for too long.
    pub async fn wait(&mut self) -> bool {
        let open = open_descriptors();
        let since = match self.seen {
            Some((before, since)) if before == open => since,
            _ => Instant::now(),
        };
        self.seen = Some((open, since));
        if since.elapsed() > PATIENCE {
            return false;
        }
        let pause = self.pause.map_or(PAUSES[0], |pause| (pause * 2).min(PAUSES[1]));
        self.pause = Some(pause);
        tokio::time::sleep(pause).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_out_is_told_from_what_is_wrong() {
        for code in [libc::EMFILE, libc::ENFILE, libc::EAGAIN, libc::ENOMEM] {
            assert!(is_shortage(&io::Error::from_raw_os_error(code)));
        }
        for code in [libc::ENOENT, libc::EACCES, libc::ECONNREFUSED] {
            assert!(!is_shortage(&io::Error::from_raw_os_error(code)));
        }
        assert!(!is_shortage(&io::Error::other("too many open files")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_in_which_nothing_comes_back_ends() {
        let mut shortage = Shortage::default();
        let begin = Instant::now();
        while shortage.wait().await {
            // Other tests of this process open and close files; a wait that sees them begins anew.
            if begin.elapsed() > 100 * PATIENCE {
                return;
            }
        }
        assert!(begin.elapsed() >= PATIENCE);
    }
}
