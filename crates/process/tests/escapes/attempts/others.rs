//! Acting on other processes.

use crate::{Attempt, Outcome, Scene, allowed, call};
use std::fs::OpenOptions;
use std::io::Write;
use std::mem;

pub const ALL: &[Attempt] = &[
    ("signal_engine", |s| signal(s.number("engine"), 0)),
    ("signal_victim", |s| signal(s.number("victim"), libc::SIGTERM)),
    // SAFETY: a system call without arguments.
    ("signal_supervisor", |_| signal(unsafe { libc::getppid() }, libc::SIGKILL)),
    ("signal_group", |s| signal(-s.number("victim"), libc::SIGTERM)),
    ("signal_thread", |s| {
        let pid = s.number("victim");
        // SAFETY: a system call without pointers.
        call(unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, libc::SIGTERM) }).map(drop)
    }),
    ("signal_by_descriptor", |s| {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: as above; no information is given.
        unsafe {
            let victim = call(libc::syscall(libc::SYS_pidfd_open, s.number("victim"), 0))?;
            call(libc::syscall(libc::SYS_pidfd_send_signal, victim, libc::SIGTERM, none, 0)).map(drop)
        }
    }),
    ("signal_with_a_value", |s| {
        let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
        // SAFETY: as above.
        call(unsafe { libc::sigqueue(s.number("victim"), libc::SIGTERM, value) }).map(drop)
    }),
    ("signal_all", |_| {
        // The kernel calls it a success whoever was reached; the test looks whether anyone was.
        signal(-1, libc::SIGTERM)?;
        Err(std::io::Error::other("sent to nobody, or to all"))
    }),
    ("attach", |s| ptrace(libc::PTRACE_ATTACH, s.number("victim"))),
    ("seize", |s| ptrace(libc::PTRACE_SEIZE, s.number("victim"))),
    // SAFETY: a system call without arguments.
    ("seize_supervisor", |_| ptrace(libc::PTRACE_SEIZE, unsafe { libc::getppid() })),
    ("read_memory", |s| memory(libc::SYS_process_vm_readv, s)),
    ("write_memory", |s| memory(libc::SYS_process_vm_writev, s)),
    ("write_memory_as_a_file", |s| {
        OpenOptions::new().write(true).open(format!("/proc/{}/mem", s.text("victim"))).map(drop)
    }),
    ("take_descriptor", |s| {
        // SAFETY: as above.
        unsafe {
            let victim = call(libc::syscall(libc::SYS_pidfd_open, s.number("victim"), 0))?;
            call(libc::syscall(libc::SYS_pidfd_getfd, victim, 0, 0)).map(drop)
        }
    }),
    ("limit_engine", |s| {
        let limit = libc::rlimit64 { rlim_cur: 0, rlim_max: libc::RLIM64_INFINITY };
        // SAFETY: the limit lives here.
        let set = |limit: &libc::rlimit64| unsafe {
            libc::prlimit64(s.number("victim"), libc::RLIMIT_CORE, limit, std::ptr::null_mut())
        };
        let mut before = limit;
        // SAFETY: the limit is filled.
        call(unsafe {
            libc::prlimit64(s.number("victim"), libc::RLIMIT_CORE, std::ptr::null(), &mut before)
        })?;
        call(set(&libc::rlimit64 { rlim_cur: 0, ..before })).map(drop)
    }),
    ("priority_of_another", |s| {
        // SAFETY: a system call without pointers.
        call(unsafe { libc::setpriority(libc::PRIO_PROCESS, s.number("victim") as u32, 19) }).map(drop)
    }),
    ("processors_of_another", |s| {
        // SAFETY: the set lives here.
        unsafe {
            let mut set = mem::zeroed::<libc::cpu_set_t>();
            libc::CPU_SET(0, &mut set);
            call(libc::sched_setaffinity(s.number("victim"), size_of::<libc::cpu_set_t>(), &set)).map(drop)
        }
    }),
    ("make_another_the_first_to_go", |s| {
        let path = format!("/proc/{}/oom_score_adj", s.text("victim"));
        OpenOptions::new().write(true).open(path)?.write_all(b"1000")
    }),
    ("join_anothers_namespaces", |s| {
        // SAFETY: as above.
        unsafe {
            let victim = call(libc::syscall(libc::SYS_pidfd_open, s.number("victim"), 0))?;
            call(libc::setns(victim as i32, libc::CLONE_NEWNS)).map(drop)
        }
    }),
];

fn signal(pid: i32, signal: i32) -> Outcome {
    // SAFETY: a system call without pointers.
    call(unsafe { libc::kill(pid, signal) }).map(drop)
}

fn ptrace(request: libc::c_uint, pid: i32) -> Outcome {
    // SAFETY: neither request has a pointer.
    call(unsafe { libc::ptrace(request, pid, 0, 0) }).map(drop)
}

/// At an address where there is nothing: what is allowed fails for that.
fn memory(number: libc::c_long, scene: &Scene) -> Outcome {
    let mut byte = 0u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(16), iov_len: 1 };
    let pid = scene.number("victim");
    let one = 1usize;
    // SAFETY: the local piece is as long as is said.
    let result = unsafe { libc::syscall(number, pid, &raw const local, one, &raw const remote, one, 0usize) };
    allowed(result, libc::EFAULT)
}
