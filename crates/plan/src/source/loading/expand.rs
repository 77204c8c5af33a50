//! Names of files from what a person wrote: a folder stands for the files below it, a pattern for those that match.
//!
//! Reads folders through [`Sources`], which keeps to the project. Hidden entries (a name that begins with a dot) are left out
//! unless the pattern names them. Invariant: a list is whole and sorted; one that would be longer than [`MOST_FILES`] is refused.

use super::super::sources::{Entry, Sources};

/// Files that one name may stand for.
pub const MOST_FILES: usize = 1_000;

/// Entries of folders that are looked at for one name.
const MOST_ENTRIES: usize = 100_000;

/// The files that a name stands for, sorted; `None` where it stands for itself, whatever that is.
pub fn expand(name: &str, sources: &dyn Sources) -> Result<Option<Vec<String>>, String> {
    if name.contains(['\n', '\0']) || sources.read(name).is_ok() {
        return Ok(None);
    }
    let parts: Vec<&str> = name.split('/').collect();
    let fixed = parts.iter().take_while(|part| !part.contains(['*', '?'])).count();
    if fixed == parts.len() {
        let folder = name.trim_end_matches('/');
        return match sources.list(if folder.is_empty() { name } else { folder }) {
            Ok(_) => Walk::below(if folder == "." { "" } else { folder }, None, sources).map(Some),
            Err(_) => Ok(None),
        };
    }
    let found = Walk::below(&parts[..fixed].join("/"), Some(&parts[fixed..]), sources)?;
    if found.is_empty() { Err("no file matches".to_owned()) } else { Ok(Some(found)) }
}

/// A walk below a folder.
struct Walk<'a> {
    sources: &'a dyn Sources,
    pattern: Option<&'a [&'a str]>,
    entries: usize,
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    fn below(
        folder: &str,
        pattern: Option<&'a [&'a str]>,
        sources: &'a dyn Sources,
    ) -> Result<Vec<String>, String> {
        let mut walk = Walk { sources, pattern, entries: 0, found: Vec::new() };
        walk.folder(folder, &mut Vec::new())?;
        walk.found.sort();
        Ok(walk.found)
    }

    fn folder(&mut self, path: &str, inside: &mut Vec<String>) -> Result<(), String> {
        let listed = self.sources.list(if path.is_empty() { "." } else { path });
        for Entry { name, is_folder } in listed.map_err(|error| error.to_string())? {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(format!(
                    "there are more than {MOST_ENTRIES} entries to look at: name a smaller folder"
                ));
            }
            if name.starts_with('.') && !self.names_hidden(inside.len()) {
                continue;
            }
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            inside.push(name);
            match is_folder {
                true if self.goes_deeper(inside.len()) => self.folder(&below, inside)?,
                true => {}
                false if self.matches(inside) => self.add(below)?,
                false => {}
            }
            inside.pop();
        }
        Ok(())
    }

    fn add(&mut self, path: String) -> Result<(), String> {
        if self.found.len() == MOST_FILES {
            return Err(format!(
                "it stands for more than {MOST_FILES} files: name a smaller folder or a narrower pattern"
            ));
        }
        self.found.push(path);
        Ok(())
    }

    fn names_hidden(&self, depth: usize) -> bool {
        let part = self.pattern.and_then(|pattern| pattern.get(depth));
        part.is_some_and(|part| part.starts_with('.'))
    }

    /// Whether something below this many parts can match.
    fn goes_deeper(&self, parts: usize) -> bool {
        self.pattern.is_none_or(|pattern| pattern.contains(&"**") || parts < pattern.len())
    }

    fn matches(&self, inside: &[String]) -> bool {
        let part = |pattern: &&str, name: &String| {
            let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            star(&pattern, &name, |one| *one == '*', |want, have| *want == '?' || want == have)
        };
        self.pattern.is_none_or(|pattern| star(pattern, inside, |one| *one == "**", part))
    }
}

/// Whether a row fits a pattern in which some places stand for any number of others.
fn star<P, T>(pattern: &[P], row: &[T], is_star: impl Fn(&P) -> bool, fits: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut next, mut back) = (0, 0, None);
    while at < row.len() {
        match pattern.get(next) {
            Some(place) if is_star(place) => {
                back = Some((next, at));
                next += 1;
            }
            Some(place) if fits(place, &row[at]) => (at, next) = (at + 1, next + 1),
            _ => match &mut back {
                Some((star, taken)) => {
                    *taken += 1;
                    (at, next) = (*taken, *star + 1);
                }
                None => return false,
            },
        }
    }
    pattern[next..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Memory;
    use super::*;

    fn found(name: &str) -> Result<Option<Vec<String>>, String> {
        let files = ["a.rs", "b.md", "src/a.rs", "src/deep/c.rs", "src/deep/d.txt", "src/.git/e.rs"];
        let memory = files.iter().fold(Memory::default(), |memory, path| memory.file(path, "x"));
        expand(name, &memory)
    }

    fn named(names: &[&str]) -> Result<Option<Vec<String>>, String> {
        Ok(Some(names.iter().map(|name| name.to_string()).collect()))
    }

    #[test]
    fn folders_and_patterns_stand_for_files() {
        assert_eq!(found("a.rs"), Ok(None));
        assert_eq!(found("none.rs"), Ok(None));
        assert_eq!(found("src"), named(&["src/a.rs", "src/deep/c.rs", "src/deep/d.txt"]));
        assert_eq!(found("src/"), found("src"));
        assert_eq!(found(".").unwrap().unwrap()[..2], ["a.rs", "b.md"]);
        assert_eq!(found("*.rs"), named(&["a.rs"]));
        assert_eq!(found("src/*/?.rs"), named(&["src/deep/c.rs"]));
        assert_eq!(found("src/**/*.rs"), named(&["src/a.rs", "src/deep/c.rs"]));
        assert_eq!(found("**/*.rs"), named(&["a.rs", "src/a.rs", "src/deep/c.rs"]));
        assert_eq!(found("src/.git/*"), named(&["src/.git/e.rs"]));
        assert_eq!(found("src/*.py"), Err("no file matches".to_owned()));
    }

    #[test]
    fn what_stands_for_too_many_is_refused_with_the_number() {
        let many = (0..=MOST_FILES).fold(Memory::default(), |memory, n| memory.file(&format!("f/{n}"), "x"));
        assert!(expand("f", &many).unwrap_err().contains("more than 1000 files"));
        assert_eq!(expand("f/1*", &many).unwrap().map(|all| all.len()), Some(112));
    }
}
