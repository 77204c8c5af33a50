//! The system calls that are left: memory, time, locks, the two streams, and the end.
//!
//! Every other one fails with `EPERM` instead of ending the process: what another version of the C library tries on the
//! way is no attack, and it gets nothing by it. Memory can be made neither executable nor shared with another process.

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};
use std::collections::BTreeMap;

/// Allowed whatever the arguments.
const ALLOWED: &[libc::c_long] = &[
    // The streams and the gauge. Nothing new can be opened, so descriptors are the three and the gauge's.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pread64,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Time and locks.
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_sched_yield,
    // Seeds of hash tables.
    libc::SYS_getrandom,
    // What a thread does when it begins, overflows and ends.
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Puts the filter on all threads of the process.
pub fn apply() -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // Private memory that cannot be executed.
    let private = masked(3, libc::MAP_SHARED as u64, 0)?;
    rules.insert(libc::SYS_mmap, vec![SeccompRule::new(vec![not_executable()?, private])?]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![not_executable()?])?]);
    // How a process aborts: a signal to itself, and to no other process.
    let id = u64::from(std::process::id());
    let myself = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, id)?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![myself])?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter =
        SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    apply_filter_all_threads(&program)
}

fn not_executable() -> Result<SeccompCondition, seccompiler::Error> {
    masked(2, libc::PROT_EXEC as u64, 0)
}

/// That an argument has exactly these of the masked bits.
fn masked(argument: u8, mask: u64, bits: u64) -> Result<SeccompCondition, seccompiler::Error> {
    let condition =
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), bits)?;
    Ok(condition)
}
