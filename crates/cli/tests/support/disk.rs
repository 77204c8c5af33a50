//! A disk that is soon full.
#![allow(clippy::print_stderr, reason = "a test that cannot be tried says so")]

use super::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A small file system of its own, where the test may make one.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it; without the right to do so the test has nothing to try.
    pub fn mount(world: &World, size: &str) -> Option<SmallDisk> {
        let place = world.work().join("disk");
        fs::create_dir(&place).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&place);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("skipped: this user may not mount a file system");
        }
        mounted.then_some(SmallDisk(place))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Changes how it is mounted, such as `size=64m`.
    pub fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()), "it was mounted by us");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}
