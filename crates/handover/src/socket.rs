//! The socket of an owner: `share.sock` in its run's folder, which only its user may enter.
//!
//! The path of a socket may have 108 bytes, and a state directory's may be longer; so the folder is opened and the socket
//! reached through the open folder.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

const NAME: &str = "share.sock";

/// Opens the socket of a run that this process owns, and replaces one that an earlier owner has left.
pub fn listen(run_dir: &Path) -> io::Result<UnixListener> {
    remove(run_dir);
    let (_folder, path) = reach(run_dir)?;
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the owner of a run.
pub async fn connect(run_dir: &Path) -> io::Result<UnixStream> {
    let (_folder, path) = reach(run_dir)?;
    UnixStream::connect(path).await
}

/// Removes the socket. One that cannot be removed refuses connections.
pub fn remove(run_dir: &Path) {
    fs::remove_file(run_dir.join(NAME)).ok();
}

/// Whether the process at the other end has the same user.
pub fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::getuid().as_raw())
}

/// A short path to the socket, good while the folder is open.
fn reach(run_dir: &Path) -> io::Result<(File, PathBuf)> {
    let folder = File::open(run_dir)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()));
    Ok((folder, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_found_in_a_folder_with_a_very_long_name_and_by_its_user_only() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("x".repeat(200));
        fs::create_dir(&folder).unwrap();
        let listener = listen(&folder).unwrap();
        assert_eq!(fs::metadata(folder.join(NAME)).unwrap().permissions().mode() & 0o777, 0o600);
        let (_, accepted) = tokio::join!(connect(&folder), listener.accept());
        assert!(is_ours(&accepted.unwrap().0));
        listen(&folder).expect("the socket of an earlier owner is replaced");
        remove(&folder);
        assert!(connect(&folder).await.is_err());
    }
}
