//! What the machine has and allows, tried once.

use super::mounts::try_mount;
use super::spaces::Spaces;
use crate::missing::Missing;
use std::io;
use std::sync::OnceLock;

/// How namespaces are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In a user namespace of one's own.
    User,
    /// By the privileges of root.
    Root,
}

/// What the machine has for sandboxes.
#[derive(Debug, Clone)]
pub struct Means {
    /// The version of Landlock.
    pub landlock: Result<u32, String>,
    /// Seccomp filters.
    pub seccomp: Result<(), String>,
}

/// What this machine has. Namespaces are tried when they are first asked for: trying takes a process.
pub fn means() -> &'static Means {
    static MEANS: OnceLock<Means> = OnceLock::new();
    MEANS.get_or_init(|| Means { landlock: landlock(), seccomp: seccomp() })
}

/// Whether a command of an agent can be confined here, or what is missing.
pub fn available() -> Result<(), Missing> {
    means().landlock.clone().map_err(Missing::Landlock)?;
    means().seccomp.clone().map_err(Missing::Seccomp)
}

impl Means {
    /// Whether an agent's command gets namespaces, or why not.
    pub fn namespaces(&self) -> Result<(), String> {
        self.of_full().map(|_| ())
    }

    /// How an agent's command gets namespaces.
    pub(super) fn of_full(&self) -> Result<Way, String> {
        static FULL: OnceLock<Result<Way, String>> = OnceLock::new();
        const WANTED: libc::c_int = libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
        let by = |way| tried(way, WANTED).map(|()| way);
        FULL.get_or_init(|| by(Way::User).or_else(|cause| if is_root() { by(Way::Root) } else { Err(cause) }))
            .clone()
    }

    /// How a trusted command gets them. Root stays root: in a user namespace it could not act for others any more.
    pub(super) fn of_trusted(&self) -> Result<Way, String> {
        static TRUSTED: OnceLock<Result<Way, String>> = OnceLock::new();
        let way = if is_root() { Way::Root } else { Way::User };
        TRUSTED.get_or_init(|| tried(way, libc::CLONE_NEWNS).map(|()| way)).clone()
    }

    /// Whether a trusted command can be kept from what is hidden, or what is missing.
    pub fn trusted(&self) -> Result<(), Missing> {
        self.of_trusted().map(|_| ()).map_err(Missing::Namespaces)
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn landlock() -> Result<u32, String> {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: without an attribute the call gives the version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0 as libc::size_t, VERSION)
    };
    match version {
        2.. => Ok(version as u32),
        1 => Err("its version is 1".to_owned()),
        _ => Err(io::Error::last_os_error().to_string()),
    }
}

fn seccomp() -> Result<(), String> {
    // SAFETY: asks without a pointer whether an action is known.
    let known = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    if known >= 0 { Ok(()) } else { Err(io::Error::last_os_error().to_string()) }
}

/// Has a child enter namespaces and mount something there.
fn tried(way: Way, wanted: libc::c_int) -> Result<(), String> {
    let spaces = Spaces::new(way, wanted);
    // SAFETY: a fork; the child makes system calls and ends.
    unsafe {
        let flags = libc::c_long::from(spaces.flags | libc::SIGCHLD);
        let none = 0 as libc::c_long;
        let child = libc::syscall(libc::SYS_clone, flags, none, none, none, none) as libc::pid_t;
        match child {
            -1 => Err(io::Error::last_os_error().to_string()),
            0 => libc::_exit(spaces.enter().and_then(|()| try_mount()).err().unwrap_or(0)),
            child => {
                let mut status = 0;
                while libc::waitpid(child, &mut status, 0) == -1
                    && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
                {}
                match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
                    (true, 0) => Ok(()),
                    (true, error) => Err(io::Error::from_raw_os_error(error).to_string()),
                    (false, _) => Err("the attempt was ended".to_owned()),
                }
            }
        }
    }
}
