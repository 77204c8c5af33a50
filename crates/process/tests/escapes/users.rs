//! Has a test run as an ordinary user, and where no namespaces are to be had.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A user without rights.
const NOBODY: u32 = 65534;

/// Says to the test that it runs where it was sent.
const THERE: &str = "CONVOKE_TEST_SENT";

/// Runs a test as an ordinary user.
pub fn ordinary(test: &str, body: impl FnOnce()) {
    if !rustix::process::geteuid().is_root() {
        return body();
    }
    again(test, |command| {
        command.uid(NOBODY).gid(NOBODY);
    });
}

/// Runs a test as an ordinary user who can make no namespace.
pub fn without_namespaces(test: &str, body: impl FnOnce()) {
    if std::env::var_os(THERE).is_some() {
        assert!(convoke_sandbox::means().namespaces().is_err(), "there are namespaces");
        return body();
    }
    again(test, |command| {
        // SAFETY: system calls and writes to files of the kernel, before the exec.
        unsafe { command.pre_exec(closed) };
    });
}

fn again(test: &str, change: impl FnOnce(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(THERE, "1")
        .env("TMPDIR", "/tmp")
        .current_dir("/");
    change(&mut command);
    assert!(command.status().unwrap().success(), "{test} failed as another user");
}

/// In a user namespace of its own, which may have none below it.
fn closed() -> io::Result<()> {
    // SAFETY: system calls without pointers, in a process with one thread.
    unsafe {
        if libc::geteuid() == 0 {
            libc::setgroups(0, std::ptr::null());
            libc::setgid(NOBODY);
            libc::setuid(NOBODY);
        }
        let (user, group) = (libc::geteuid(), libc::getegid());
        libc::prctl(libc::PR_SET_DUMPABLE, 1);
        if libc::unshare(libc::CLONE_NEWUSER) == -1 {
            return Err(io::Error::last_os_error());
        }
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        std::fs::write("/proc/sys/user/max_user_namespaces", "0")
    }
}
