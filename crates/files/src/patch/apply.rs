//! What files become by a patch: computed from texts, before anything is written.

use super::{Action, FilePatch, Hunk, Sign};
use crate::edit::nearest;
use std::collections::BTreeMap;

/// Something of a patch that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// What is wrong, and what would help.
    pub why: String,
}

/// What each file that a patch names is to become; `None` is removed. `before` gives what is there.
pub fn apply(
    patches: &[FilePatch],
    before: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<BTreeMap<String, Option<Vec<u8>>>, Vec<Problem>> {
    let mut after: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    let mut problems = Vec::new();
    for patch in patches {
        let now = |path: &str| after.get(path).cloned().unwrap_or_else(|| before(path));
        match outcome(patch, now) {
            Ok(changes) => after.extend(changes),
            Err(why) => problems.push(Problem { path: patch.path.clone(), why }),
        }
    }
    if problems.is_empty() { Ok(after) } else { Err(problems) }
}

type Changes = Vec<(String, Option<Vec<u8>>)>;

fn outcome(patch: &FilePatch, now: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Changes, String> {
    let path = patch.path.clone();
    match (&patch.action, now(&patch.path)) {
        (Action::Add(_), Some(_)) => Err("it exists already; update it, or delete it first".into()),
        (Action::Add(content), None) => Ok(vec![(path, Some(content.clone().into_bytes()))]),
        (_, None) => Err("it does not exist".into()),
        (Action::Delete, Some(_)) => Ok(vec![(path, None)]),
        (Action::Update { to, hunks }, Some(content)) => {
            let content = updated(&content, hunks)?;
            match to.as_ref().filter(|to| **to != path) {
                Some(to) if now(to).is_some() => {
                    Err(format!("it cannot become `{to}`, which exists already"))
                }
                Some(to) => Ok(vec![(path, None), (to.clone(), Some(content))]),
                None => Ok(vec![(path, Some(content))]),
            }
        }
    }
}

/// A file as lines without their ends.
struct Lines<'a> {
    lines: Vec<&'a [u8]>,
    /// Whether lines end with `\r\n`.
    returns: bool,
    /// Whether the last line has an end.
    closed: bool,
}

impl<'a> Lines<'a> {
    fn of(content: &'a [u8]) -> Lines<'a> {
        let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let closed = lines.last().is_none_or(|last| last.is_empty());
        if closed {
            lines.pop();
        }
        let with_return = lines.iter().filter(|line| line.ends_with(b"\r")).count();
        let returns = with_return * 2 > lines.len();
        Lines { lines, returns, closed }
    }
}

fn updated(content: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let file = Lines::of(content);
    let mut out: Vec<Vec<u8>> = Vec::with_capacity(file.lines.len());
    let (mut at, mut closed) = (0, file.closed);
    for (number, hunk) in hunks.iter().enumerate() {
        let of = if hunks.len() > 1 {
            format!("change {} of {}: ", number + 1, hunks.len())
        } else {
            String::new()
        };
        let begins =
            place(&file.lines, hunk, at).map_err(|why| format!("{of}{}", why.told(content, hunk)))?;
        out.extend(file.lines[at..begins].iter().map(|line| line.to_vec()));
        at = begins;
        for (sign, text) in &hunk.lines {
            match sign {
                // As it is in the file, which may differ in blanks.
                Sign::Keep => out.push(file.lines[at].to_vec()),
                Sign::Insert => out.push(inserted(text, file.returns)),
                Sign::Remove => {}
            }
            at += usize::from(*sign != Sign::Insert);
        }
        if at == file.lines.len() {
            let ends_as_before = matches!(hunk.lines.last(), Some((Sign::Keep, _)) | None);
            closed = if ends_as_before { closed } else { !hunk.open_end };
        }
    }
    out.extend(file.lines[at..].iter().map(|line| line.to_vec()));
    let mut joined = out.join(&b'\n');
    if closed && !out.is_empty() {
        joined.push(b'\n');
    }
    Ok(joined)
}

fn inserted(text: &str, returns: bool) -> Vec<u8> {
    let mut line = text.as_bytes().to_vec();
    line.extend(returns.then_some(b'\r'));
    line
}

/// Why a hunk has no place.
enum NoPlace {
    Heading(String),
    Nowhere,
    Done,
    Several(Vec<usize>),
}

impl NoPlace {
    fn told(self, content: &[u8], hunk: &Hunk) -> String {
        match self {
            NoPlace::Heading(heading) => format!("no line `{heading}` was found after the change before it"),
            NoPlace::Done => {
                "its lines are not there, but what it makes of them is: it seems to be applied already".into()
            }
            NoPlace::Several(lines) => {
                let lines: Vec<String> = lines.iter().take(6).map(|line| (line + 1).to_string()).collect();
                format!(
                    "its lines stand in several places (lines {}); add lines around the change, or a heading behind `@@`",
                    lines.join(", ")
                )
            }
            NoPlace::Nowhere => {
                let old: Vec<&str> = hunk.old().collect();
                let near = nearest(content, &old.join("\n"));
                let near = near.map(|(line, text, why)| {
                    format!("; the most similar lines begin at line {line} ({why}):\n{text}")
                });
                format!("its lines were not found{}", near.unwrap_or_else(|| "; read the file first".into()))
            }
        }
    }
}

impl Hunk {
    /// The lines that must be there.
    fn old(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|(sign, _)| *sign != Sign::Insert).map(|(_, text)| text.as_str())
    }

    fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|(sign, _)| *sign != Sign::Remove).map(|(_, text)| text.as_str())
    }
}

/// How exactly lines must be the same.
type Same = fn(&[u8], &str) -> bool;

const SAME: [Same; 3] = [
    |line, text| line.strip_suffix(b"\r").unwrap_or(line) == text.as_bytes(),
    |line, text| line.trim_ascii_end() == text.as_bytes().trim_ascii_end(),
    |line, text| line.trim_ascii() == text.as_bytes().trim_ascii(),
];

/// The line at which a hunk begins.
fn place(lines: &[&[u8]], hunk: &Hunk, from: usize) -> Result<usize, NoPlace> {
    let from = after_headings(lines, &hunk.headings, from)?;
    let old: Vec<&str> = hunk.old().collect();
    if old.is_empty() {
        // Nothing is said about what is there: where the number says, behind the heading, or at the end.
        let hinted = hunk.hint.map(|hint| hint.clamp(from, lines.len()));
        let behind = (!hunk.headings.is_empty()).then_some(from);
        return Ok(hinted.or(behind).unwrap_or(lines.len()));
    }
    for same in SAME {
        let found = found(lines, &old, from, same, hunk.at_end);
        match (&found[..], hunk.hint) {
            ([], _) => {}
            ([only], _) => return Ok(*only),
            ([first, ..], None) if !hunk.headings.is_empty() => return Ok(*first),
            (several, Some(hint)) => {
                let far = |at: &usize| (at + 1).abs_diff(hint);
                return Ok(*several.iter().min_by_key(|at| far(at)).expect("there are several"));
            }
            (_, None) => return Err(NoPlace::Several(found)),
        }
    }
    let new: Vec<&str> = hunk.new_lines().collect();
    let is_done = !new.is_empty() && !found(lines, &new, from, SAME[0], false).is_empty();
    Err(if is_done { NoPlace::Done } else { NoPlace::Nowhere })
}

fn found(lines: &[&[u8]], old: &[&str], from: usize, same: Same, at_end: bool) -> Vec<usize> {
    let Some(last) = lines.len().checked_sub(old.len()) else { return Vec::new() };
    let fits = |at: &usize| lines[*at..].iter().zip(old).all(|(line, text)| same(line, text));
    if at_end && last >= from && fits(&last) {
        return vec![last];
    }
    (from..=last).filter(fits).collect()
}

fn after_headings(lines: &[&[u8]], headings: &[String], from: usize) -> Result<usize, NoPlace> {
    headings.iter().try_fold(from, |from, heading| {
        let is_it = |line: &&[u8]| line.trim_ascii() == heading.trim().as_bytes();
        let begins = |line: &&[u8]| line.trim_ascii().starts_with(heading.trim().as_bytes());
        let found = lines[from..].iter().position(is_it);
        let found = found.or_else(|| lines[from..].iter().position(begins));
        found.map(|at| from + at + 1).ok_or_else(|| NoPlace::Heading(heading.clone()))
    })
}
