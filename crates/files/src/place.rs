//! A path as it was written, put into its plain form: components beneath the root, and nothing else.
//!
//! Nothing is decoded, expanded or looked up. What a name leads to is the kernel's to say; here only what no path may have is refused.

use crate::Refusal;
use std::path::{Component, Path};

/// The longest path, in bytes; the kernel takes no longer one.
const LONGEST: usize = 4096;

/// A path beneath the root without `.`, `..` and double slashes: what it names if no link is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    path: String,
}

impl Place {
    /// The place that a text names. A path from `/` must lie in the root, whose path is given.
    pub fn of(given: &str, root: &Path) -> Result<Place, Refusal> {
        let relative = relative(given, root)?;
        let mut parts: Vec<&str> = Vec::new();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or_else(|| Refusal::Outside(given.to_owned()))?),
                part => parts.push(part),
            }
        }
        Ok(Place { path: parts.join("/") })
    }

    /// Its components with `/` between them; `.` is the root itself.
    pub fn as_str(&self) -> &str {
        if self.path.is_empty() { "." } else { &self.path }
    }

    /// Whether it is the root itself.
    pub fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    /// The folder that it lies in, and its name there.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.path.rsplit_once('/').unwrap_or(("", &self.path))
    }

    /// What must hold for a name that is to be written, besides what is protected.
    pub(crate) fn is_writable_name(&self) -> Result<(), Refusal> {
        let wrong = |why| Err(Refusal::Name { path: self.path.clone(), why });
        match &self.path {
            path if path.is_empty() => Err(Refusal::Folder(".".to_owned())),
            path if path.contains('\\') => wrong("folders are divided by `/`, not by `\\`"),
            path if path.starts_with('~') => {
                wrong("`~` is not expanded; paths are beneath the working folder")
            }
            path if path.contains(":/") => wrong("it is an address"),
            _ => Ok(()),
        }
    }
}

/// The text as a path from the root: as it stands, or what is left of one from `/`.
pub(crate) fn relative<'a>(given: &'a str, root: &Path) -> Result<&'a str, Refusal> {
    let wrong = |why| Err(Refusal::Name { path: given.chars().take(80).collect(), why });
    if given.is_empty() {
        return wrong("it is empty");
    }
    if given.len() > LONGEST {
        return wrong("it is too long");
    }
    if given.chars().any(char::is_control) {
        return wrong("it has control characters");
    }
    if !given.starts_with('/') {
        return Ok(given);
    }
    beneath(given, root).ok_or_else(|| Refusal::Outside(given.to_owned()))
}

/// What is left of a path from `/` that has the root's path in front, component by component.
fn beneath<'a>(given: &'a str, root: &Path) -> Option<&'a str> {
    let mut rest = given;
    for part in root.components() {
        let Component::Normal(part) = part else { continue };
        rest = rest.trim_start_matches('/').strip_prefix(part.to_str()?)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
    }
    let rest = rest.trim_start_matches('/');
    Some(if rest.is_empty() { "." } else { rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(given: &str) -> Option<String> {
        Place::of(given, Path::new("/w/repo")).ok().map(|place| place.as_str().to_owned())
    }

    #[test]
    fn a_plain_path_is_beneath_the_root_or_nothing() {
        assert_eq!(place("./src/../src//main.rs").as_deref(), Some("src/main.rs"));
        assert_eq!(place("/w/repo/src/main.rs").as_deref(), Some("src/main.rs"));
        assert_eq!(place("/w//repo/").as_deref(), Some("."));
        assert_eq!(place("docs/..notes.md").as_deref(), Some("docs/..notes.md"));
        assert_eq!(place("%2e%2e/x").as_deref(), Some("%2e%2e/x"));
        for outside in [
            "..",
            "../x",
            "a/../../x",
            "/w/repository/x",
            "/w/repo/../other",
            "//etc/passwd",
            "/w",
            "",
            "a\nb",
            "a\0b",
        ] {
            assert_eq!(place(outside), None, "{outside:?}");
        }
        assert_eq!(place(&"a/".repeat(3000)), None);
    }

    #[test]
    fn what_is_written_has_a_name_that_means_what_it_says() {
        let is_ok = |given: &str| Place::of(given, Path::new("/r")).unwrap().is_writable_name().is_ok();
        assert!(is_ok("a/b.txt") && is_ok("a b/ü"));
        for odd in ["..\\x", "~/.bashrc", "file:///etc/passwd", "https://x.test/y", "."] {
            assert!(!is_ok(odd), "{odd}");
        }
    }
}
