//! Writing outside the roots.

use crate::{Attempt, Outcome, Scene, call, text};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

pub const ALL: &[Attempt] = &[
    ("write_outside", |s| fs::write(s.path("outside").join("new"), "x")),
    ("overwrite_outside", |s| fs::write(s.path("outside").join("victim"), "x")),
    ("append_outside", |s| {
        OpenOptions::new().append(true).open(s.path("outside").join("victim"))?.write_all(b"x")
    }),
    ("truncate_outside", |s| {
        // SAFETY: a system call with a text that ends with a NUL.
        call(unsafe { libc::truncate(text(&s.path("outside").join("victim")).as_ptr(), 0) }).map(drop)
    }),
    ("delete_outside", |s| fs::remove_file(s.path("outside").join("victim"))),
    ("remove_folder_outside", |s| fs::remove_dir(s.path("outside").join("empty"))),
    ("make_folder_outside", |s| fs::create_dir(s.path("outside").join("made"))),
    ("make_fifo_outside", |s| {
        // SAFETY: as above.
        call(unsafe { libc::mkfifo(text(&s.path("outside").join("fifo")).as_ptr(), 0o600) }).map(drop)
    }),
    ("make_link_outside", |s| symlink("/etc", s.path("outside").join("link"))),
    ("rename_out", |s| {
        fs::write(s.path("root").join("mine"), "x")?;
        fs::rename(s.path("root").join("mine"), s.path("outside").join("mine"))
    }),
    ("rename_in", |s| fs::rename(s.path("outside").join("victim"), s.path("root").join("taken"))),
    ("rename_folder_in", |s| fs::rename(s.path("outside").join("empty"), s.path("root").join("taken"))),
    ("exchange", |s| {
        fs::write(s.path("root").join("mine"), "x")?;
        let (mine, victim) = (text(&s.path("root").join("mine")), text(&s.path("outside").join("victim")));
        let (here, exchange) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
        // SAFETY: as above.
        call(unsafe { libc::renameat2(here, mine.as_ptr(), here, victim.as_ptr(), exchange) }).map(drop)
    }),
    ("hard_link_in", |s| {
        fs::hard_link(s.path("outside").join("victim"), s.path("root").join("link"))?;
        fs::write(s.path("root").join("link"), "x")
    }),
    ("hard_link_out", |s| {
        fs::write(s.path("root").join("mine"), "x")?;
        fs::hard_link(s.path("root").join("mine"), s.path("outside").join("theirs"))
    }),
    ("through_a_link_to_a_file", |s| {
        symlink(s.path("outside").join("victim"), s.path("root").join("link"))?;
        fs::write(s.path("root").join("link"), "x")
    }),
    ("through_a_link_to_a_folder", |s| {
        symlink(s.path("outside"), s.path("root").join("link"))?;
        fs::write(s.path("root").join("link/new"), "x")
    }),
    ("through_parents", |s| fs::write(s.path("root").join("../outside/new"), "x")),
    ("through_own_root", |s| written(&format!("/proc/self/root{}/new", s.text("outside")))),
    ("through_anothers_root", |s| {
        written(&format!("/proc/{}/root{}/new", s.text("victim"), s.text("outside")))
    }),
    ("through_anothers_folder", |s| written(&format!("/proc/{}/cwd/new", s.text("victim")))),
    ("through_anothers_descriptor", |s| written(&format!("/proc/{}/fd/0", s.text("victim")))),
    ("from_the_folder_itself", |s| {
        std::env::set_current_dir(s.path("outside"))?;
        fs::write("new", "x")
    }),
    ("by_a_folders_descriptor", |s| {
        let folder = opened(&s.path("outside"), libc::O_PATH)?;
        let flags = libc::O_CREAT | libc::O_WRONLY;
        // SAFETY: as above.
        call(unsafe { libc::openat(folder.as_raw_fd(), c"new".as_ptr(), flags, 0o600) }).map(drop)
    }),
    ("by_a_descriptor_opened_anew", |s| {
        let file = opened(&s.path("outside").join("victim"), 0)?;
        written(&format!("/proc/self/fd/{}", file.as_raw_fd()))
    }),
    ("nameless_outside", |s| {
        let path = s.path("outside");
        OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(path)?.write_all(b"x")
    }),
    ("nameless_inside_named_outside", |s| {
        let file = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(s.path("root"))?;
        let (from, to) = (format!("/proc/self/fd/{}", file.as_raw_fd()), s.path("outside").join("named"));
        let (from, to) = (text(Path::new(&from)), text(&to));
        let here = libc::AT_FDCWD;
        // SAFETY: as above.
        call(unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) })
            .map(drop)
    }),
    ("mode_outside", |s| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(s.path("outside").join("victim"), fs::Permissions::from_mode(0o666))
    }),
    ("mode_by_descriptor", |s| {
        let file = opened(&s.path("outside").join("victim"), 0)?;
        // SAFETY: a system call without pointers.
        call(unsafe { libc::fchmod(file.as_raw_fd(), 0o666) }).map(drop)
    }),
    ("owner_outside", |s| {
        // SAFETY: as above.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        std::os::unix::fs::chown(s.path("outside").join("victim"), Some(user), Some(group))
    }),
    ("times_outside", |s| opened(&s.path("outside").join("victim"), 0)?.set_modified(std::time::UNIX_EPOCH)),
    ("attribute_outside", |s| {
        let path = text(&s.path("outside").join("victim"));
        // SAFETY: the value is as long as is said.
        call(unsafe { libc::setxattr(path.as_ptr(), c"user.x".as_ptr(), b"x".as_ptr().cast(), 1, 0) })
            .map(drop)
    }),
    ("race_of_links", race),
    ("shared_temporary_folder", |s| fs::write(s.path("temporary"), "x")),
    ("shared_memory", |s| {
        // It may write to shared memory of its own; the test looks whether it was the machine's.
        fs::write(Path::new("/dev/shm").join(s.text("unique")), "x")?;
        Err(std::io::Error::other("written, somewhere"))
    }),
    ("own_terminal", |_| OpenOptions::new().write(true).open("/dev/tty").map(drop)),
];

fn written(path: &str) -> Outcome {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)?.write_all(b"x")
}

fn opened(path: &Path, flags: i32) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// A name that is a folder now and a link to the outside then, while something is written below it.
fn race(scene: &Scene) -> Outcome {
    let (name, aside) = (scene.path("root").join("flip"), scene.path("root").join("aside"));
    fs::create_dir(&name)?;
    symlink(scene.path("outside"), &aside)?;
    let (one, other) = (text(&name), text(&aside));
    let there = scene.path("outside").join("raced");
    std::thread::spawn(move || {
        loop {
            let here = libc::AT_FDCWD;
            // SAFETY: a system call with texts that end with a NUL.
            unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE) };
        }
    });
    for _ in 0..3000 {
        let _ = fs::write(name.join("raced"), "x");
        if there.exists() {
            return Ok(());
        }
    }
    Err(std::io::Error::other("it never came outside"))
}
