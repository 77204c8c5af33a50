//! How reading reaches the world: one trait, given by whoever runs the reader, and arithmetic on paths.
//!
//! Nothing here touches a disk. Paths are text with `/` between the parts, relative to wherever the caller's
//! [`Sources`] counts from.

/// The files and the environment that a workflow may refer to.
pub trait Sources {
    /// The bytes of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError>;
    /// The value of an environment variable, `None` when it is not set (an empty value is set).
    fn env(&self, name: &str) -> Option<String>;
}

/// A world in which there is nothing: for texts that stand for themselves.
pub(super) struct Nothing;

impl Sources for Nothing {
    fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
        Err(SourceReadError::Unreadable("files cannot be included here".to_owned()))
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceReadError {
    /// Nothing has this path.
    #[error("not found")]
    NotFound,
    /// The path is a folder or a device.
    #[error("not a file")]
    NotAFile,
    /// It lies beyond the folder that the files of the workflow may come from.
    #[error("outside the project `{0}`")]
    Outside(String),
    /// It exists and cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// Resolves `path` as written inside the file `containing`.
pub fn join_beside(containing: &str, path: &str) -> String {
    if path.starts_with('/') {
        return normalise(path);
    }
    match containing.rsplit_once('/') {
        Some((folder, _)) => normalise(&format!("{folder}/{path}")),
        None => normalise(path),
    }
}

/// Removes `.` and resolves `..` where a name stands before it; leading `..` stay.
pub fn normalise(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => climb(&mut parts, absolute),
            name => parts.push(name),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

fn climb(parts: &mut Vec<&str>, absolute: bool) {
    match parts.last() {
        Some(&last) if last != ".." => {
            parts.pop();
        }
        None if absolute => {}
        _ => parts.push(".."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_resolves_beside_its_file() {
        let cases = [
            ("flows/main.yaml", "prompts/a.md", "flows/prompts/a.md"),
            ("flows/main.yaml", "../shared/a.md", "shared/a.md"),
            ("main.yaml", "./a.md", "a.md"),
            ("main.yaml", "../../a.md", "../../a.md"),
            ("/srv/w/main.yaml", "../a.md", "/srv/a.md"),
            ("/main.yaml", "../../a.md", "/a.md"),
            ("w/main.yaml", "/etc/x", "/etc/x"),
            ("/main.yaml", "a.md", "/a.md"),
        ];
        for (containing, path, expected) in cases {
            assert_eq!(join_beside(containing, path), expected, "{path} beside {containing}");
        }
    }
}
