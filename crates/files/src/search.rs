//! Finding lines in the files beneath a folder: literally or by a regular expression, within bounds that are told.
//!
//! Matching takes linear time, whatever the pattern. Binary files, secret ones and very long ones are not looked into, and how many
//! were left out for their length is said.

use crate::glob::Glob;
use crate::listing::{Walk, Walked};
use crate::{Kind, Refusal, Root, is_binary};
use regex::bytes::{Regex, RegexBuilder};
use std::io::Read;

/// A longer file is not searched.
const LONGEST_FILE: u64 = 8 << 20;
/// Bytes that are searched at most, so that one call ends.
const MOST_BYTES: u64 = 512 << 20;
/// Entries that are looked at at most.
const MOST_ENTRIES: usize = 200_000;
/// How much memory a pattern may take.
const PATTERN_SIZE: usize = 4 << 20;
/// Characters of a line that are shown.
const LINE: usize = 400;

/// What is looked for, and where.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The pattern.
    pub pattern: String,
    /// Whether it is read as a regular expression.
    pub is_regex: bool,
    /// Whether case does not matter.
    pub any_case: bool,
    /// Only files that fit one of these, if there are any.
    pub globs: Vec<String>,
    /// Lines before and after each match.
    pub context: usize,
    /// Lines that match, after which it ends.
    pub most: usize,
    /// Also what `.gitignore` names.
    pub with_ignored: bool,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// The files, in the order of paths.
    pub files: Vec<InFile>,
    /// Lines that match.
    pub count: usize,
    /// Files that were too long.
    pub too_long: usize,
    /// Why it ended before everything was seen.
    pub cut: Option<&'static str>,
}

/// What was found in one file.
#[derive(Debug, PartialEq, Eq)]
pub struct InFile {
    /// Its path from the root.
    pub path: String,
    /// Lines: the number, whether it matches or stands beside one that does, and the text.
    pub lines: Vec<(usize, bool, String)>,
}

impl Search {
    /// Looks through what is beneath a path, or in the file that it names. `stop` is asked between files.
    pub fn run(&self, root: &Root, path: &str, stop: &dyn Fn() -> bool) -> Result<Matches, Failed> {
        let regex = self.regex().map_err(Failed::Pattern)?;
        let globs = self.globs.iter().map(|glob| Glob::new(glob)).collect::<Result<Vec<_>, _>>();
        let globs = globs.map_err(Failed::Glob)?;
        let found = root.find(path)?;
        let mut matches = Matches::default();
        if found.kind == Kind::File {
            self.look(found.place.as_str(), &found.content(LONGEST_FILE)?, &regex, &mut matches);
            return Ok(matches);
        }
        let prefix = if found.place.is_root() { String::new() } else { format!("{}/", found.place.as_str()) };
        let walk = Walk { depth: usize::MAX, with_ignored: self.with_ignored, most: MOST_ENTRIES };
        let (mut bytes, mut ended) = (0, None);
        let saw_all = root.walk(path, walk, |at| {
            let beneath = at.path.strip_prefix(&prefix).unwrap_or(at.path);
            let is_wanted =
                globs.is_empty() || globs.iter().any(|glob| glob.is_match(beneath) || glob.is_match(at.path));
            if at.entry.kind == Some(Kind::File) && is_wanted {
                bytes += self.look_at(&at, &regex, &mut matches);
            }
            ended = self.is_over(&matches, bytes, stop);
            ended.is_none()
        })?;
        matches.cut = ended.or((!saw_all).then_some("there are too many files"));
        Ok(matches)
    }

    fn is_over(&self, matches: &Matches, bytes: u64, stop: &dyn Fn() -> bool) -> Option<&'static str> {
        match () {
            () if matches.count >= self.most => Some("there are more matches"),
            () if bytes >= MOST_BYTES => Some("so much was searched"),
            () if stop() => Some("it was stopped"),
            () => None,
        }
    }

    fn regex(&self) -> Result<Regex, String> {
        let text = if self.is_regex { self.pattern.clone() } else { regex::escape(&self.pattern) };
        let built = RegexBuilder::new(&text)
            .case_insensitive(self.any_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(PATTERN_SIZE)
            .build();
        built.map_err(|error| error.to_string())
    }

    fn look_at(&self, at: &Walked<'_>, regex: &Regex, matches: &mut Matches) -> u64 {
        if at.entry.size > LONGEST_FILE {
            matches.too_long += 1;
            return 0;
        }
        let Some((file, _)) = at.open() else { return 0 };
        let mut content = Vec::new();
        if file.take(LONGEST_FILE).read_to_end(&mut content).is_ok() {
            self.look(at.path, &content, regex, matches);
        }
        content.len() as u64
    }

    fn look(&self, path: &str, content: &[u8], regex: &Regex, matches: &mut Matches) {
        if is_binary(content) || !regex.is_match(content) {
            return;
        }
        let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let mut shown: Vec<(usize, bool, String)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if matches.count == self.most || !regex.is_match(line.strip_suffix(b"\r").unwrap_or(line)) {
                continue;
            }
            matches.count += 1;
            let begins = shown.last().map_or(0, |(number, ..)| *number).max(at.saturating_sub(self.context));
            shown.extend(beside(&lines, begins, at));
            match shown.iter_mut().rev().find(|(number, ..)| *number == at + 1) {
                Some(known) => known.1 = true,
                None => shown.push((at + 1, true, text(line))),
            }
            let ends = (at + 1 + self.context).min(lines.len());
            let begins = shown.last().map_or(0, |(number, ..)| *number);
            shown.extend(beside(&lines, begins, ends));
        }
        if !shown.is_empty() {
            matches.files.push(InFile { path: path.to_owned(), lines: shown });
        }
    }
}

/// Why nothing was searched.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The pattern is none.
    #[error("the pattern is no regular expression: {0}")]
    Pattern(String),
    /// A pattern of paths is none.
    #[error("`glob` is no pattern of paths: {0}")]
    Glob(String),
    /// The place cannot be searched.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Lines that are shown beside a match.
fn beside(lines: &[&[u8]], from: usize, to: usize) -> Vec<(usize, bool, String)> {
    let between = lines.iter().enumerate().take(to).skip(from);
    between.map(|(at, line)| (at + 1, false, text(line))).collect()
}

fn text(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
    match text.char_indices().nth(LINE) {
        Some((at, _)) => format!("{}… ({} more characters)", &text[..at], text[at..].chars().count()),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(search: Search, content: &str) -> Vec<(usize, bool, String)> {
        let mut matches = Matches::default();
        search.look("f", content.as_bytes(), &search.regex().unwrap(), &mut matches);
        matches.files.pop().map(|file| file.lines).unwrap_or_default()
    }

    fn search(pattern: &str) -> Search {
        Search { pattern: pattern.into(), most: 100, ..Search::default() }
    }

    fn numbers(found: &[(usize, bool, String)]) -> Vec<(usize, bool)> {
        found.iter().map(|(number, hit, _)| (*number, *hit)).collect()
    }

    #[test]
    fn a_literal_is_no_pattern_and_lines_are_counted_from_one() {
        assert_eq!(found(search("a.b"), "axb\r\na.b\r\n"), [(2, true, "a.b".to_owned())]);
        let regex = Search { is_regex: true, any_case: true, ..search("^A.B$") };
        assert_eq!(found(regex, "axb\r\na.b\r\n").len(), 2);
    }

    #[test]
    fn context_is_shown_once() {
        let near = Search { context: 1, ..search("x") };
        let expected = [(1, false), (2, true), (3, false), (4, true), (5, true), (6, false)];
        assert_eq!(numbers(&found(near, "a\nx\nb\nx\nx\nc\nd")), expected);
        let wide = Search { context: 3, ..search("x") };
        let expected = [(1, true), (2, false), (3, true), (4, false), (5, false)];
        assert_eq!(numbers(&found(wide, "x\na\nx\nb\nc")), expected);
    }

    #[test]
    fn lines_are_bounded_and_matches_too() {
        let long = format!("x{}", "y".repeat(1000));
        assert!(found(search("x"), &long)[0].2.ends_with("(601 more characters)"));
        let two = Search { most: 2, ..search("x") };
        assert_eq!(found(two, "x\nx\nx\n").len(), 2);
        assert!(found(search("x"), "x\0").is_empty());
    }
}
