//! The folder that holds all state.
//!
//! Where it lies is decided by `cli`; here it is checked and made. Invariant: what is below `runs` can be read by its
//! owner only, and the folder is one on which locks, shared memory and renames keep their promises.

use crate::disk;
use crate::file_system::{FileSystem, Probe};
use crate::run_id::is_safe;
use crate::{Error, Unsuitable};
use convoke_failpoint::failpoint;
use convoke_model::RunId;
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder that holds all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// Opens a state folder for writing, making it if it is not there; refuses one that is not safe.
    pub fn open(path: impl Into<PathBuf>) -> Result<StateDir, Error> {
        StateDir::open_on(path, &FileSystem::of)
    }

    /// As [`StateDir::open`], with another way to find out what the folder lies on.
    pub fn open_on(path: impl Into<PathBuf>, probe: &Probe) -> Result<StateDir, Error> {
        let path = path.into();
        let runs = path.join("runs");
        prepare(&path, &runs, probe).map_err(|why| Error::StateDir { path: path.clone(), why })?;
        Ok(StateDir(path))
    }

    /// Opens a state folder only to look at it: it may be absent, read-only or another user's.
    pub fn for_reading(path: impl Into<PathBuf>) -> StateDir {
        StateDir(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of one run, whether it exists or not.
    pub fn run_dir(&self, run: &RunId) -> PathBuf {
        self.runs_dir().join(&*run.0)
    }

    /// The runs that have a folder, in the order of their names.
    pub fn runs(&self) -> Result<Vec<RunId>, Error> {
        let mut runs = self.folders()?;
        runs.retain(|run| !is_being_made(&self.run_dir(run)));
        Ok(runs)
    }

    /// The folders that are named as runs are, in the order of their names; some may be in the making.
    pub(crate) fn folders(&self) -> Result<Vec<RunId>, Error> {
        let folder = self.runs_dir();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("list", &folder)(error)),
        };
        let mut runs: Vec<_> = entries
            .filter_map(|entry| Some(RunId(entry.ok()?.file_name().to_str()?.into())))
            .filter(is_safe)
            .collect();
        runs.sort();
        Ok(runs)
    }

    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// The folder of a run that exists; a name that could lead elsewhere is no run.
    pub(crate) fn existing(&self, run: &RunId) -> Result<PathBuf, Error> {
        let dir = self.run_dir(run);
        if !is_safe(run) || !dir.join("journal.db").is_file() || is_being_made(&dir) {
            return Err(Error::unknown_run(run));
        }
        Ok(dir)
    }

    /// Makes the folder of a new run.
    pub(crate) fn make_run_dir(&self, run: &RunId) -> Result<PathBuf, Error> {
        let dir = self.run_dir(run);
        if !is_safe(run) {
            return Err(Error::unknown_run(run));
        }
        match DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::RunExists { run: run.clone() })
            }
            Err(error) => Err(Error::io("make folder", &dir)(error)),
        }
    }

    /// Makes the names below `runs` durable.
    pub(crate) fn sync_names(&self) -> Result<(), Error> {
        let runs = self.runs_dir();
        disk::sync_folder(&runs).map_err(Error::io("sync", &runs))
    }
}

/// A folder holds this file for as long as its journal is being made: what a kill leaves behind then is no run.
const MAKING: &str = "making";

pub(crate) fn begin_making(dir: &Path) -> Result<(), Error> {
    private_file(&dir.join(MAKING)).map(drop)
}

pub(crate) fn end_making(dir: &Path) -> Result<(), Error> {
    let path = dir.join(MAKING);
    disk::remove(&path).and_then(|()| disk::sync_folder(dir)).map_err(Error::io("remove", &path))
}

/// Whether a folder has no run yet.
pub(crate) fn is_being_made(dir: &Path) -> bool {
    dir.join(MAKING).exists()
}

/// Makes a folder that only its owner can look into.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).map_err(Error::io("make folder", path))
}

/// Opens a file that only its owner can read and write, making it if need be. Whatever the umask, and also if it existed with
/// another mode.
pub fn private_file(path: &Path) -> Result<File, Error> {
    if !path.exists() {
        disk::make(path).map_err(Error::io("make", path))?;
    }
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path);
    let file = file.map_err(Error::io("open", path))?;
    let mode = file.metadata().map_err(Error::io("inspect", path))?.permissions().mode();
    if mode & 0o777 != PRIVATE {
        // A file on a read-only disk stays as it is; what cannot be written cannot be made worse.
        file.set_permissions(fs::Permissions::from_mode(PRIVATE)).ok();
    }
    Ok(file)
}

/// Writes a whole file that only its owner can read and write.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let mut file = private_file(path)?;
    let written = file.set_len(0).and_then(|()| io::Write::write_all(&mut file, content));
    written.map_err(Error::io("write", path))
}

/// Puts a whole file in the place of another, so that no reader sees half of it. What stood there stays if this fails.
pub fn replace_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    let draft = PathBuf::from(draft);
    let replaced = write_private(&draft, content)
        .inspect(|()| failpoint!("state.aid.draft_written"))
        .and_then(|()| fs::rename(&draft, path).map_err(Error::io("replace", path)));
    if replaced.is_err() {
        fs::remove_file(&draft).ok();
    }
    replaced
}

/// As [`replace_private`], and durable when it returns: the content before its name, and then the name.
pub fn replace_durably(path: &Path, content: &[u8]) -> Result<(), Error> {
    let draft = path.with_extension("partial");
    let file = private_file(&draft)?;
    let written = disk::set_len(&file, &draft, 0)
        .and_then(|()| disk::write_at(&file, &draft, content, 0))
        .and_then(|()| disk::sync(&file, &draft))
        .inspect(|()| failpoint!("state.replace.draft_synced"))
        .and_then(|()| disk::rename(&draft, path))
        .inspect(|()| failpoint!("state.replace.renamed"));
    if written.is_err() {
        fs::remove_file(&draft).ok();
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    written.and_then(|()| disk::sync_folder(folder)).map_err(Error::io("write", path))
}

/// The mode of every file of the state.
const PRIVATE: u32 = 0o600;

fn prepare(path: &Path, runs: &Path, probe: &Probe) -> Result<(), Unsuitable> {
    make(path)?;
    check(path, probe)?;
    keep_others_from_writing(path)?;
    make(runs)?;
    check(runs, probe)?;
    let mode = fs::metadata(runs).map_or(0o700, |meta| meta.permissions().mode());
    if mode & 0o077 != 0 {
        fs::set_permissions(runs, fs::Permissions::from_mode(0o700)).map_err(|_| Unsuitable::NotWritable)?;
    }
    Ok(())
}

/// What others can write to, they can replace. The write permission is taken from them, except where the folder is meant
/// for everybody (as `/tmp` is): that one is refused.
fn keep_others_from_writing(path: &Path) -> Result<(), Unsuitable> {
    const STICKY: u32 = 0o1000;
    const BY_OTHERS: u32 = 0o022;
    let mode = fs::metadata(path).map_err(absent)?.permissions().mode() & 0o7777;
    if mode & BY_OTHERS == 0 {
        return Ok(());
    }
    let shared = Unsuitable::WritableByOthers { mode };
    if mode & STICKY != 0 {
        return Err(shared);
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & !BY_OTHERS)).map_err(|_| shared)
}

/// Makes a folder and its parents, and their names durable: a run is as safe as the folder it lies in.
fn make(path: &Path) -> Result<(), Unsuitable> {
    let missing: Vec<_> =
        path.ancestors().take_while(|folder| !folder.exists() && *folder != Path::new("")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    let durable = made.and_then(|()| missing.iter().try_for_each(|folder| sync_parent(folder)));
    durable.map_err(|error| {
        // A folder that is there is not synced again, so one whose name may not be durable must not stay.
        for folder in &missing {
            fs::remove_dir(folder).ok();
        }
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => Unsuitable::ReadOnly,
            io::ErrorKind::PermissionDenied => Unsuitable::NotWritable,
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Unsuitable::NotAFolder,
            _ => absent(error),
        }
    })
}

fn absent(error: io::Error) -> Unsuitable {
    Unsuitable::Absent(error.to_string())
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    disk::sync_folder(parent)
}

fn check(path: &Path, probe: &Probe) -> Result<(), Unsuitable> {
    let meta = fs::metadata(path).map_err(absent)?;
    if !meta.is_dir() {
        return Err(Unsuitable::NotAFolder);
    }
    check_owner(meta.uid(), rustix::process::geteuid().as_raw())?;
    probe(path).map_err(absent)?.check()?;
    match rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ROFS) => Err(Unsuitable::ReadOnly),
        Err(_) => Err(Unsuitable::NotWritable),
    }
}

fn check_owner(owner: u32, user: u32) -> Result<(), Unsuitable> {
    if owner == user { Ok(()) } else { Err(Unsuitable::ForeignOwner { owner, user }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> Unsuitable {
        match StateDir::open(path) {
            Err(Error::StateDir { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_new_folder_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("a/b")).unwrap();
        for dir in [state.path().to_path_buf(), state.runs_dir()] {
            assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(state.runs().unwrap(), []);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_refused_with_the_reason_of_the_system() {
        let reason = "No such file or directory (os error 2)".to_owned();
        assert_eq!(refusal(Path::new("/proc/convoke-state")), Unsuitable::Absent(reason));
    }

    #[test]
    fn a_folder_whose_name_is_not_durable_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        disk::watch(Some(std::rc::Rc::new(|op: &disk::Op<'_>| match op {
            disk::Op::SyncFolder(_) => disk::Fate::Fail(5),
            _ => disk::Fate::Pass,
        })));
        let why = refusal(&path);
        disk::watch(None);
        assert_eq!(why, Unsuitable::Absent("Input/output error (os error 5)".to_owned()));
        assert!(!folder.path().join("a").exists(), "the next one would not sync its name");
        StateDir::open(&path).unwrap();
    }

    #[test]
    fn an_open_runs_folder_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        fs::create_dir(&runs).unwrap();
        fs::set_permissions(&runs, fs::Permissions::from_mode(0o755)).unwrap();
        StateDir::open(folder.path()).unwrap();
        assert_eq!(fs::metadata(runs).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_can_write_is_corrected_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        StateDir::open(folder.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o755);
        mode(0o1777);
        assert_eq!(refusal(folder.path()), Unsuitable::WritableByOthers { mode: 0o1777 });
    }

    #[test]
    fn a_file_is_private_whoever_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old and long").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        write_private(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(refusal(&file), Unsuitable::NotAFolder);
        assert_eq!(refusal(&file.join("below")), Unsuitable::NotAFolder);
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        assert_eq!(check_owner(1000, 1001), Err(Unsuitable::ForeignOwner { owner: 1000, user: 1001 }));
        assert_eq!(check_owner(7, 7), Ok(()));
    }

    #[test]
    fn a_folder_that_other_machines_write_to_is_refused_before_anything_is_made_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |magic, name: &str| {
            let found = FileSystem { magic, name: name.into() };
            StateDir::open_on(folder.path(), &move |_: &Path| Ok(found.clone()))
        };
        let refused = of(0x6969, "nfs4").unwrap_err();
        let words = format!(
            "state folder `{}` cannot be used: it lies on a network file system (nfs), where locks cannot be relied upon",
            folder.path().display()
        );
        assert_eq!(refused.to_string(), words);
        assert!(of(0x6573_5546, "fuse.sshfs").unwrap_err().to_string().contains("(sshfs)"));
        assert!(!folder.path().join("runs").exists());
        of(0x6573_5546, "fuse.fuse-overlayfs").unwrap();
        of(0x794c_7630, "overlay").unwrap();
    }

    #[test]
    fn a_name_that_climbs_is_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let climbing = RunId("../runs".into());
        assert!(matches!(state.make_run_dir(&climbing), Err(Error::UnknownRun { .. })));
        assert!(matches!(state.existing(&climbing), Err(Error::UnknownRun { .. })));
    }
}
