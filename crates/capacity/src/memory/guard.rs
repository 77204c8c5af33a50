//! A mapped file that is cut short must not kill the processes that map it.
//!
//! Touching a page beyond the end of a mapped file raises SIGBUS, which ends a process that does not expect it. Only the
//! user's own processes can cut the file (it is private), but a slip of the hand there would kill every run of the machine.
//! So mappings are registered here, and the handler puts empty private memory in place of one that broke. The process then
//! works on a table of its own that grants nothing: everything that takes the lock looks at [`Guard::is_broken`] first and is
//! refused. A fault anywhere else is left to the handler that was there before.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most mappings of one process that are guarded at once; a run has one.
const PLACES: usize = 256;

static RANGES: [Range; PLACES] = [const { Range::free() }; PLACES];

/// What was there before, written once before the handler is in place.
static mut BEFORE: MaybeUninit<libc::sigaction> = MaybeUninit::uninit();

struct Range {
    /// Zero where the place is free, [`TAKEN`] while it is being filled.
    start: AtomicUsize,
    length: AtomicUsize,
    broken: AtomicBool,
}

/// No mapping begins here.
const TAKEN: usize = 1;

impl Range {
    const fn free() -> Range {
        Range { start: AtomicUsize::new(0), length: AtomicUsize::new(0), broken: AtomicBool::new(false) }
    }

    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start > TAKEN && address.wrapping_sub(start) < self.length.load(Ordering::Relaxed)
    }
}

/// One guarded mapping. Dropped before the mapping is.
#[derive(Debug)]
pub struct Guard {
    /// `None` where all places were taken: then a cut file ends the process, as it would without a guard.
    place: Option<usize>,
}

impl Guard {
    /// Guards a mapping of `length` bytes that begins at `start` and lives until the guard is dropped.
    pub fn new(start: *const c_void, length: usize) -> Guard {
        install();
        let is_free = |range: &Range| {
            range.start.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = RANGES.iter().position(is_free);
        if let Some(range) = place.map(|place| &RANGES[place]) {
            range.broken.store(false, Ordering::Relaxed);
            range.length.store(length, Ordering::Relaxed);
            range.start.store(start as usize, Ordering::Release);
        }
        Guard { place }
    }

    /// Whether the mapping no longer shows the file.
    pub fn is_broken(&self) -> bool {
        self.place.is_some_and(|place| RANGES[place].broken.load(Ordering::Acquire))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            RANGES[place].start.store(0, Ordering::Release);
        }
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a zeroed `sigaction` is a valid one; the handler has the signature that SA_SIGINFO asks for and makes only
        // async-signal-safe calls; `BEFORE` is written here and nowhere else, before the handler can run.
        unsafe {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
                return;
            }
            (*ptr::addr_of_mut!(BEFORE)).write(before.assume_init());
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
        }
    });
}

/// Runs in a signal handler: no allocation, no lock, nothing but atomics and two system calls.
extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a valid `info` to a handler with SA_SIGINFO, and SIGBUS of a fault has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    match RANGES.iter().find(|range| range.holds(address)) {
        Some(range) if replace(range) => range.broken.store(true, Ordering::Release),
        // The fault comes again at once, and the handler that was there before deals with it.
        _ => {
            // SAFETY: `BEFORE` was written before this handler was installed.
            unsafe { libc::sigaction(libc::SIGBUS, (*ptr::addr_of!(BEFORE)).as_ptr(), ptr::null_mut()) };
        }
    }
}

/// Empty memory in the mapping's place; every field of the layout is an atomic, for which zero is a valid value.
fn replace(range: &Range) -> bool {
    let (start, length) = (range.start.load(Ordering::Acquire), range.length.load(Ordering::Relaxed));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the range is a live mapping of ours (its guard is dropped before it is unmapped), so nothing else is replaced.
    let made =
        unsafe { libc::mmap(start as *mut c_void, length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    made != libc::MAP_FAILED
}
