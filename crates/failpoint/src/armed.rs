//! Counts places as they are reached, and dies at one of them.

use crate::NAMES;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::{io, ptr};

/// One counter for each name, in memory that all processes of the program share; null while nothing is counted.
static COUNTERS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// Where to die.
static TARGET: AtomicUsize = AtomicUsize::new(usize::MAX);
/// At which time of reaching it.
static TIME: AtomicU64 = AtomicU64::new(0);

/// Why nothing was armed.
#[derive(Debug)]
pub enum Problem {
    /// No place has this name.
    UnknownName(String),
    /// The number of times is none.
    NotANumber(String),
    /// The counters cannot be kept.
    Counters(io::Error),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::UnknownName(name) => write!(f, "no failpoint is named `{name}`"),
            Problem::NotANumber(text) => write!(f, "`{text}` is no number of times"),
            Problem::Counters(error) => write!(f, "the counters of failpoints cannot be kept: {error}"),
        }
    }
}

/// From now on this process and those that it starts count every place, in `counters` if a file is given: one number of eight bytes
/// for each of [`NAMES`]. With `target`, `name` or `name:N`, the process that reaches the place for the N-th time dies there.
pub fn arm(target: Option<&str>, counters: Option<&Path>) -> Result<(), Problem> {
    if let Some(target) = target {
        let (name, time) = target.split_once(':').unwrap_or((target, "1"));
        let place = NAMES.iter().position(|known| *known == name);
        let place = place.ok_or_else(|| Problem::UnknownName(name.to_owned()))?;
        TIME.store(time.parse().map_err(|_| Problem::NotANumber(time.to_owned()))?, Ordering::SeqCst);
        TARGET.store(place, Ordering::SeqCst);
    }
    let counters = map(counters).map_err(Problem::Counters)?;
    COUNTERS.store(counters, Ordering::SeqCst);
    Ok(())
}

fn map(path: Option<&Path>) -> io::Result<*mut AtomicU64> {
    let length = NAMES.len() * size_of::<AtomicU64>();
    let open = |path| File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = path.map(open).transpose()?;
    if let Some(file) = &file {
        file.set_len(length as u64)?;
    }
    let (flags, descriptor) = match &file {
        Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
        None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
    };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, of a file that is as long or of nothing; it lives as long as the process.
    let memory = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, descriptor, 0) };
    match memory {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        memory => Ok(memory.cast()),
    }
}

/// The number of a name. In a constant, so a name that is not listed does not compile.
pub const fn position(name: &str) -> usize {
    let mut at = 0;
    while at < NAMES.len() {
        if is_same(NAMES[at].as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("this failpoint is not listed in crates/failpoint/src/names.rs")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    one.len() == other.len() && at == one.len()
}

/// The process is at this place: counts it, and does not come back if this is where it dies. Makes at most two system calls.
#[inline]
pub fn reach(place: usize) {
    let counters = COUNTERS.load(Ordering::Relaxed);
    if !counters.is_null() {
        count(counters, place);
    }
}

#[cold]
fn count(counters: *mut AtomicU64, place: usize) {
    // SAFETY: there is a counter for each name, and a place is the number of one.
    let time = unsafe { (*counters.add(place)).fetch_add(1, Ordering::SeqCst) } + 1;
    if place == TARGET.load(Ordering::Relaxed) && time == TIME.load(Ordering::Relaxed) {
        // SAFETY: system calls without pointers. The signal ends all threads; this one must not go a step further.
        unsafe {
            libc::kill(libc::getpid(), libc::SIGKILL);
            loop {
                libc::pause();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_listed_once_and_says_where_it_lies() {
        for (at, name) in NAMES.iter().enumerate() {
            assert_eq!(position(name), at, "`{name}` is listed twice");
            let words: Vec<_> = name.split('.').collect();
            let is_word =
                |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(words.len() >= 2 && words.iter().all(is_word), "`{name}` is no name of a place");
        }
    }

    #[test]
    fn places_are_counted_in_the_file_and_an_unknown_name_is_refused() {
        let file = std::env::temp_dir().join(format!("failpoints-{}", std::process::id()));
        assert!(matches!(arm(Some("no.such.place"), None), Err(Problem::UnknownName(_))));
        assert!(matches!(arm(Some(&format!("{}:x", NAMES[0])), None), Err(Problem::NotANumber(_))));
        arm(Some(&format!("{}:3", NAMES[1])), Some(&file)).unwrap();
        reach(0);
        reach(1);
        reach(1);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let count = |at: usize| u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap());
        assert_eq!((count(0), count(1), bytes.len()), (1, 2, NAMES.len() * 8));
    }
}
