//! Files that an agent has us read and write: those inside its folder, and no others.
//!
//! Links and `..` are followed before the path is looked at, so what leads out of the folder is refused wherever it
//! hides. The agent is a program with the user's own rights; this bounds what *we* do for it, not what it can do.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use std::io;
use std::path::{Component, Path, PathBuf};

/// A longer file is not read into memory for an agent.
const MOST: u64 = 32 << 20;

/// The folder of an agent, with links resolved.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// An agent's folder.
    pub fn new(path: &Path) -> Folder {
        Folder(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }

    /// Reads a file, or some lines of it.
    pub fn read(&self, request: &ReadTextFileRequest) -> Result<String, Error> {
        let path = self.inside(&request.path)?;
        if path.metadata().map_err(|error| failed(&request.path, &error))?.len() > MOST {
            return Err(Error::invalid_params().data(format!("`{}` is too long", request.path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(&request.path, &error))?;
        if request.line.is_none() && request.limit.is_none() {
            return Ok(text);
        }
        let before = request.line.unwrap_or(1).saturating_sub(1) as usize;
        let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(text.split_inclusive('\n').skip(before).take(limit).collect())
    }

    /// Writes a file; folders on the way to it are made.
    pub fn write(&self, request: &WriteTextFileRequest) -> Result<(), Error> {
        let path = self.inside(&request.path)?;
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, &request.content))
            .map_err(|error| failed(&request.path, &error))
    }

    /// Where a path really leads, if that is inside. What does not exist yet may follow what does, but not climb.
    fn inside(&self, path: &Path) -> Result<PathBuf, Error> {
        let outside = || {
            let told =
                format!("`{}` is outside the working directory `{}`", path.display(), self.0.display());
            Error::invalid_params().data(told)
        };
        let asked = self.0.join(path);
        let mut missing = Vec::new();
        let mut known = asked.as_path();
        let real = loop {
            match known.canonicalize() {
                Ok(real) => break real,
                // A link that leads nowhere would be followed when it is written.
                Err(_) if known.is_symlink() => return Err(outside()),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(path, &error)),
                Err(_) => {}
            }
            let last = known.components().next_back();
            let (Some(Component::Normal(name)), Some(parent)) = (last, known.parent()) else {
                return Err(outside());
            };
            missing.push(name);
            known = parent;
        };
        if !real.starts_with(&self.0) {
            return Err(outside());
        }
        Ok(missing.into_iter().rev().fold(real, |path, name| path.join(name)))
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            agent_client_protocol::v1::schema::Error::resource_not_found(Some(path.display().to_string()))
                .into()
        }
        _ => Error::internal_error().data(format!("`{}`: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn read(folder: &Folder, path: impl Into<PathBuf>) -> Result<String, Error> {
        folder.read(&ReadTextFileRequest::new("s", path))
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (inside, secret) = (place.path().join("work"), place.path().join("secret"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::write(&secret, "s").unwrap();
        symlink(&secret, inside.join("link")).unwrap();
        symlink(place.path(), inside.join("up")).unwrap();
        symlink(place.path().join("not-yet"), inside.join("dangling")).unwrap();
        let folder = Folder::new(&inside);
        let out = [
            "../secret",
            "link",
            "up/secret",
            "up/new",
            "dangling",
            "sub/../../secret",
            "none/../../new",
            "/etc/hosts",
        ];
        for path in out.map(PathBuf::from).into_iter().chain([secret.clone()]) {
            assert!(read(&folder, &path).is_err(), "{path:?} was read");
            let write = WriteTextFileRequest::new("s", &path, "x");
            assert!(folder.write(&write).is_err(), "{path:?} was written");
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "s");
        assert!(!place.path().join("new").exists() && !place.path().join("not-yet").exists());
    }

    #[test]
    fn what_is_inside_is_read_and_written() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path());
        let path = place.path().join("a/b/c.txt");
        folder.write(&WriteTextFileRequest::new("s", &path, "1\n2\n3\n")).unwrap();
        symlink(&path, place.path().join("link")).unwrap();
        assert_eq!(read(&folder, place.path().join("a/../link")).unwrap(), "1\n2\n3\n");
        let lines = folder.read(&ReadTextFileRequest::new("s", &path).line(2).limit(1)).unwrap();
        assert_eq!(lines, "2\n");
        let missing = read(&folder, place.path().join("none")).unwrap_err();
        assert_eq!(missing.code, agent_client_protocol::ErrorCode::RESOURCE_NOT_FOUND);
    }
}
