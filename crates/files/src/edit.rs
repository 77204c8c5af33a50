//! Exact replacement: a text that stands once in a file becomes another.
//!
//! Works on bytes, so that what is not UTF-8 beside the place stays as it is. Files with `\r\n` are edited by texts with `\n`. If the
//! text is not there, the most similar lines of the file are shown, because most misses are a blank or a word apart.

use std::ops::Range;

/// Lines that are shown of the nearest place.
const SHOWN: usize = 12;
/// Lines of a file among which the nearest are looked for.
const LOOKED_AT: usize = 20_000;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What stands there.
    pub old: String,
    /// What is to stand there.
    pub new: String,
    /// Whether every place is meant.
    pub all: bool,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    /// Nothing to look for.
    #[error("`old_string` is empty; to make a new file or replace a whole one, use write_file")]
    Empty,
    /// Nothing would change.
    #[error("`old_string` and `new_string` are the same")]
    Same,
    /// It stands nowhere.
    #[error("`old_string` was not found{0}")]
    Nowhere(String),
    /// It stands in several places.
    #[error(
        "`old_string` stands {count} times (lines {lines}); add lines around it until it is the only one, or set `replace_all`"
    )]
    Several {
        /// How often.
        count: usize,
        /// In which lines the first of them begin.
        lines: String,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new content.
    pub content: Vec<u8>,
    /// How many places were replaced.
    pub count: usize,
    /// The line in which the first of them begins.
    pub line: usize,
}

impl Edit {
    /// Makes the replacement.
    pub fn apply(&self, content: &[u8]) -> Result<Edited, Miss> {
        if self.old.is_empty() {
            return Err(Miss::Empty);
        }
        if self.old == self.new {
            return Err(Miss::Same);
        }
        let (old, new) = self.as_in(content);
        let found = places(content, old.as_bytes());
        match found.len() {
            0 => Err(Miss::Nowhere(self.advice(content))),
            1 => Ok(replaced(content, &found, new.as_bytes())),
            _ if self.all => Ok(replaced(content, &found, new.as_bytes())),
            count => {
                let lines: Vec<String> =
                    found.iter().take(8).map(|place| line_of(content, place.start).to_string()).collect();
                let more = if count > 8 { ", …" } else { "" };
                Err(Miss::Several { count, lines: format!("{}{more}", lines.join(", ")) })
            }
        }
    }

    /// Both texts with the ends of lines that the file has.
    fn as_in(&self, content: &[u8]) -> (String, String) {
        let has_returns = content.windows(2).any(|two| two == b"\r\n");
        if !has_returns || self.old.contains('\r') || !places(content, self.old.as_bytes()).is_empty() {
            return (self.old.clone(), self.new.clone());
        }
        let with = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        (with(&self.old), with(&self.new))
    }

    fn advice(&self, content: &[u8]) -> String {
        if !self.new.is_empty() && !places(content, self.new.as_bytes()).is_empty() {
            return "; `new_string` is there already, so the edit may have been made before".to_owned();
        }
        match nearest(content, &self.old) {
            Some((line, text, why)) => {
                format!("; the most similar lines begin at line {line} ({why}):\n{text}")
            }
            None => "; read the file for what stands there".to_owned(),
        }
    }
}

fn places(content: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let finder = regex::bytes::Regex::new(&literal(text)).expect("escaped bytes are a pattern");
    finder.find_iter(content).map(|found| found.range()).collect()
}

/// The bytes as a pattern that stands for nothing else.
fn literal(text: &[u8]) -> String {
    text.iter().fold("(?-u)".to_owned(), |pattern, byte| pattern + &format!("\\x{byte:02x}"))
}

fn replaced(content: &[u8], places: &[Range<usize>], new: &[u8]) -> Edited {
    let mut out = Vec::with_capacity(content.len() + places.len() * new.len());
    let mut at = 0;
    for place in places {
        out.extend_from_slice(&content[at..place.start]);
        out.extend_from_slice(new);
        at = place.end;
    }
    out.extend_from_slice(&content[at..]);
    Edited { content: out, count: places.len(), line: line_of(content, places[0].start) }
}

fn line_of(content: &[u8], at: usize) -> usize {
    content[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The lines of a file that are most like a text: where they begin, what they are, and in what they differ.
pub(crate) fn nearest(content: &[u8], text: &str) -> Option<(usize, String, &'static str)> {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().take(LOOKED_AT).collect();
    let wanted: Vec<&str> = text.lines().skip_while(|line| line.trim().is_empty()).collect();
    let wanted = &wanted[..wanted.len().min(SHOWN)];
    let most: usize = wanted.iter().map(|line| line.trim().len() + 1).sum();
    let score = |at: usize| -> usize {
        let pairs = wanted.iter().zip(&lines[at..]);
        pairs.map(|(wanted, line)| likeness(wanted.trim(), line.trim())).sum()
    };
    let (at, best) =
        (0..lines.len()).map(|at| (at, score(at))).max_by_key(|(at, score)| (*score, usize::MAX - at))?;
    if best * 2 < most || wanted.is_empty() {
        return None;
    }
    let shown = &lines[at..(at + wanted.len()).min(lines.len())];
    let trimmed = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let why = match trimmed(wanted) == trimmed(shown) {
        true => "they differ only in blanks",
        false => "they differ",
    };
    let numbered = shown.iter().enumerate().map(|(offset, line)| format!("{:>6}\t{line}", at + offset + 1));
    Some((at + 1, numbered.collect::<Vec<_>>().join("\n"), why))
}

/// How much two lines have in common: what they begin and end with.
fn likeness(one: &str, other: &str) -> usize {
    if one == other {
        return one.len() + 1;
    }
    let same =
        |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(one, other)| one == other).count();
    let begins = same(&mut one.bytes().zip(other.bytes()));
    let ends = same(&mut one.bytes().rev().zip(other.bytes().rev()));
    (begins + ends).min(one.len()).min(other.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.into(), new: new.into(), all: false }
    }

    #[test]
    fn one_place_is_replaced_and_several_are_not() {
        let done = edit("b", "x\ny").apply(b"a\nb\nc\n").unwrap();
        assert_eq!((done.content.as_slice(), done.count, done.line), (&b"a\nx\ny\nc\n"[..], 1, 2));
        let several = edit("a", "b").apply(b"a\na\nca\n").unwrap_err();
        assert_eq!(several, Miss::Several { count: 3, lines: "1, 2, 3".into() });
        let all = Edit { all: true, ..edit("a", "b") }.apply(b"a\na\nca\n").unwrap();
        assert_eq!((all.content.as_slice(), all.count), (&b"b\nb\ncb\n"[..], 3));
    }

    #[test]
    fn bytes_beside_the_place_stay() {
        let done = edit("b", "c").apply(b"\xff b \xfe").unwrap();
        assert_eq!(done.content, b"\xff c \xfe");
        let done = edit("one\ntwo", "1\n2").apply(b"zero\r\none\r\ntwo\r\n").unwrap();
        assert_eq!(done.content, b"zero\r\n1\r\n2\r\n");
    }

    #[test]
    fn a_miss_shows_the_nearest_lines() {
        let file = "fn main() {\n    let total = compute(1, 2);\n    print(total);\n}\n";
        let Miss::Nowhere(advice) =
            edit("let total = compute(1,2);", "x").apply(file.as_bytes()).unwrap_err()
        else {
            panic!("it is not there")
        };
        assert!(
            advice.contains("line 2 (they differ)") && advice.contains("let total = compute(1, 2);"),
            "{advice}"
        );
        let Miss::Nowhere(advice) =
            edit("let total = compute(1, 2);\nprint(total);", "x").apply(file.as_bytes()).unwrap_err()
        else {
            panic!("it is not there")
        };
        assert!(advice.contains("they differ only in blanks"), "{advice}");
        let nothing = edit("something else entirely", "y").apply(file.as_bytes()).unwrap_err();
        assert_eq!(nothing, Miss::Nowhere("; read the file for what stands there".into()));
    }

    #[test]
    fn an_edit_that_was_made_says_so() {
        let again = edit("old words", "new words").apply(b"new words\n").unwrap_err();
        assert!(again.to_string().contains("may have been made before"));
        assert_eq!(edit("", "x").apply(b"").unwrap_err(), Miss::Empty);
        assert_eq!(edit("x", "x").apply(b"x").unwrap_err(), Miss::Same);
    }
}
