//! What Landlock allows: writing below the roots, and reading where that cannot be bounded by mounts.
//!
//! Landlock knows no exceptions below what it allows. So what is to be left out is left out by naming everything beside it;
//! what appears beside it later is not allowed then.

use super::{done, last};
use crate::missing::Missing;
use crate::protected::Place;
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Devices that every program writes to.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The most names in one folder beside what is left out.
const MOST: usize = 20_000;

/// What is asked for; an older kernel enforces what it knows, and seccomp closes the rest.
const VERSION: ABI = ABI::V5;
const SCOPES: ABI = ABI::V6;

/// How reading is bounded.
pub enum Reading<'a> {
    /// By mounts.
    Unbound,
    /// To all but what is hidden.
    AllBut,
    /// To these paths and what can be written.
    Only(&'a [PathBuf]),
}

/// What rules are wanted.
pub struct Wanted<'a> {
    pub roots: &'a [PathBuf],
    pub reading: Reading<'a>,
    pub hidden: &'a [PathBuf],
    /// What is left out below the roots, if mounts do not hold it.
    pub protected: &'a [Place],
    /// There is shared memory of the command's own.
    pub has_shm: bool,
}

/// A set of rules.
pub struct Rules {
    set: OwnedFd,
    has_shm: bool,
}

impl Rules {
    pub fn new(wanted: &Wanted<'_>) -> Result<Rules, Missing> {
        let reads = AccessFs::ReadFile | AccessFs::ReadDir;
        let writes = AccessFs::from_all(VERSION) & !(reads | AccessFs::Execute);
        let handled = if matches!(wanted.reading, Reading::Unbound) { writes } else { writes | reads };
        let created = Ruleset::default()
            .handle_access(handled)
            .and_then(|set| set.scope(Scope::from_all(SCOPES)))
            .and_then(Ruleset::create)
            .map_err(refused)?;
        let mut rules = Adding { set: created, failed: None };
        let protected = wanted.protected.iter().map(|place| &place.path);
        let out: Vec<PathBuf> = protected.chain(wanted.hidden).cloned().collect();
        for root in wanted.roots {
            let below: Vec<PathBuf> =
                out.iter().filter(|path| path.starts_with(root) && *path != root).cloned().collect();
            rules.all_but(root, &below, handled);
        }
        for device in DEVICES {
            rules.add(
                Path::new(device),
                handled
                    & (AccessFs::WriteFile | AccessFs::Truncate | AccessFs::ReadFile | AccessFs::IoctlDev),
            );
        }
        match wanted.reading {
            Reading::Unbound => {}
            Reading::AllBut => rules.all_but(Path::new("/"), wanted.hidden, reads),
            Reading::Only(paths) => {
                let paths = paths.iter().filter_map(|path| path.canonicalize().ok());
                paths.for_each(|path| rules.all_but(&path, wanted.hidden, reads));
            }
        }
        let Adding { set, failed } = rules;
        if let Some(missing) = failed {
            return Err(missing);
        }
        let set: Option<OwnedFd> = set.into();
        let set = set.ok_or_else(|| Missing::Landlock("the kernel enforces nothing of it".to_owned()))?;
        Ok(Rules { set, has_shm: wanted.has_shm })
    }

    /// From here on they hold.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        // SAFETY: system calls; the structure is as the kernel defines it.
        unsafe {
            if self.has_shm {
                let shm =
                    libc::open(c"/dev/shm".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
                if shm < 0 {
                    return Err(last());
                }
                let rule = Below { access: OF_SHM, folder: shm };
                const PATH_BENEATH: libc::c_int = 1;
                let set = self.set.as_raw_fd();
                let rule = &raw const rule;
                let added = libc::syscall(libc::SYS_landlock_add_rule, set, PATH_BENEATH, rule, 0);
                done(added as i64)?;
                libc::close(shm);
            }
            done(libc::syscall(libc::SYS_landlock_restrict_self, self.set.as_raw_fd(), 0) as i64)
        }
    }
}

/// Writing to files, making and removing them: what every version of Landlock knows.
const OF_SHM: u64 = (1 << 1) | (1 << 5) | (1 << 8) | (1 << 4) | (1 << 7);

/// As the kernel defines it.
#[repr(C, packed)]
struct Below {
    access: u64,
    folder: i32,
}

struct Adding {
    set: RulesetCreated,
    failed: Option<Missing>,
}

impl Adding {
    /// Allows it all below a path but the ones left out and, while there are such, the folders on the way to them.
    fn all_but(&mut self, path: &Path, left_out: &[PathBuf], access: BitFlags<AccessFs>) {
        if left_out.iter().any(|out| path.starts_with(out)) {
            return;
        }
        if !left_out.iter().any(|out| out.starts_with(path)) {
            return self.add(path, access);
        }
        let Ok(entries) = std::fs::read_dir(path) else { return };
        for (number, entry) in entries.flatten().enumerate() {
            if number == MOST {
                self.failed = Some(Missing::path(path, format!("it has more than {MOST} names")));
            }
            // What a link leads to is allowed or not at its own place.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.all_but(&entry.path(), left_out, access);
            }
        }
    }

    /// A path that is gone, or that we may not look at, gets no rule and so is closed.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        let Ok(opened) = PathFd::new(path) else { return };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
        if self.failed.is_some() || access.is_empty() {
            return;
        }
        let set = &mut self.set;
        if let Err(error) = set.add_rule(PathBeneath::new(opened, access)) {
            self.failed = Some(refused(error));
        }
    }
}

fn refused(error: landlock::RulesetError) -> Missing {
    Missing::Landlock(error.to_string())
}
