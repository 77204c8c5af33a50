//! Which file systems can hold state.
//!
//! A run has one owner because the owner holds a lock, and processes share limits through a mapped file. Both stop at the border of
//! the machine: a folder that another machine may write to at the same time is refused. There is no switch to allow one, because the
//! promises of a journal would not hold there. What is found out about a folder comes through [`Probe`], so that tests can say
//! what they like.

use crate::Unsuitable;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file system of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// The number that `statfs` gives.
    pub magic: u32,
    /// The name that it is mounted by, such as `fuse.sshfs`; empty where the list of mounts does not say.
    pub name: String,
}

/// Finds out which file system a folder lies on.
pub type Probe = dyn Fn(&Path) -> io::Result<FileSystem>;

const FUSE: u32 = 0x6573_5546;

/// File systems in user space that are known to be of this machine alone: their files are on a local disk below.
const LOCAL_IN_USER_SPACE: [&str; 14] = [
    "fuse-overlayfs",
    "fuseblk",
    "ntfs-3g",
    "ntfs",
    "exfat",
    "fuse2fs",
    "ext4",
    "zfs-fuse",
    "bindfs",
    "mergerfs",
    "gocryptfs",
    "cryfs",
    "encfs",
    "securefs",
];

impl FileSystem {
    /// The file system of a folder of this machine.
    pub fn of(path: &Path) -> io::Result<FileSystem> {
        let magic = rustix::fs::statfs(path)?.f_type as u32;
        // The list of mounts is needed for one number only, and it can be long.
        let name = if magic == FUSE { mounted_as(path)? } else { String::new() };
        Ok(FileSystem { magic, name })
    }

    /// Whether state can lie there.
    pub fn check(&self) -> Result<(), Unsuitable> {
        if let Some(name) = shared_by_machines(self.magic) {
            return Err(Unsuitable::Network(name));
        }
        let subtype = self.name.strip_prefix("fuse.").unwrap_or(&self.name);
        match self.magic == FUSE && !LOCAL_IN_USER_SPACE.contains(&subtype) {
            true => Err(Unsuitable::UserSpace(if subtype.is_empty() { "fuse" } else { subtype }.to_owned())),
            false => Ok(()),
        }
    }
}

/// The file systems that several machines may write to, by the number that `statfs` gives.
///
/// Overlays are not among them: all our files are made in the upper layer, which is looked at by itself when it is mounted. `9p` and the
/// shared folders of virtual machines are: the host writes there too, and its locks are not ours.
fn shared_by_machines(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "nfs",
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => "smb",
        0x564c => "ncp",
        0x00c3_6400 => "ceph",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x0102_1997 => "9p",
        0x0bd0_0bd0 => "lustre",
        0x7375_7245 => "coda",
        0x4750_4653 => "gpfs",
        0x1983_0326 => "beegfs",
        0x2003_0528 => "orangefs",
        0xaad7_aaea => "panfs",
        0x0116_1970 => "gfs2",
        0x7461_636f => "ocfs2",
        0x786f_4256 => "vboxsf",
        0xbacb_acbc => "vmhgfs",
        0x7c7c_6673 => "prl_fs",
        _ => return None,
    })
}

/// The name by which the file system of a folder is mounted.
fn mounted_as(path: &Path) -> io::Result<String> {
    let device = fs::metadata(path)?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(name_of(&mounts, &device).unwrap_or_default().to_owned())
}

/// The name of the file system of a device: `36 35 98:0 / /mnt rw shared:1 - NAME source options`.
fn name_of<'a>(mounts: &'a str, device: &str) -> Option<&'a str> {
    let of_device = |line: &&str| line.split(' ').nth(2) == Some(device);
    let line = mounts.lines().rev().find(of_device)?;
    line.split_once(" - ")?.1.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuse(name: &str) -> Result<(), Unsuitable> {
        FileSystem { magic: FUSE, name: name.into() }.check()
    }

    #[test]
    fn what_several_machines_share_is_refused_by_name() {
        let shared = [
            (0x6969, "nfs"),
            (0xff53_4d42, "smb"),
            (0xfe53_4d42, "smb"),
            (0x0102_1997, "9p"),
            (0x00c3_6400, "ceph"),
            (0x0bd0_0bd0, "lustre"),
            (0x786f_4256, "vboxsf"),
            (0x4750_4653, "gpfs"),
        ];
        for (magic, name) in shared {
            let found = FileSystem { magic, name: String::new() }.check();
            assert_eq!(found, Err(Unsuitable::Network(name)));
        }
    }

    #[test]
    fn local_file_systems_and_overlays_are_allowed() {
        let local = [
            ("ext4", 0xef53),
            ("xfs", 0x5846_5342),
            ("btrfs", 0x9123_683e),
            ("zfs", 0x2fc1_2fc1),
            ("tmpfs", 0x0102_1994),
            ("overlayfs", 0x794c_7630),
            ("f2fs", 0xf2f5_2010),
            ("ecryptfs", 0xf15f),
        ];
        for (name, magic) in local {
            assert_eq!(FileSystem { magic, name: name.into() }.check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn of_those_in_user_space_only_the_ones_known_to_be_local_are_allowed() {
        for name in ["fuse.fuse-overlayfs", "fuseblk", "fuse.gocryptfs", "fuse.mergerfs"] {
            assert_eq!(fuse(name), Ok(()), "{name}");
        }
        for name in ["sshfs", "s3fs", "gcsfuse", "rclone", "glusterfs", "something-new"] {
            let refused = fuse(&format!("fuse.{name}"));
            assert_eq!(refused, Err(Unsuitable::UserSpace(name.into())));
        }
        assert_eq!(fuse("virtiofs"), Err(Unsuitable::UserSpace("virtiofs".into())));
        assert_eq!(fuse(""), Err(Unsuitable::UserSpace("fuse".into())));
    }

    #[test]
    fn the_list_of_mounts_is_read_by_device() {
        let mounts = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                      90 27 0:52 / /mnt/with\\040space rw,nosuid shared:7 master:2 - fuse.sshfs me@there:/ rw,user_id=0\n";
        assert_eq!(name_of(mounts, "0:52"), Some("fuse.sshfs"));
        assert_eq!(name_of(mounts, "0:21"), Some("proc"));
        assert_eq!(name_of(mounts, "0:99"), None);
        let here = FileSystem::of(Path::new("/proc")).unwrap();
        assert_eq!((here.magic, mounted_as(Path::new("/proc")).unwrap().as_str()), (0x9fa0, "proc"));
    }
}
