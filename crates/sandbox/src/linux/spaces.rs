//! Namespaces: which ones a command is cloned into, and who it is in them.

use super::probe::Way;
use super::{done, last};
use std::ffi::CStr;

/// The namespaces of one command.
pub struct Spaces {
    pub flags: libc::c_int,
    /// The one line of each map, where the user namespace is new.
    maps: Option<[String; 2]>,
}

impl Spaces {
    /// These namespaces, made as the machine allows it. The command is the same user in them.
    pub fn new(way: Way, wanted: libc::c_int) -> Spaces {
        match way {
            Way::Root => Spaces { flags: wanted, maps: None },
            Way::User => {
                let (user, group) =
                    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
                let maps = [format!("{user} {user} 1"), format!("{group} {group} 1")];
                Spaces { flags: wanted | libc::CLONE_NEWUSER, maps: Some(maps) }
            }
        }
    }

    /// Says who it is.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        let Some([user, group]) = &self.maps else { return Ok(()) };
        // SAFETY: system calls. The engine keeps its memory from being looked at, and then the files of this process belong to
        // root; for these three writes they have to be its own.
        unsafe {
            let before = libc::prctl(libc::PR_GET_DUMPABLE);
            libc::prctl(libc::PR_SET_DUMPABLE, 1);
            let written = write(c"/proc/self/setgroups", b"deny")
                .and_then(|()| write(c"/proc/self/uid_map", user.as_bytes()))
                .and_then(|()| write(c"/proc/self/gid_map", group.as_bytes()));
            libc::prctl(libc::PR_SET_DUMPABLE, if before == 1 { 1 } else { 0 });
            written
        }
    }
}

unsafe fn write(path: &CStr, text: &[u8]) -> Result<(), i32> {
    // SAFETY: the text is as long as is said, and the descriptor is ours.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(last());
        }
        let written = done(libc::write(file, text.as_ptr().cast(), text.len()) as i64);
        libc::close(file);
        written
    }
}
