//! Reading what is hidden.

use crate::{Attempt, Outcome, call};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

pub const ALL: &[Attempt] = &[
    ("read_state", |s| fs::read(s.path("state").join("journal")).map(drop)),
    ("list_state", |s| {
        let names = fs::read_dir(s.path("state"))?.count();
        if names > 0 { Ok(()) } else { Err(io::Error::other("it is empty")) }
    }),
    ("write_state", |s| fs::write(s.path("state").join("inbox"), "x")),
    ("read_state_by_own_root", |s| fs::read(format!("/proc/self/root{}/journal", s.text("state"))).map(drop)),
    ("read_state_by_anothers_root", |s| {
        fs::read(format!("/proc/{}/root{}/journal", s.text("victim"), s.text("state"))).map(drop)
    }),
    ("read_state_by_the_engines_root", |s| {
        fs::read(format!("/proc/{}/root{}/journal", s.text("engine"), s.text("state"))).map(drop)
    }),
    ("read_state_through_a_link", |s| {
        symlink(s.path("state"), s.path("root").join("link"))?;
        fs::read(s.path("root").join("link/journal")).map(drop)
    }),
    ("read_state_by_a_hard_link", |s| {
        fs::hard_link(s.path("state").join("journal"), s.path("root").join("link"))?;
        fs::read(s.path("root").join("link")).map(drop)
    }),
    ("move_state", |s| {
        fs::rename(s.path("state"), s.path("root").join("state"))?;
        fs::read(s.path("root").join("state/journal")).map(drop)
    }),
    ("read_key", |s| fs::read(s.path("home").join(".ssh/id")).map(drop)),
    ("read_secret_file", |s| some(&fs::read(s.path("home").join(".netrc"))?)),
    ("read_key_of_a_linked_home", |s| {
        std::env::set_current_dir(s.path("home"))?;
        fs::read("./.ssh/../.ssh/id").map(drop)
    }),
    ("copy_out_of_anothers_folder", |s| {
        fs::read(format!("/proc/{}/cwd/../home/.ssh/id", s.text("victim"))).map(drop)
    }),
    ("environment_of_another", |s| some(&fs::read(format!("/proc/{}/environ", s.text("victim")))?)),
    ("memory_of_another", |s| fs::File::open(format!("/proc/{}/mem", s.text("victim"))).map(drop)),
    ("maps_of_another", |s| some(&fs::read(format!("/proc/{}/maps", s.text("victim")))?)),
    ("descriptor_of_another", |s| fs::read(format!("/proc/{}/fd/0", s.text("victim"))).map(drop)),
    ("memory_of_the_supervisor", |_| {
        // SAFETY: a system call without arguments.
        fs::File::open(format!("/proc/{}/mem", unsafe { libc::getppid() })).map(drop)
    }),
    ("library_before_all_others", |_| given("LD_PRELOAD")),
    ("agent_of_keys", |_| given("SSH_AUTH_SOCK")),
    ("inherited_descriptors", |_| {
        let held = (3..1024).filter(|number| {
            // SAFETY: a system call without pointers.
            call(unsafe { libc::fcntl(*number, libc::F_GETFD) }).is_ok()
        });
        match held.count() {
            0 => Err(io::Error::other("none")),
            _ => Ok(()),
        }
    }),
];

fn some(bytes: &[u8]) -> Outcome {
    if bytes.is_empty() { Err(io::Error::other("it is empty")) } else { Ok(()) }
}

fn given(name: &str) -> Outcome {
    std::env::var(name).map(drop).map_err(io::Error::other)
}
