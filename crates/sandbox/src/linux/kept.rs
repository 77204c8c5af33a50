//! What lives in the engine as long as a confined command does.

use super::gate;
use super::stage::Stage;
use crate::bounds::Bounds;
use crate::missing::Missing;
use crate::placeholder::Hold;
use crate::proxy::{Door, Hosts};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What lives in the engine as long as a confined command does. To be dropped when the command and all that it started have ended:
/// then what it made under protected names is put aside.
#[derive(Default)]
pub struct Kept {
    /// Where the socket of its network comes from, and what may be reached.
    pub(super) proxy: Option<(OwnedFd, Hosts)>,
    /// What it may use, for those who look after the whole tree.
    pub bounds: Bounds,
    pub(super) stage: Option<Stage>,
    /// Absent folders that are held.
    pub(super) holds: Vec<Hold>,
    /// Names of files that were absent.
    pub(super) swept: Vec<PathBuf>,
    /// Protected links, and what they say.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl Kept {
    pub(super) fn new(bounds: &Bounds, proxy: Option<(OwnedFd, Hosts)>) -> Kept {
        let mut kept = Kept::default();
        (kept.bounds, kept.proxy) = (bounds.clone(), proxy);
        kept
    }

    /// Why a start failed, if it was the sandbox.
    pub fn explain(&self, error: &io::Error) -> Option<Missing> {
        let stage = self.stage.as_ref()?.failed()?;
        Some(Missing::Entry { stage, cause: error.to_string() })
    }

    /// The way to listed hosts, once the command has started; `None` where no hosts are listed.
    pub fn door(&mut self) -> io::Result<Option<Door>> {
        let Some((end, hosts)) = self.proxy.take() else { return Ok(None) };
        Ok(Some(Door::new(gate::receive(&end)?, hosts)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for path in &self.swept {
            put_aside(path);
        }
        for (link, target) in &self.links {
            if std::fs::read_link(link).is_ok_and(|now| now == *target) {
                continue;
            }
            put_aside(link);
            let _ = std::os::unix::fs::symlink(target, link);
        }
    }
}

/// Under a name that means nothing: a person may have made it, meanwhile. What cannot be renamed is removed.
fn put_aside(path: &Path) {
    let Ok(found) = path.symlink_metadata() else { return };
    let mut aside = path.as_os_str().to_owned();
    aside.push(".kept-back");
    if std::fs::rename(path, &aside).is_err() {
        let _ = if found.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}
