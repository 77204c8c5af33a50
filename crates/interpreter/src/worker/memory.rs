//! How much memory the process uses, so that a program is told before the kernel refuses.
//!
//! The interpreter compares a number with its limit wherever it allocates. That number is meant to be counted by an
//! allocator of its own; we would pay for that in the whole program, so a thread reads it from the kernel instead, while a
//! program runs. What grows faster than the thread looks meets the limit on address space, and the worker dies.

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often it is looked. A program that fills memory as fast as the machine can gets some megabytes further.
const EVERY: Duration = Duration::from_millis(1);

/// The kernel's account of this process.
struct Account {
    file: File,
    page: u64,
}

impl Account {
    /// The bytes that are mapped, and those of them that are there.
    fn read(&self) -> io::Result<(u64, u64)> {
        let mut text = [0; 64];
        let length = self.file.read_at(&mut text, 0)?;
        let mut pages = std::str::from_utf8(&text[..length]).unwrap_or("").split(' ').map(str::parse::<u64>);
        match (pages.next(), pages.next()) {
            (Some(Ok(mapped)), Some(Ok(resident))) => Ok((mapped * self.page, resident * self.page)),
            _ => Err(io::Error::other("the kernel's account of memory is not as it was")),
        }
    }

    fn resident(&self) -> usize {
        self.read().map_or(0, |(_, resident)| resident as usize)
    }
}

/// The account, before the thread that reads it.
pub struct Opened(Account);

impl Opened {
    /// Starts the thread. It looks only while a program runs.
    pub fn start(self) -> io::Result<Gauge> {
        let shared = Arc::new((self.0, AtomicBool::new(false)));
        let watched = shared.clone();
        let handle = thread::Builder::new().name("gauge".into()).spawn(move || {
            let (account, running) = &*watched;
            loop {
                while !running.load(Ordering::Acquire) {
                    thread::park();
                }
                LIVE_MEMORY.store(account.resident(), Ordering::Relaxed);
                thread::sleep(EVERY);
            }
        })?;
        Ok(Gauge { shared, thread: handle.thread().clone() })
    }
}

/// Measures while a program runs.
pub struct Gauge {
    shared: Arc<(Account, AtomicBool)>,
    thread: Thread,
}

impl Gauge {
    /// Opens the account. It must happen before the file system is closed.
    pub fn open() -> io::Result<Opened> {
        // SAFETY: a question without side effects.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Ok(Opened(Account { file: File::open("/proc/self/statm")?, page: page.unsigned_abs() }))
    }

    /// How much address space is mapped.
    pub fn mapped(&self) -> io::Result<u64> {
        self.shared.0.read().map(|(mapped, _)| mapped)
    }

    /// What there is now is not the program's.
    pub fn set_baseline(&self) {
        BASELINE_MEMORY.store(self.shared.0.resident(), Ordering::Relaxed);
    }

    /// Measures while `work` is done.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        LIVE_MEMORY.store(self.shared.0.resident(), Ordering::Relaxed);
        self.shared.1.store(true, Ordering::Release);
        self.thread.unpark();
        let done = work();
        self.shared.1.store(false, Ordering::Release);
        done
    }

    /// Whether programs take up more than this, once what is free was given back.
    pub fn exceeds(&self, bytes: u64) -> bool {
        self.settle();
        let baseline = BASELINE_MEMORY.load(Ordering::Relaxed);
        self.shared.0.resident().saturating_sub(baseline) as u64 > bytes
    }

    /// Gives back to the kernel what an earlier program left, so that it is not counted against the next.
    pub fn settle(&self) {
        #[cfg(target_env = "gnu")]
        // SAFETY: it only returns free memory.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}
