//! Changing what the process is, or asking the kernel for more.

use crate::{Attempt, Outcome, allowed, call};
use std::fs;
use std::io;
use std::ptr;

pub const ALL: &[Attempt] = &[
    ("mount", |s| {
        let root = crate::text(&s.path("root"));
        let none = ptr::null();
        // SAFETY: texts that end with a NUL.
        call(unsafe { libc::mount(c"tmpfs".as_ptr(), root.as_ptr(), c"tmpfs".as_ptr(), 0, none) }).map(drop)
    }),
    ("unmount", |s| {
        let state = crate::text(&s.path("state"));
        // SAFETY: as above.
        call(unsafe { libc::umount2(state.as_ptr(), libc::MNT_DETACH) }).map(drop)
    }),
    ("remount", |_| {
        let (none, flags) = (ptr::null(), libc::MS_REMOUNT | libc::MS_BIND);
        // SAFETY: as above.
        call(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) }).map(drop)
    }),
    ("copy_tree", |_| {
        let flags = libc::OPEN_TREE_CLONE;
        // SAFETY: as above.
        call(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, c"/".as_ptr(), flags) }).map(drop)
    }),
    ("pivot_root", |s| {
        let root = crate::text(&s.path("root"));
        // SAFETY: as above.
        call(unsafe { libc::syscall(libc::SYS_pivot_root, root.as_ptr(), root.as_ptr()) }).map(drop)
    }),
    // SAFETY: as above.
    ("change_root", |s| call(unsafe { libc::chroot(crate::text(&s.path("root")).as_ptr()) }).map(drop)),
    ("new_user", |_| unshare(libc::CLONE_NEWUSER)),
    ("new_user_and_mounts", |_| unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)),
    ("new_network", |_| unshare(libc::CLONE_NEWNET)),
    ("child_as_new_user", |_| {
        let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
        // SAFETY: a fork; the child ends at once.
        unsafe {
            match call(libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0))? {
                0 => libc::_exit(0),
                _ => Ok(()),
            }
        }
    }),
    ("child_as_new_user_by_the_newer_call", |_| {
        let mut wanted = [0u64; 11];
        (wanted[0], wanted[4]) = (libc::CLONE_NEWUSER as u64, libc::SIGCHLD as u64);
        // SAFETY: as above; the structure has the kernel's first size.
        unsafe {
            match call(libc::syscall(libc::SYS_clone3, wanted.as_ptr(), 64))? {
                0 => libc::_exit(0),
                _ => Ok(()),
            }
        }
    }),
    ("add_key", |_| {
        let (kind, name) = (c"user".as_ptr(), c"x".as_ptr());
        // SAFETY: the value is as long as is said; -2 is the process's own ring.
        call(unsafe { libc::syscall(libc::SYS_add_key, kind, name, b"x".as_ptr(), 1, -2) }).map(drop)
    }),
    // SAFETY: a system call without pointers: the number of the session's ring.
    ("ring_of_keys", |_| call(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) }).map(drop)),
    ("program_in_the_kernel", |_| {
        let attributes = [0u64; 16];
        // SAFETY: the structure is as long as is said.
        allowed(unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_ptr(), 128) }, libc::EINVAL)
    }),
    ("performance_events", |_| {
        let mut attributes = [0u64; 16];
        attributes[0] = 1 | (128 << 32);
        // SAFETY: as above; of the process itself, in user space alone.
        attributes[5] = (1 << 5) | (1 << 6);
        call(unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) }).map(drop)
    }),
    // SAFETY: a system call without pointers, for user space alone.
    ("page_faults", |_| call(unsafe { libc::syscall(libc::SYS_userfaultfd, 1) }).map(drop)),
    ("program_without_a_file", |_| {
        use std::os::fd::FromRawFd;
        // SAFETY: a text that ends with a NUL; the descriptor is new.
        let mut file = unsafe { fs::File::from_raw_fd(call(libc::memfd_create(c"x".as_ptr(), 0))? as i32) };
        io::copy(&mut fs::File::open("/bin/true")?, &mut file)?;
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        std::process::Command::new(path).status().map(drop)
    }),
    ("another_kernel", |_| {
        // SAFETY: nothing is loaded by no segment.
        call(unsafe { libc::syscall(libc::SYS_kexec_load, 0, 0, 0, 0) }).map(drop)
    }),
    ("typed_keys", |_| {
        // SAFETY: one byte; without a terminal the kernel says so once it is asked.
        allowed(unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) }.into(), libc::ENOTTY)
    }),
    ("console", |_| {
        // SAFETY: as above.
        allowed(unsafe { libc::ioctl(0, libc::TIOCLINUX, c"x".as_ptr()) }.into(), libc::ENOTTY)
    }),
    ("gain_privileges", |_| match status("NoNewPrivs:")?.trim() {
        "0" => Ok(()),
        _ => Err(io::Error::other("no program gains any")),
    }),
    ("bounding_set", |_| match status("CapBnd:")?.trim().trim_start_matches('0') {
        "" => Err(io::Error::other("it is empty")),
        _ => Ok(()),
    }),
    ("become_root", |_| {
        // SAFETY: a system call without pointers.
        call(unsafe { libc::setuid(0) }).map(drop)
    }),
    ("program_of_root", |_| {
        let output = std::process::Command::new("sudo").args(["-n", "id", "-u"]).output()?;
        if output.stdout.starts_with(b"0") { Ok(()) } else { Err(io::Error::other("it did not")) }
    }),
    ("setting_of_the_kernel", |_| {
        fs::OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern").map(drop)
    }),
    ("file_by_handle", |_| {
        let handle = [8u32, 1, 2, 0];
        // SAFETY: the handle is as long as it says.
        let result =
            unsafe { libc::syscall(libc::SYS_open_by_handle_at, libc::AT_FDCWD, handle.as_ptr(), 0) };
        allowed(result, libc::ESTALE)
    }),
    ("unknown_call", |_| {
        // SAFETY: no such call exists; a kernel that has one is asked for nothing.
        allowed(unsafe { libc::syscall(900, 0, 0, 0) }, libc::EPERM)
    }),
];

fn unshare(flags: i32) -> Outcome {
    // SAFETY: a system call without pointers.
    call(unsafe { libc::unshare(flags) }).map(drop)
}

fn status(field: &str) -> io::Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    value.map(str::to_owned).ok_or_else(|| io::Error::other("the kernel does not say"))
}
