//! What `.gitignore` files name: builds, dependencies, and the like, of which an agent has no use in a list or a search.
//!
//! It is a courtesy and guards nothing. Folders that no project means are left out in any case.

use crate::glob::translated;
use regex::Regex;

/// Folders that are left out also where nothing says so.
const USUAL: [&str; 3] = ["node_modules", "__pycache__", ".hg"];

/// The rules of the folders that were gone into, in their order.
#[derive(Default)]
pub(crate) struct Ignored {
    rules: Vec<Rule>,
}

struct Rule {
    /// Beneath this folder.
    folder: String,
    regex: Regex,
    keeps: bool,
    only_folders: bool,
}

impl Ignored {
    /// Adds the rules of a folder's file.
    pub fn add(&mut self, folder: &str, text: &str) {
        self.rules.extend(text.lines().take(2_000).filter_map(|line| Rule::of(folder, line)));
    }

    /// Whether a path is left out; the last rule that fits counts.
    pub fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let rule = self.rules.iter().rev().find(|rule| rule.fits(path, is_folder));
        rule.map_or(is_folder && USUAL.contains(&name), |rule| !rule.keeps)
    }
}

impl Rule {
    fn of(folder: &str, line: &str) -> Option<Rule> {
        let line = line.trim_end();
        let (keeps, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (only_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let text = translated(line.trim_start_matches('/')).ok()?;
        let text = if line.contains('/') { text } else { format!("(?:.*/)?{text}") };
        let regex = Regex::new(&format!("(?s)^{text}$")).ok()?;
        Some(Rule { folder: folder.to_owned(), regex, keeps, only_folders })
    }

    fn fits(&self, path: &str, is_folder: bool) -> bool {
        let inside = match self.folder.as_str() {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        (is_folder || !self.only_folders) && inside.is_some_and(|inside| self.regex.is_match(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_fits_counts() {
        let mut ignored = Ignored::default();
        ignored.add("", "# builds\n/target\n*.log\n!keep.log\nbuild/\n");
        ignored.add("sub", "*.txt\n");
        for path in ["target", "a/x.log", "sub/a.txt", "sub/deep/a.txt"] {
            assert!(ignored.is_ignored(path, false), "{path}");
        }
        assert!(ignored.is_ignored("a/build", true) && ignored.is_ignored("x/node_modules", true));
        for path in ["a/target", "keep.log", "a.txt", "build"] {
            assert!(!ignored.is_ignored(path, false), "{path}");
        }
    }
}
