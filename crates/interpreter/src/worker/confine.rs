//! Takes away from this process what a program has no use for.
//!
//! Two walls for files and the network: seccomp, which leaves no system call that opens anything, and Landlock where the
//! kernel has it. Resource limits bound what is left. What cannot be enforced is written down; whether to go on is
//! decided by [`crate::Sandbox::holds`]. Nothing here can be taken back.

use super::memory::Gauge;
use super::seccomp;
use crate::limits::Limits;
use crate::sandbox::Sandbox;
use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io;

/// The newest version of Landlock that we ask for; an older kernel enforces what it knows of it.
const NEWEST: ABI = ABI::V9;

/// Room for the interpreter's own work beside the program's memory: messages, the dump of a state.
const HEADROOM: u64 = 64 * 1024 * 1024;

/// What can be done while there is one thread.
pub fn before_threads() -> Sandbox {
    let mut sandbox = Sandbox::default();
    note(&mut sandbox, "Landlock for all threads", is_alone());
    note(&mut sandbox, "descriptors", close_descriptors());
    note(&mut sandbox, "privileges", set(libc::PR_SET_NO_NEW_PRIVS, 1));
    note(&mut sandbox, "death with the host", set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong));
    // One arena for all threads: each other one reserves address space that the limit would count.
    #[cfg(target_env = "gnu")]
    // SAFETY: a setting of the allocator, made while there is one thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    sandbox
}

/// Closes the file system and TCP. Threads that are started later inherit it.
pub fn landlock(sandbox: &mut Sandbox) {
    match restrict() {
        Ok(version) => sandbox.landlock = Some(version),
        Err(cause) => sandbox.missing.push(format!("Landlock: {cause}")),
    }
}

/// What must wait until all threads are there: limits on processes count them, and the filter reaches all.
pub fn after_threads(sandbox: &mut Sandbox, limits: &Limits, gauge: &Gauge) {
    let limited = limit(limits, gauge);
    sandbox.limits = limited.is_ok();
    note(sandbox, "resource limits", limited);
    let filtered = seccomp::apply();
    sandbox.seccomp = filtered.is_ok();
    note(sandbox, "seccomp", filtered.map_err(io::Error::other));
}

fn note(sandbox: &mut Sandbox, what: &str, result: io::Result<()>) {
    if let Err(cause) = result {
        sandbox.missing.push(format!("{what}: {cause}"));
    }
}

/// Landlock binds the thread that asks for it and those it starts; seccomp binds all.
fn is_alone() -> io::Result<()> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads == 1 { Ok(()) } else { Err(io::Error::other(format!("there are {threads}"))) }
}

fn close_descriptors() -> io::Result<()> {
    // SAFETY: a system call without pointers; this process holds no descriptor beyond the three.
    done(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } as i64)
}

fn set(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these options take a number and no pointer.
    done(i64::from(unsafe { libc::prctl(option, value, 0, 0, 0) }))
}

fn done(result: i64) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Handles every access that the kernel knows and allows none.
fn restrict() -> Result<u32, String> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|it| it.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|it| it.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let status = ruleset.and_then(|it| it.restrict_self()).map_err(|error| error.to_string())?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Err("the kernel does not enforce it".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi as u32),
        _ => Err("the kernel has it not".into()),
    }
}

fn limit(limits: &Limits, gauge: &Gauge) -> io::Result<()> {
    let messages =
        limits.message_bytes.saturating_mul(4).saturating_add(limits.state_bytes.saturating_mul(4));
    let room = limits.memory_bytes.saturating_add(messages).saturating_add(HEADROOM);
    let seconds = limits.cpu_seconds.max(1);
    // The first bound is told by a signal that says why, the second by one that does not.
    setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds + 1) })?;
    let bounds = [
        (Resource::As, gauge.mapped()?.saturating_add(room)),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 0),
        (Resource::Nproc, 0),
        (Resource::Stack, 8 * 1024 * 1024),
    ];
    for (resource, bound) in bounds {
        setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })?;
    }
    Ok(())
}
