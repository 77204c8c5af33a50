//! The disk: a place for runs, and what one durable write takes there.

use crate::error::Error;
use crate::rounds::median;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a page of a database is, and so the least that a commit writes.
const PAGE: [u8; 4096] = [0x5a; 4096];
/// The number that `statfs` gives for memory.
const TMPFS: u32 = 0x0102_1994;

/// Refuses a folder that is memory: a journal there promises nothing and costs nothing.
pub fn check(folder: &Path) -> Result<(), Error> {
    let found = rustix::fs::statfs(folder).map_err(|errno| Error::io("look at", folder)(errno.into()))?;
    if found.f_type as u32 == TMPFS {
        return Err(Error::Odd(format!("`{}` is memory, not a disk; see --place", folder.display())));
    }
    Ok(())
}

/// Appends `times` pages to a file, each made durable before the next, and gives what each took.
pub fn syncs(folder: &Path, times: usize) -> Result<Vec<Duration>, Error> {
    let path = folder.join("probe");
    let mut file = File::create(&path).map_err(Error::io("make", &path))?;
    let one = |_| {
        let started = Instant::now();
        file.write_all(&PAGE).and_then(|()| file.sync_data()).map_err(Error::io("write", &path))?;
        Ok(started.elapsed())
    };
    let taken = (0..times).map(one).collect();
    let _ = fs::remove_file(&path);
    taken
}

/// The median of some durable writes, in seconds.
pub fn sync_time(taken: &[Duration]) -> f64 {
    median(&taken.iter().map(Duration::as_secs_f64).collect::<Vec<_>>())
}

/// The mean of some durable writes, in seconds: what many of them in a row take.
pub fn mean_sync_time(taken: &[Duration]) -> f64 {
    taken.iter().sum::<Duration>().as_secs_f64() / taken.len() as f64
}

/// Copies a folder and what is in it.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("make", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("list", from))? {
        let path = entry.map_err(Error::io("list", from))?.path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(Error::io("copy", &path))?;
        }
    }
    Ok(())
}
