//! The sandbox of Linux: namespaces, mounts, Landlock, seccomp and resource limits.
//!
//! [`Prepared::new`] opens and builds everything in the engine. [`Prepared::enter`] runs between fork and exec, in a process that
//! shares memory with its supervisor: there are system calls there and nothing else, no lock, no allocation.
//!
//! | | full, with namespaces | full, without | trusted |
//! |---|---|---|---|
//! | writing | mounts read-only but the roots; Landlock | Landlock; no change of modes, owners, times | as the person |
//! | reading | hidden paths are covered by mounts | Landlock, by naming what is beside the hidden paths | hidden paths are covered |
//! | protected names | read-only mounts; absent folders are held, absent files put aside | Landlock, by naming what is beside them | as the first |
//! | network | a namespace of its own; seccomp | seccomp | as the person |
//! | signals, debugging | Landlock scopes (or seccomp), seccomp | the same | as the person |
//!
//! There is no namespace of process ids: the supervisor, which is outside, is the one that ends all, and marks, records and
//! exit codes go by the ids that the engine sees. What such a namespace would close is closed otherwise: signals by Landlock's
//! scope, memory and environment of others by Landlock's rule for `ptrace` and by seccomp. What stays is that names and command
//! lines of other processes can be read.

mod caps;
mod gate;
mod kept;
mod landlock;
mod limits;
mod mounts;
mod paths;
mod probe;
mod seccomp;
mod spaces;
mod stage;

pub use kept::Kept;
pub use probe::{Means, available, means};

use crate::confinement::{Confinement, Level, Network, Reading};
use crate::missing::Missing;
use crate::placeholder::Hold;
use crate::protected::places;
use crate::proxy::Hosts;
use gate::Gate;
use landlock::Rules;
use limits::Limits;
use mounts::{Mounts, Plan};
use seccomp::Program;
use spaces::Spaces;
use stage::Stage;
use std::io;
use std::path::{Path, PathBuf};

/// A confinement in the form that the kernel takes.
pub struct Prepared {
    level: Level,
    spaces: Option<Spaces>,
    mounts: Option<Mounts>,
    gate: Option<Gate>,
    limits: Limits,
    rules: Option<Rules>,
    program: Option<Program>,
    stage: Stage,
}

impl Prepared {
    /// Prepares a confinement for one command that starts in `folder`. What has to live as long as the command comes with it.
    pub fn new(confinement: &Confinement, folder: &Path) -> Result<(Prepared, Kept), Missing> {
        match confinement.level {
            Level::Full => full(confinement, folder),
            Level::Trusted => trusted(confinement, folder),
        }
    }

    /// What the command's process is to be cloned with.
    pub fn flags(&self) -> libc::c_int {
        self.spaces.as_ref().map_or(0, |spaces| spaces.flags)
    }

    /// Whether the command leads a session of its own, so that it has no terminal.
    pub fn own_session(&self) -> bool {
        self.level == Level::Full
    }

    /// Enters the sandbox; comes back with an error number if that cannot be. Nothing of it can be taken back.
    ///
    /// # Safety
    /// Runs in a process that was cloned with [`Prepared::flags`] and is given up if this fails.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        let at = &self.stage;
        // SAFETY: system calls with what was prepared; nothing is allocated.
        unsafe {
            let descriptors = Limits::make_room();
            if let Some(spaces) = &self.spaces {
                at.is(stage::USER, spaces.enter())?;
            }
            if let Some(mounts) = &self.mounts {
                at.is(stage::MOUNTS, mounts.enter())?;
            }
            if let Some(gate) = &self.gate {
                at.is(stage::NETWORK, gate.open())?;
            }
            if self.level == Level::Full {
                at.is(stage::PRIVILEGES, caps::give_up())?;
            }
            if let Some(rules) = &self.rules {
                at.is(stage::LANDLOCK, rules.enter())?;
            }
            // Late: nothing is opened from here on.
            at.is(stage::LIMITS, self.limits.enter(&descriptors))?;
            if let Some(program) = &self.program {
                at.is(stage::SECCOMP, program.enter())?;
            }
        }
        at.done();
        Ok(())
    }
}

fn full(confinement: &Confinement, folder: &Path) -> Result<(Prepared, Kept), Missing> {
    let means = means();
    let abi = means.landlock.clone().map_err(Missing::Landlock)?;
    means.seccomp.clone().map_err(Missing::Seccomp)?;
    let roots = paths::roots(&confinement.writable)?;
    let hidden = paths::hidden(&confinement.hidden);
    let places = places(&confinement.protected, &roots);
    let way = means.of_full();
    let spaces = way.clone().map(|way| Spaces::new(way, spaces_of(&confinement.network)));
    let (gate, proxy) = match &confinement.network {
        Network::Hosts(hosts) => {
            let hosts = Hosts::parse(hosts)?;
            if let Err(cause) = way.as_ref() {
                return Err(Missing::Namespaces(format!(
                    "{cause}; listed hosts need a network of their own"
                )));
            }
            let (gate, end) = Gate::new().map_err(|error| Missing::Namespaces(error.to_string()))?;
            (Some(gate), Some((end, hosts)))
        }
        Network::Closed | Network::Open => (None, None),
    };
    let is_mounted = spaces.is_ok();
    let mut kept = Kept::new(&confinement.bounds, proxy);
    let mounts = match is_mounted {
        true => {
            let mut plan = Plan::new(folder).read_only_but(&roots).hiding(&hidden, folder);
            for place in &places {
                plan.protect(place, &mut kept)?;
            }
            Some(plan.build()?)
        }
        false => None,
    };
    let rules = Rules::new(&landlock::Wanted {
        roots: &roots,
        reading: match (&confinement.reading, is_mounted) {
            (Reading::Only(paths), _) => landlock::Reading::Only(paths),
            (Reading::Everything, true) => landlock::Reading::Unbound,
            (Reading::Everything, false) => landlock::Reading::AllBut,
        },
        // Mounts cover what they hide, also below a root: a folder of which a part is left out could not be written to itself.
        hidden: if is_mounted { &[] } else { &hidden },
        protected: if is_mounted { &[] } else { &places },
        has_shm: mounts.as_ref().is_some_and(Mounts::has_shm),
    })?;
    let program = Program::full(&confinement.network, abi, is_mounted)?;
    let stage = Stage::new().map_err(|error| Missing::Namespaces(error.to_string()))?;
    kept.stage = Some(stage.clone());
    let prepared = Prepared {
        level: Level::Full,
        spaces: spaces.ok(),
        mounts,
        gate,
        limits: Limits::new(&confinement.bounds, true),
        rules: Some(rules),
        program: Some(program),
        stage,
    };
    Ok((prepared, kept))
}

fn spaces_of(network: &Network) -> libc::c_int {
    let always = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    if *network == Network::Open { always } else { always | libc::CLONE_NEWNET }
}

fn trusted(confinement: &Confinement, folder: &Path) -> Result<(Prepared, Kept), Missing> {
    let way = means().of_trusted().map_err(Missing::Namespaces)?;
    let mut kept = Kept::new(&confinement.bounds, None);
    let hidden = paths::hidden(&confinement.hidden);
    let mut plan = Plan::new(folder).hiding(&hidden, folder);
    for name in confinement.protected.iter().filter(|name| name.starts_with('/')) {
        let path = PathBuf::from(name.trim_end_matches('/'));
        if path.symlink_metadata().is_ok() {
            plan.read_only(path);
        }
    }
    for place in places(&relative(&confinement.protected), &[folder.to_owned()]) {
        if place.path.symlink_metadata().is_ok() {
            plan.protect(&place, &mut kept)?;
        }
    }
    let stage = Stage::new().map_err(|error| Missing::Namespaces(error.to_string()))?;
    kept.stage = Some(stage.clone());
    let prepared = Prepared {
        level: Level::Trusted,
        spaces: Some(Spaces::new(way, libc::CLONE_NEWNS)),
        mounts: Some(plan.build()?),
        gate: None,
        limits: Limits::new(&confinement.bounds, false),
        rules: None,
        program: None,
        stage,
    };
    Ok((prepared, kept))
}

fn relative(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !name.starts_with('/')).cloned().collect()
}

impl Plan {
    /// Keeps a name from being written to: what is there is read-only, a folder that is not there is held by an empty one, a
    /// file that is not there is put aside when the command has ended.
    fn protect(&mut self, place: &crate::protected::Place, kept: &mut Kept) -> Result<(), Missing> {
        let below = place.path.strip_prefix(&place.root).unwrap_or(&place.path);
        let mut at = place.root.clone();
        let mut parts = below.components().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let is_last = parts.peek().is_none();
            match at.symlink_metadata() {
                // A link could be replaced or lead elsewhere: the name is held by its folder.
                Ok(found) if found.is_symlink() => {
                    self.read_only_link(&at, &place.root, kept)?;
                    return Ok(());
                }
                // What is there may stand in for another command: it stays as long as this one relies on it.
                Ok(found) if found.is_dir() => {
                    let hold = Hold::take(&at).ok();
                    let stands_in = hold.as_ref().is_some_and(Hold::stands_in);
                    kept.holds.extend(hold);
                    if is_last || stands_in {
                        self.read_only(at.clone());
                        return Ok(());
                    }
                    self.pin(at.clone());
                }
                // A file where a folder would have to be: below it there is no name.
                Ok(_) => {
                    self.read_only(at.clone());
                    return Ok(());
                }
                Err(_) if is_last && !place.is_folder => {
                    kept.swept.push(at.clone());
                }
                Err(_) => {
                    let hold = Hold::take(&at).map_err(|error| Missing::path(&at, error))?;
                    kept.holds.push(hold);
                    self.read_only(at.clone());
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What a link leads to is read-only where it is below a root; the link itself is put back if it was changed.
    fn read_only_link(&mut self, link: &Path, root: &Path, kept: &mut Kept) -> Result<(), Missing> {
        if let Ok(target) = link.canonicalize()
            && target.starts_with(root)
        {
            self.read_only(target);
        }
        let target = std::fs::read_link(link).map_err(|error| Missing::path(link, error))?;
        kept.links.push((link.to_owned(), target));
        Ok(())
    }
}

/// The last error of a system call.
fn last() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A system call's outcome as a result.
fn done(result: impl Into<i64>) -> Result<(), i32> {
    if result.into() < 0 { Err(last()) } else { Ok(()) }
}
