//! What a person has trusted, in the state folder: places with the hash that each had.
//!
//! The file is its owner's alone (mode 0600); one that others could write is refused, because it decides what runs.

use super::{Content, Place};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::Digest;
use convoke_secrets::private::{self, Refused};
use convoke_secrets::write_private;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;

/// The largest store: some hundred thousand places.
const LARGEST: usize = 64 << 20;

/// One place that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// A path or a URL.
    pub place: String,
    /// The hash that it had.
    pub digest: Digest,
    /// When, and by whom.
    pub at: String,
    /// The user's name.
    pub by: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    format: u32,
    trusted: Vec<Entry>,
}

/// How a place stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may run.
    Trusted,
    /// Nobody has said anything of it.
    Unknown,
    /// It was trusted with another content.
    Changed,
}

/// The store of a state folder.
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// The store that a state folder holds, or will.
    pub fn at(state: &Path) -> Store {
        Store { path: state.join("trust.json") }
    }

    /// How a place stands with this content.
    pub fn standing(&self, place: &Place, content: &Content) -> Result<Standing, CommandFailure> {
        let name = place.to_string();
        let entry = self.entries()?.into_iter().find(|entry| entry.place == name);
        Ok(match entry {
            None => Standing::Unknown,
            Some(entry) if entry.digest == content.digest => Standing::Trusted,
            Some(_) => Standing::Changed,
        })
    }

    /// Everything that is trusted.
    pub fn entries(&self) -> Result<Vec<Entry>, CommandFailure> {
        let text = match private::bytes(&self.path, LARGEST) {
            Ok(text) => text,
            Err(Refused::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(self.refused(&why.to_string())),
        };
        let kept: Kept = serde_json::from_slice(&text).map_err(|error| self.refused(&error.to_string()))?;
        match kept.format {
            FORMAT => Ok(kept.trusted),
            format => Err(self.refused(&format!("its format {format} is that of a newer version"))),
        }
    }

    /// Trusts a place as it is; what was trusted of it before is void.
    pub fn add(&self, entry: Entry) -> Result<(), CommandFailure> {
        self.change(|entries| {
            entries.retain(|other| other.place != entry.place);
            entries.push(entry);
        })
    }

    /// Trusts a place no more; whether it was trusted.
    pub fn remove(&self, name: &str) -> Result<bool, CommandFailure> {
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.place != name);
            entries.len() < before
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> Result<T, CommandFailure> {
        let _lock = self.lock().map_err(|error| self.unwritten(&error))?;
        let mut trusted = self.entries()?;
        let changed = change(&mut trusted);
        let text = serde_json::to_vec_pretty(&Kept { format: FORMAT, trusted }).expect("it is JSON");
        write_private(&self.path, &text).map_err(|error| self.unwritten(&error))?;
        Ok(changed)
    }

    /// Held until it is dropped.
    fn lock(&self) -> std::io::Result<File> {
        let path = self.path.with_extension("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn unwritten(&self, error: &std::io::Error) -> CommandFailure {
        CommandFailure::new(Exit::State, format!("`{}` cannot be written: {error}", self.path.display()))
    }

    fn refused(&self, why: &str) -> CommandFailure {
        CommandFailure::new(
            Exit::Refused,
            format!("what is trusted cannot be told: `{}`: {why}", self.path.display()),
        )
        .hint("it decides what runs: correct its mode (chmod 600), or remove it and trust anew")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::of_file;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_place_is_trusted_with_the_content_that_it_had_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let place = Place::Url("https://x.test/w.yaml".into());
        let (one, two) = (of_file(b"one"), of_file(b"two"));
        assert_eq!(store.standing(&place, &one).unwrap(), Standing::Unknown);
        let entry = |content: &Content| Entry {
            place: place.to_string(),
            digest: content.digest,
            at: String::new(),
            by: String::new(),
        };
        store.add(entry(&one)).unwrap();
        assert_eq!(store.standing(&place, &one).unwrap(), Standing::Trusted);
        assert_eq!(store.standing(&place, &two).unwrap(), Standing::Changed);
        store.add(entry(&two)).unwrap();
        assert_eq!(store.standing(&place, &one).unwrap(), Standing::Changed, "the first is void");
        let elsewhere = Place::Url("https://y.test/w.yaml".into());
        assert_eq!(store.standing(&elsewhere, &two).unwrap(), Standing::Unknown, "the same text elsewhere");
        assert!(store.remove(&place.to_string()).unwrap() && !store.remove(&place.to_string()).unwrap());
        assert_eq!(store.entries().unwrap(), []);
        let path = folder.path().join("trust.json");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(store.standing(&place, &one).unwrap_err().exit, Exit::Refused);
    }
}
