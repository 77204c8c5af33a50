//! Tells the engine how far a child came: the way back from a failed start has room for one number alone.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub const USER: u32 = 1;
pub const MOUNTS: u32 = 2;
pub const NETWORK: u32 = 3;
pub const LIMITS: u32 = 4;
pub const PRIVILEGES: u32 = 5;
pub const LANDLOCK: u32 = 6;
pub const SECCOMP: u32 = 7;
const DONE: u32 = 8;

const NAMES: [&str; 8] =
    ["nothing", "user namespace", "mounts", "network", "limits", "privileges", "Landlock", "seccomp"];

const PAGE: usize = 4096;

/// A page that the child shares with the engine.
#[derive(Clone)]
pub struct Stage(Arc<Page>);

struct Page(NonNull<AtomicU32>);

// SAFETY: it is one atomic number.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Stage {
    pub fn new() -> io::Result<Stage> {
        // SAFETY: a new mapping, which is zero.
        let page = unsafe {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            libc::mmap(ptr::null_mut(), PAGE, access, kind, -1, 0)
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Stage(Arc::new(Page(NonNull::new(page.cast()).expect("a mapping is nowhere but at null")))))
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: the page lives as long as this value.
        unsafe { self.0.0.as_ref() }
    }

    /// Notes a stage, whose outcome this is.
    pub fn is(&self, stage: u32, outcome: Result<(), i32>) -> Result<(), i32> {
        if outcome.is_err() {
            self.number().store(stage, Ordering::Release);
        }
        outcome
    }

    /// Everything has been entered: what fails from here on is the command's.
    pub fn done(&self) {
        self.number().store(DONE, Ordering::Release);
    }

    /// The stage at which the child failed, if it was one of these.
    pub fn failed(&self) -> Option<&'static str> {
        match self.number().load(Ordering::Acquire) {
            0 | DONE => None,
            stage => NAMES.get(stage as usize).copied(),
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: nobody else has the page any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE) };
    }
}
