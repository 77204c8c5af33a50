//! Where the runs of a project keep what they share: one JSON file that people can read and edit.
//!
//! Every change is made under a lock on a file beside it, written whole to a draft, synced and renamed into place: a
//! reader sees the old file or the new one, and what was acknowledged is on the disk. A change has a key, and one whose key
//! is known already is not made again, so a run that was cut off may repeat what it did last. A change that stands in the
//! run's own journal is never asked for again: such keys are settled, and forgotten. What the store itself
//! needs to know (revision, keys) stands in the same file, in the part `convoke`, and changes with it.

use crate::Error;
use crate::state::private_file;
use convoke_failpoint::failpoint;
use convoke_model::{ProjectContext, ProjectPatch, ProjectTask};
use indexmap::IndexMap;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Runs whose keys are remembered; the one that has been silent longest is forgotten first. A run has some only while it
/// lives, or if it was killed before it could settle them and was not resumed.
const RUNS_REMEMBERED: usize = 1024;

/// Links that are followed from one to the next; more are a circle.
const LINKS: u32 = 40;

/// The file of a project.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    /// As its user calls it.
    path: PathBuf,
    /// Where it really is: one lock and one draft, whatever it is called, and a link to it stays one.
    place: PathBuf,
}

/// Names a change of a run.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    /// The run.
    pub run: &'a str,
    /// The change among those of the run.
    pub key: &'a str,
    /// Changes of the run that its journal has: they are not asked for again.
    pub settled: &'a [String],
}

/// Which changes of a run its journal has.
#[derive(Debug, Clone, Copy)]
pub enum Settled<'a> {
    /// These.
    Some(&'a [String]),
    /// All: it has ended well, and cannot be resumed.
    All,
}

/// The context of a project, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    /// How many changes it has seen.
    pub revision: u64,
    /// The context.
    pub context: ProjectContext,
}

/// The file as it is written. Not the context with a part added: an unknown key must be an error with its
/// place, and not be lost with the next change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    schema_version: u32,
    #[serde(default)]
    global_flags: IndexMap<String, bool>,
    #[serde(default)]
    artifact_pointers: IndexMap<String, String>,
    #[serde(default)]
    task_queue: Vec<ProjectTask>,
    #[serde(default)]
    convoke: StoreRecord,
}

impl Stored {
    fn of(shared: Shared, made: IndexMap<String, Vec<String>>) -> Stored {
        let Shared { revision, context } = shared;
        let ProjectContext { schema_version, global_flags, artifact_pointers, task_queue } = context;
        let convoke = StoreRecord { revision, made };
        Stored { schema_version, global_flags, artifact_pointers, task_queue, convoke }
    }

    fn open(self) -> (Shared, IndexMap<String, Vec<String>>) {
        let Stored { schema_version, global_flags, artifact_pointers, task_queue, convoke } = self;
        let context = ProjectContext { schema_version, global_flags, artifact_pointers, task_queue };
        (Shared { revision: convoke.revision, context }, convoke.made)
    }
}

/// What the store needs to know.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoreRecord {
    revision: u64,
    /// The changes that were made, by run, the run that spoke last at the end.
    #[serde(default)]
    made: IndexMap<String, Vec<String>>,
}

impl ProjectFile {
    /// The file at this place; it need not exist.
    pub fn at(path: impl Into<PathBuf>) -> ProjectFile {
        let path = path.into();
        ProjectFile { place: real_place(&path, LINKS), path }
    }

    /// Where it is, as its user calls it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it really is, the same for every name that it has.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The context as it is now; empty where there is no file yet.
    pub fn load(&self) -> Result<Shared, Error> {
        Ok(self.read()?.0)
    }

    /// Makes a change; of a run, once for each of its keys. Durable on return.
    pub fn patch(&self, by: Option<Key<'_>>, patch: &ProjectPatch) -> Result<Shared, Error> {
        let _lock = self.lock()?;
        let (mut shared, mut made) = self.read()?;
        if by.is_some_and(|by| !note(&mut made, by)) {
            return Ok(shared);
        }
        shared.context.apply(patch);
        if let Some(problem) = shared.context.problem() {
            return Err(self.unfit(problem));
        }
        shared.revision += 1;
        failpoint!("project.patch.before");
        self.replace(&Stored::of(shared.clone(), made))?;
        failpoint!("project.patch.done");
        Ok(shared)
    }

    /// Forgets changes that a run will not ask for again. The context stays as it is.
    pub fn settle(&self, run: &str, settled: Settled<'_>) -> Result<(), Error> {
        let _lock = self.lock()?;
        let (shared, mut made) = self.read()?;
        let before = made.get(run).map_or(0, Vec::len);
        match settled {
            Settled::Some(keys) => forget(&mut made, run, keys),
            Settled::All => drop(made.shift_remove(run)),
        }
        if made.get(run).map_or(0, Vec::len) == before {
            return Ok(());
        }
        failpoint!("project.settle.before");
        self.replace(&Stored::of(shared, made)).inspect(|()| failpoint!("project.settle.done"))
    }

    fn read(&self) -> Result<(Shared, IndexMap<String, Vec<String>>), Error> {
        let text = match std::fs::read(&self.place) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(Error::io("read", &self.path)(error)),
        };
        let stored: Stored = serde_json::from_slice(&text).map_err(|error| self.unfit(error.to_string()))?;
        let (shared, made) = stored.open();
        match shared.context.problem() {
            Some(problem) => Err(self.unfit(problem)),
            None => Ok((shared, made)),
        }
    }

    fn unfit(&self, why: String) -> Error {
        Error::Project { path: self.path.clone(), why }
    }

    /// Held until it is dropped, or the process ends.
    fn lock(&self) -> Result<File, Error> {
        let folder = self.folder();
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = self.beside("lock");
        let file = private_file(&path)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Error::io("lock", &path)(errno.into())),
            }
        }
    }

    /// Only under the lock: one draft at a time.
    fn replace(&self, stored: &Stored) -> Result<(), Error> {
        let draft = self.beside("draft");
        let text = serde_json::to_vec_pretty(stored).expect("a context is JSON");
        let shared = std::fs::metadata(&self.place).map(|file| file.permissions());
        let written = private_file(&draft)?;
        let written = (|mut file: File| {
            file.set_len(0)?;
            file.write_all(&text)?;
            file.write_all(b"\n")?;
            // A file whose mode lets others in keeps that mode.
            if let Ok(shared) = shared {
                file.set_permissions(shared)?;
            }
            file.sync_data()
        })(written);
        if let Err(error) = written {
            let _ = std::fs::remove_file(&draft);
            return Err(Error::io("write", &draft)(error));
        }
        failpoint!("project.file.draft_synced");
        std::fs::rename(&draft, &self.place).map_err(Error::io("write", &self.path))?;
        failpoint!("project.file.renamed");
        let folder = self.folder();
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
    }

    fn folder(&self) -> &Path {
        self.place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// `project-context.json` → `.project-context.json.lock`.
    fn beside(&self, what: &str) -> PathBuf {
        let name = self.place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.place.with_file_name(format!(".{name}.{what}"))
    }
}

/// Where a path really leads, as far as there is something already: links are followed, and what does not exist yet stands in
/// the real place of its folder.
fn real_place(path: &Path, links: u32) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match std::fs::read_link(path) {
        Ok(to) if links > 0 => real_place(&folder.unwrap_or(Path::new(".")).join(to), links - 1),
        _ => match (folder, path.file_name()) {
            (Some(folder), Some(name)) => real_place(folder, links).join(name),
            (None, Some(name)) => Path::new(".").canonicalize().unwrap_or_default().join(name),
            _ => path.to_owned(),
        },
    }
}

/// Remembers that a change is made; false if it was made before.
fn note(made: &mut IndexMap<String, Vec<String>>, by: Key<'_>) -> bool {
    forget(made, by.run, by.settled);
    let mut keys = made.shift_remove(by.run).unwrap_or_default();
    let new = !keys.iter().any(|known| known == by.key);
    if new {
        keys.push(by.key.to_owned());
    }
    made.insert(by.run.to_owned(), keys);
    while made.len() > RUNS_REMEMBERED {
        made.shift_remove_index(0);
    }
    new
}

fn forget(made: &mut IndexMap<String, Vec<String>>, run: &str, settled: &[String]) {
    let Some(keys) = made.get_mut(run) else { return };
    let settled: HashSet<&String> = settled.iter().collect();
    keys.retain(|key| !settled.contains(key));
    if keys.is_empty() {
        made.shift_remove(run);
    }
}
