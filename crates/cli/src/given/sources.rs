//! The world as workflow files see it: this machine's disk and environment.

use crate::config;
use crate::organisation;
use convoke_plan::Sources;
use convoke_plan::diagnostic::SourceFile;
use convoke_plan::source::{Entry, Organisation, OrganisationError, SourceReadError, normalise};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file that is read at all. Workflow files have a limit of their own far below it; this one only keeps a
/// wrong path (a disk image, a log) from filling the memory first.
const LONGEST: u64 = 256 << 20;

/// Reads paths relative to the current folder: the file that a person named, and what lies within its project.
///
/// A workflow may come from anywhere, and what it includes reaches models and messages. So nothing beyond the project is read:
/// the repository, else the folder of `convoke.toml`, else the file's own folder. Links count by what they lead to.
#[derive(Debug, Clone)]
pub struct Disk {
    named: String,
    root: PathBuf,
    /// Names that the configuration knows as secrets.
    secrets: Vec<String>,
}

impl Disk {
    /// For a file that a person named.
    pub fn for_file(path: &str) -> Disk {
        let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
        Disk { named: normalise(path), root: root_of(folder.unwrap_or(Path::new("."))), secrets: Vec::new() }
    }

    /// For the project of the current folder, in which no file was named.
    pub fn here() -> Disk {
        Disk { named: String::new(), root: root_of(Path::new(".")), secrets: Vec::new() }
    }

    /// The same where these names stand for secrets.
    pub fn with_secrets<'n>(self, names: impl Iterator<Item = &'n String>) -> Disk {
        Disk { secrets: names.cloned().collect(), ..self }
    }
}

impl Disk {
    /// The file that a path leads to, if it lies within the project.
    fn within(&self, path: &str) -> Result<PathBuf, SourceReadError> {
        let real = std::fs::canonicalize(path).map_err(refusal)?;
        match real.starts_with(&self.root) {
            true => Ok(real),
            false => Err(SourceReadError::Outside(self.root.display().to_string())),
        }
    }
}

fn root_of(folder: &Path) -> PathBuf {
    let root = config::project_root(folder, config::home().as_deref());
    root.canonicalize().unwrap_or(root)
}

/// One text under a name of its own, and the project of the current folder behind it.
#[derive(Debug, Clone)]
pub struct Made<'a> {
    path: &'a str,
    text: &'a str,
    behind: Disk,
}

impl<'a> Made<'a> {
    /// A text under a name.
    pub fn new(path: &'a str, text: &'a str) -> Made<'a> {
        Made { path, text, behind: Disk::here() }
    }

    /// The same where these names stand for secrets.
    pub fn with_secrets<'n>(self, names: impl Iterator<Item = &'n String>) -> Made<'a> {
        Made { behind: self.behind.with_secrets(names), ..self }
    }
}

impl Sources for Made<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        if path == self.path { Ok(self.text.as_bytes().to_vec()) } else { self.behind.read(path) }
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        self.behind.list(folder)
    }

    fn env(&self, name: &str) -> Option<String> {
        crate::env::get(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.behind.is_secret(name)
    }

    fn organisation(&self, file: &Arc<SourceFile>) -> Result<Organisation, OrganisationError> {
        organisation::roles(file)
    }
}

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        let real = match path == self.named {
            true => PathBuf::from(path),
            false => self.within(path)?,
        };
        let about = std::fs::metadata(&real).map_err(refusal)?;
        if !about.is_file() {
            return Err(SourceReadError::NotAFile);
        }
        if about.len() > LONGEST {
            return Err(SourceReadError::Unreadable(format!(
                "it has {} bytes, more than {LONGEST}",
                about.len()
            )));
        }
        std::fs::read(&real).map_err(refusal)
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(self.within(folder)?).map_err(refusal)? {
            let entry = entry.map_err(refusal)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type().map_err(refusal)?;
            // A link to a folder may lead round in a circle; one to a file counts by what it leads to.
            let is_file = kind.is_file() || kind.is_symlink() && entry.path().is_file();
            if kind.is_dir() || is_file {
                entries.push(Entry { name, is_folder: kind.is_dir() });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn env(&self, name: &str) -> Option<String> {
        crate::env::get(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.secrets.iter().any(|known| known == name)
    }

    fn organisation(&self, file: &Arc<SourceFile>) -> Result<Organisation, OrganisationError> {
        organisation::roles(file)
    }
}

fn refusal(error: std::io::Error) -> SourceReadError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => SourceReadError::NotFound,
        ErrorKind::IsADirectory => SourceReadError::NotAFile,
        ErrorKind::PermissionDenied => SourceReadError::Unreadable("permission denied".to_owned()),
        _ => SourceReadError::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_missing_files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(path("f"), "x").unwrap();
        let disk = Disk::for_file(&path("f"));
        assert_eq!(disk.read(&path("f")), Ok(b"x".to_vec()));
        assert_eq!(disk.read(&path("")), Err(SourceReadError::NotAFile));
        assert_eq!(disk.read(&path("none")), Err(SourceReadError::NotFound));
        assert_eq!(disk.read(&path("f/below")), Err(SourceReadError::NotFound));
    }

    #[test]
    fn nothing_beyond_the_project_is_read_not_even_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir_all(path("repo/flows")).unwrap();
        for name in ["secret", "repo/shared.md", "repo/flows/w.yaml"] {
            std::fs::write(path(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("../../secret", path("repo/flows/link")).unwrap();
        let is_outside =
            |disk: &Disk, name: &str| matches!(disk.read(&path(name)), Err(SourceReadError::Outside(_)));
        let alone = Disk::for_file(&path("repo/flows/w.yaml"));
        assert!(is_outside(&alone, "repo/shared.md"), "without a repository the project is the folder");
        std::fs::create_dir(path("repo/.git")).unwrap();
        let disk = Disk::for_file(&path("repo/flows/w.yaml"));
        assert!(disk.read(&path("repo/shared.md")).is_ok());
        assert!(is_outside(&disk, "secret") && is_outside(&disk, "repo/flows/link"));
        assert!(
            Disk::for_file(&path("repo/flows/link")).read(&path("repo/flows/link")).is_ok(),
            "a person named it"
        );
    }
}
