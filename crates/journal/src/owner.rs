//! The owner process of a run: the one that drives it.
//!
//! One process owns a run by an exclusive lock on its `owner.lock`, held until it ends, however it ends. The file
//! names the owner and says when it was last there, so that a second process can be told, and so that the run can be taken from
//! an owner that is stopped or stuck for longer than its lease. Should the lock fail its purpose (a file deleted by hand, two
//! machines), the epoch in the journal still fences the older owner off; that is `sqlite`'s part.

use crate::disk;
use crate::state::private_file;
use crate::{Error, Remote, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{Blocked, RunId, clock_offset};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// The process that drives a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// When it was started, so that another process of the same id is not mistaken for it.
    #[serde(default)]
    pub start: Option<u64>,
    /// The machine.
    pub host: String,
    /// The machine's boot, so that a process id of an earlier boot is not mistaken.
    pub boot: String,
}

/// What the lock file says about the process that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// The process, if it has said so yet.
    pub owner: Option<Owner>,
    /// Its epoch, if it has one yet.
    pub epoch: Option<u64>,
    /// When it last said that it is there: milliseconds of the machine's monotonic clock, which suspension and a changed
    /// date leave alone.
    #[serde(default)]
    pub beat: Option<u64>,
    /// Why the run waits for the machine, where it does. Stays when the owner ends, until the next one comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// Where the run is driven, if that is not on this machine.
    #[serde(skip)]
    pub elsewhere: Option<String>,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = &self.elsewhere {
            return write!(f, "the cluster at {address}");
        }
        match &self.owner {
            Some(owner) => write!(f, "process {} on `{}`", owner.pid, owner.host)?,
            None => f.write_str("another process")?,
        }
        self.epoch.map_or(Ok(()), |epoch| write!(f, " (epoch {epoch})"))
    }
}

/// The process that drives a run right now; `None` if none does.
pub fn live_owner(state: &StateDir, run: &RunId) -> Result<Option<Held>, Error> {
    if let Some(remote) = Remote::read(state, run) {
        let held = Held { elsewhere: Some(remote.address.clone()), ..Held::default() };
        return Ok(remote.is_live().then_some(held));
    }
    let path = lock_path(&state.run_dir(run));
    let Ok(file) = File::open(&path) else { return Ok(None) };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(Some(read_holder(&file))),
        Err(errno) => Err(Error::io("lock", &path)(errno.into())),
    }
}

/// What a run waits for, or waited for when its last owner ended; `None` if it waits for nothing.
///
/// A run on a full disk cannot say so in its journal. The lock file has its place on the disk already, and is written over.
pub fn blocked(state: &StateDir, run: &RunId) -> Option<Blocked> {
    File::open(lock_path(&state.run_dir(run))).ok().and_then(|file| read_holder(&file).blocked)
}

/// Holds a run without a driving process, without becoming its owner; `None` if a process drives it.
pub(crate) fn claim(dir: &Path) -> Result<Option<File>, Error> {
    let path = lock_path(dir);
    let file = private_file(&path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(Error::io("lock", &path)(errno.into())),
    }
}

/// The lock itself; dropping it lets go of the run.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
    path: PathBuf,
    owner: Owner,
    blocked: Cell<Option<Blocked>>,
}

impl OwnerLock {
    /// Takes the lock, or answers with its holder, at once.
    pub fn take(run: &RunId, dir: &Path, owner: &Owner) -> Result<OwnerLock, Error> {
        let path = lock_path(dir);
        for patience in (0..PATIENCE).rev() {
            let file = private_file(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path) => {
                    failpoint!("owner.lock.taken");
                    return OwnerLock::new(file, path, owner).announced(None);
                }
                Ok(()) => continue,
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(Error::io("lock", &path)(errno.into())),
            }
            let holder = read_holder(&file);
            if patience == 0 || holder.is_settled(owner) {
                return Err(Error::Owned { run: run.clone(), holder: Box::new(holder) });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(Error::Owned { run: run.clone(), holder: Box::default() })
    }

    fn new(file: File, path: PathBuf, owner: &Owner) -> OwnerLock {
        OwnerLock { file, path, owner: owner.clone(), blocked: Cell::new(None) }
    }

    /// Says what the run waits for, from the next announcement on.
    pub fn block(&self, why: Option<Blocked>) {
        self.blocked.set(why);
    }

    /// Writes the owner's epoch into the file, now that it is known.
    pub fn announce(&self, epoch: u64) -> Result<(), Error> {
        self.write(&self.held(Some(epoch)))
    }

    /// What is to be read in the file now.
    fn held(&self, epoch: Option<u64>) -> Held {
        Held {
            owner: Some(self.owner.clone()),
            epoch,
            beat: Some(monotonic()),
            blocked: self.blocked.get(),
            elsewhere: None,
        }
    }

    /// Takes the run from an owner that has been silent for longer than the lease. That one keeps its lock, on a file that
    /// no path leads to any more. Of several processes that try, one succeeds, and gets the
    /// earlier owner as its answer.
    pub fn seize(
        run: &RunId,
        dir: &Path,
        owner: &Owner,
        lease: Duration,
    ) -> Result<(OwnerLock, Held), Error> {
        let path = lock_path(dir);
        let refused = |holder| Error::Owned { run: run.clone(), holder: Box::new(holder) };
        let look = || File::open(&path).map(|file| read_holder(&file)).unwrap_or_default();
        let turn_path = dir.join("owner.turn");
        let turn = private_file(&turn_path)?;
        match flock(&turn, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(refused(look())),
            Err(errno) => return Err(Error::io("lock", &turn_path)(errno.into())),
        }
        failpoint!("owner.seize.turn_taken");
        // Another process may have been first.
        let holder = look();
        if holder.silent_for(owner).is_none_or(|silence| silence < lease) {
            return Err(refused(holder));
        }
        let fresh = dir.join("owner.lock.new");
        let file = private_file(&fresh)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| Error::io("lock", &fresh)(errno.into()))?;
        let lock = OwnerLock::new(file, path.clone(), owner).announced(None)?;
        failpoint!("owner.seize.lock_made");
        std::fs::rename(&fresh, &path).map_err(Error::io("replace", &path))?;
        failpoint!("owner.seize.lock_replaced");
        Ok((lock, holder))
    }

    fn announced(self, epoch: Option<u64>) -> Result<OwnerLock, Error> {
        self.write(&self.held(epoch))?;
        Ok(self)
    }

    fn write(&self, held: &Held) -> Result<(), Error> {
        let text = serde_json::to_vec(held).expect("plain data");
        let written = disk::write_at(&self.file, &self.path, &text, 0)
            .and_then(|()| disk::set_len(&self.file, &self.path, text.len() as u64));
        written.map_err(Error::io("write", &self.path))
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Only for processes that look: an empty file says at once that there is no owner. A run that is blocked stays so, in
        // bytes that the file has already.
        failpoint!("owner.lock.before_release");
        match self.blocked.get() {
            Some(_) => drop(self.write(&Held { blocked: self.blocked.get(), ..Held::default() })),
            None => drop(self.file.set_len(0)),
        }
        failpoint!("owner.lock.emptied");
    }
}

/// How often a refusal is looked at again, a millisecond apart, before it is final: a process that only looks holds the lock
/// for an instant too, and a new owner needs an instant to write its name. Refusing must take less than 100 ms.
const PATIENCE: u32 = 60;

impl Held {
    /// How long the process that is named has said nothing; `None` where that cannot be known: another machine, another
    /// boot, or it has not said anything at all.
    pub fn silent_for(&self, asking: &Owner) -> Option<Duration> {
        let owner =
            self.owner.as_ref().filter(|owner| owner.host == asking.host && owner.boot == asking.boot);
        let beat = self.beat.filter(|_| owner.is_some() && !asking.boot.is_empty())?;
        Some(Duration::from_millis(monotonic().saturating_sub(beat)))
    }

    /// Whether the file tells of a process that is really there and has its epoch.
    fn is_settled(&self, asking: &Owner) -> bool {
        let (Some(owner), Some(_)) = (&self.owner, self.epoch) else { return false };
        if owner.host != asking.host {
            return true;
        }
        owner.boot == asking.boot && is_alive(owner.pid)
    }
}

/// Milliseconds of a clock that all processes of this boot share.
fn monotonic() -> u64 {
    // A time namespace shifts it for the processes inside. A process cannot change the one it is in.
    static SHIFT: LazyLock<i64> = LazyLock::new(|| {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        clock_offset(&offsets, "monotonic")
    });
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_sec * 1_000_000_000 + now.tv_nsec - *SHIFT;
    nanoseconds.unsigned_abs() / 1_000_000
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether the path still leads to the file that was locked.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

fn read_holder(mut file: &File) -> Held {
    let mut text = String::new();
    let read = file.read_to_string(&mut text);
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn lock_path(dir: &Path) -> PathBuf {
    dir.join("owner.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    // A refusal waits a millisecond so many times, and a person must not notice.
    const _: () = assert!(PATIENCE < 100);

    fn me() -> Owner {
        Owner { pid: std::process::id(), start: None, host: "here".into(), boot: "b".into() }
    }

    fn epoch_1() -> Held {
        Held { epoch: Some(1), ..Held::default() }
    }

    #[test]
    fn a_blocked_run_stays_so_until_its_next_owner_comes() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let run = RunId("r".into());
        let dir = state.make_run_dir(&run).unwrap();
        let lock = OwnerLock::take(&run, &dir, &me()).unwrap();
        assert_eq!(blocked(&state, &run), None);
        lock.block(Some(Blocked::Disk));
        lock.announce(1).unwrap();
        let length = std::fs::metadata(lock_path(&dir)).unwrap().len();
        assert_eq!(blocked(&state, &run), Some(Blocked::Disk));
        drop(lock);
        assert_eq!(blocked(&state, &run), Some(Blocked::Disk), "nothing drives it, and it waits");
        assert!(std::fs::metadata(lock_path(&dir)).unwrap().len() <= length, "it needs no more room");
        assert_eq!(live_owner(&state, &run).unwrap(), None);
        let lock = OwnerLock::take(&run, &dir, &me()).unwrap();
        assert_eq!(blocked(&state, &run), None);
        drop(lock);
        assert_eq!(blocked(&state, &run), None);
    }

    #[test]
    fn a_second_owner_is_told_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunId("r".into());
        let first = OwnerLock::take(&run, dir.path(), &me()).unwrap();
        first.announce(3).unwrap();
        let refused = OwnerLock::take(&run, dir.path(), &me()).unwrap_err();
        let text = refused.to_string();
        assert_eq!(text, format!("run `r` is driven by process {} on `here` (epoch 3)", std::process::id()));
        drop(first);
        OwnerLock::take(&run, dir.path(), &me()).unwrap();
    }

    #[test]
    fn a_stale_name_in_the_file_is_no_owner() {
        let dir = tempfile::tempdir().unwrap();
        let dead = Held { owner: Some(Owner { pid: 999_999_999, ..me() }), ..epoch_1() };
        std::fs::write(lock_path(dir.path()), serde_json::to_vec(&dead).unwrap()).unwrap();
        let lock = OwnerLock::take(&RunId("r".into()), dir.path(), &me()).unwrap();
        assert_eq!(read_holder(&File::open(&lock.path).unwrap()).owner, Some(me()));
    }

    #[test]
    fn a_process_of_another_boot_is_not_believed() {
        let earlier = Held { owner: Some(Owner { boot: "a".into(), ..me() }), ..epoch_1() };
        assert!(!earlier.is_settled(&me()));
        let elsewhere = Held { owner: Some(Owner { host: "there".into(), ..me() }), ..epoch_1() };
        assert!(elsewhere.is_settled(&me()));
    }

    #[test]
    fn looking_does_not_take_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let run = RunId("r".into());
        assert_eq!(live_owner(&state, &run).unwrap(), None);
        let dir = state.make_run_dir(&run).unwrap();
        let lock = OwnerLock::take(&run, &dir, &me()).unwrap();
        lock.announce(1).unwrap();
        let held = live_owner(&state, &run).unwrap().unwrap();
        assert_eq!((held.owner, held.epoch), (Some(me()), Some(1)));
        drop(lock);
        assert_eq!(live_owner(&state, &run).unwrap(), None);
    }

    #[test]
    fn a_silent_owner_is_replaced_once_and_one_that_is_there_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunId("r".into());
        let first = OwnerLock::take(&run, dir.path(), &me()).unwrap();
        first.announce(1).unwrap();
        let refused = OwnerLock::seize(&run, dir.path(), &me(), Duration::from_secs(3600)).unwrap_err();
        assert!(matches!(refused, Error::Owned { .. }), "{refused}");
        first.write(&Held { beat: Some(0), ..first.held(Some(1)) }).unwrap();
        let elsewhere = Owner { host: "there".into(), ..me() };
        OwnerLock::seize(&run, dir.path(), &elsewhere, Duration::ZERO).unwrap_err();
        let lease = Duration::from_millis(monotonic() / 2);
        let (second, holder) = OwnerLock::seize(&run, dir.path(), &me(), lease).unwrap();
        assert_eq!((holder.owner, holder.epoch), (Some(me()), Some(1)));
        second.announce(2).unwrap();
        OwnerLock::seize(&run, dir.path(), &me(), lease).unwrap_err();
        OwnerLock::take(&run, dir.path(), &me()).unwrap_err();
        drop(first);
        assert_eq!(read_holder(&File::open(lock_path(dir.path())).unwrap()).epoch, Some(2));
        OwnerLock::take(&run, dir.path(), &me()).unwrap_err();
        drop(second);
        OwnerLock::take(&run, dir.path(), &me()).unwrap();
    }
}
