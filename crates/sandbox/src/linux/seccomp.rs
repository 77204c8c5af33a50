//! System calls that an agent's command does not have.
//!
//! A refused call fails with `EPERM`, one that programs know how to do without with `ENOSYS`; neither ends the program. Calls that
//! are newer than this list are unknown to the command, whatever the kernel has. On x86-64 that covers the numbers of the x32
//! interface too, and a program of another architecture is ended.

use super::done;
use crate::confinement::Network;
use crate::missing::Missing;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

/// Refused whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_process_mrelease,
    // The file system as a whole.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // The kernel's own affairs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
    libc::SYS_personality,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Keys.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // A queue of calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Queues that other processes of the same user can open.
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Modes, owners, times and attributes of files: Landlock does not know them, so where no mount is read-only they cannot be
/// changed at all.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_FCHMODAT2,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];
#[cfg(target_arch = "x86_64")]
const METADATA_HERE: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const METADATA_HERE: &[libc::c_long] = &[];

const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// Calls that name a process or thread; 0 is the caller's own.
const OF_OTHERS: &[(libc::c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Signals, where Landlock cannot keep them inside.
const SIGNALS: &[libc::c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

/// The same on every architecture; the newest that this list has been compared with.
const NEWEST: u32 = 469;
const CLONE3: u32 = libc::SYS_clone3 as u32;
const MEMFD: u32 = libc::SYS_memfd_create as u32;
const MEMFD_SECRET: u32 = 447;

/// The version of Landlock from which on signals and abstract sockets are kept inside, and from which on cutting off files is.
const SCOPES: u32 = 6;
const TRUNCATE: u32 = 3;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A filter.
pub struct Program(BpfProgram);

impl Program {
    /// For an agent's command.
    pub fn full(network: &Network, landlock: u32, is_mounted: bool) -> Result<Program, Missing> {
        build(network, landlock, is_mounted)
            .map(Program)
            .map_err(|error: seccompiler::BackendError| Missing::Seccomp(error.to_string()))
    }

    /// From here on it holds.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        const SET_MODE_FILTER: libc::c_int = 1;
        let program =
            libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut().cast() };
        // SAFETY: the program is as long as is said; the two crates' instructions are the kernel's.
        done(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const program) as i64 })
    }
}

fn build(
    network: &Network,
    landlock: u32,
    is_mounted: bool,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = BTreeMap::new();
    let mut refuse = |calls: &[libc::c_long]| {
        for call in calls {
            rules.insert(*call, Vec::new());
        }
    };
    refuse(REFUSED);
    refuse(REFUSED_HERE);
    if !is_mounted {
        refuse(METADATA);
        refuse(METADATA_HERE);
    }
    if landlock < SCOPES {
        refuse(SIGNALS);
    }
    if landlock < TRUNCATE {
        refuse(&[libc::SYS_truncate]);
    }
    for (call, argument) in OF_OTHERS {
        rules.insert(*call, vec![SeccompRule::new(vec![word(*argument, Is::Ne, 0)?])?]);
    }
    // A new namespace would bring privileges in it.
    let namespaces = (libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET) as u64;
    let each = (0..32).map(|bit| 1u64 << bit).filter(|bit| namespaces & bit != 0);
    let in_new: Result<Vec<_>, _> =
        each.map(|bit| SeccompRule::new(vec![word(0, Is::MaskedEq(bit), bit)?])).collect();
    rules.insert(libc::SYS_clone, in_new?);
    // Keys typed into a terminal, or pasted.
    let typed = [libc::TIOCSTI, libc::TIOCLINUX].into_iter();
    let typed: Result<Vec<_>, _> =
        typed.map(|request| SeccompRule::new(vec![word(1, Is::Eq, request)?])).collect();
    rules.insert(libc::SYS_ioctl, typed?);
    sockets(&mut rules, network)?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    let main: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?.try_into()?;
    Ok(unknown().into_iter().chain(main).collect())
}

/// A pair of connected sockets is a pipe; a pair without a connection could still be sent elsewhere from.
fn sockets(rules: &mut Rules, network: &Network) -> Result<(), seccompiler::BackendError> {
    let kind = |wanted: libc::c_int| word(1, Is::MaskedEq(0xf), wanted as u64);
    let unconnected = |kind: Condition| SeccompRule::new(vec![kind]);
    let pairs = vec![
        SeccompRule::new(vec![word(0, Is::Ne, libc::AF_UNIX as u64)?])?,
        unconnected(kind(libc::SOCK_DGRAM)?)?,
        unconnected(kind(libc::SOCK_RAW)?)?,
    ];
    rules.insert(libc::SYS_socketpair, pairs);
    let of_family = |is: Is, family: libc::c_int| word(0, is, family as u64);
    let refused = match network {
        Network::Closed => Vec::new(),
        // In a network of its own in which there is nothing but the way to the proxy.
        Network::Hosts(_) => vec![
            SeccompRule::new(vec![of_family(Is::Ne, libc::AF_INET)?, of_family(Is::Ne, libc::AF_INET6)?])?,
            unconnected(kind(libc::SOCK_DGRAM)?)?,
            unconnected(kind(libc::SOCK_RAW)?)?,
        ],
        Network::Open => vec![
            SeccompRule::new(vec![of_family(Is::Ne, libc::AF_INET)?, of_family(Is::Ne, libc::AF_INET6)?])?,
            unconnected(kind(libc::SOCK_RAW)?)?,
        ],
    };
    rules.insert(libc::SYS_socket, refused);
    if *network == Network::Closed {
        for call in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4]
        {
            rules.insert(call, Vec::new());
        }
    }
    Ok(())
}

fn word(argument: u8, is: Is, value: u64) -> Result<Condition, seccompiler::BackendError> {
    Condition::new(argument, Length::Dword, is, value)
}

/// Says `ENOSYS` to what is newer than the list, and to calls whose arguments a filter cannot see (`clone3`) or that programs
/// do without (files that lie in no folder).
fn unknown() -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = 0x20;
    const GREATER: u16 = 0x25;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let to_refusal = |code, k, away| sock_filter { code, jt: away, jf: 0, k };
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        to_refusal(GREATER, NEWEST, 4),
        to_refusal(EQUAL, CLONE3, 3),
        to_refusal(EQUAL, MEMFD, 2),
        to_refusal(EQUAL, MEMFD_SECRET, 1),
        sock_filter { code: 0x05, jt: 0, jf: 0, k: 1 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: 0x0005_0000 | libc::ENOSYS as u32 },
    ]
}
