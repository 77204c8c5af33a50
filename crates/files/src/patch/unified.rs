//! Unified diffs, as `diff -u` and git write them, and as models do, which miscount.

use super::begin::{drop_trailing_blanks, signed};
use super::{Action, FilePatch, Hunk, NotAPatch, Sign};

const NOWHERE: &str = "/dev/null";

/// What is known of a file before its changes.
#[derive(Default)]
struct Header {
    old: Option<String>,
    new: Option<String>,
    from: Option<String>,
    to: Option<String>,
    line: usize,
}

/// Reads all files.
pub(super) fn read(lines: &[&str]) -> Result<Vec<FilePatch>, NotAPatch> {
    let (mut patches, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        let Some(header) = header(lines, &mut at)? else { continue };
        let mut hunks = Vec::new();
        while lines.get(at).is_some_and(|line| line.starts_with("@@")) {
            hunks.push(hunk(lines, &mut at)?);
        }
        patches.push(header.patch(hunks)?);
    }
    Ok(patches)
}

/// Reads up to the first change; `None` for a line that belongs to nothing.
fn header(lines: &[&str], at: &mut usize) -> Result<Option<Header>, NotAPatch> {
    let mut header = Header { line: *at, ..Header::default() };
    let begins_here = |line: &str| line.starts_with("--- ") || line.starts_with("diff --git ");
    if !begins_here(lines[*at]) {
        let is_change = lines[*at].starts_with("@@");
        *at += 1;
        return match is_change {
            true => Err(NotAPatch::new("a change needs `--- a/PATH` and `+++ b/PATH` before it", *at - 1)),
            false => Ok(None),
        };
    }
    let mut seen_git = false;
    while let Some(line) = lines.get(*at) {
        let has_paths = header.old.is_some() || header.from.is_some() || header.to.is_some();
        if line.starts_with("@@") || line.starts_with("diff --git ") && seen_git {
            break;
        }
        if line.starts_with("--- ") && header.new.is_some() {
            break;
        }
        match line {
            _ if line.starts_with("diff --git ") => {
                if has_paths {
                    break;
                }
                seen_git = true;
            }
            _ if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") => {
                return Err(NotAPatch::new("binary files cannot be patched", *at));
            }
            _ if line.contains("mode 120000") => {
                return Err(NotAPatch::new("symbolic links cannot be made", *at));
            }
            _ => {
                let rest = |what: &str| line.strip_prefix(what).map(|path| plain(path, *at)).transpose();
                if let Some(path) = rest("--- ")? {
                    header.old = Some(path);
                } else if let Some(path) = rest("+++ ")? {
                    header.new = Some(path);
                } else if let Some(path) = rest("rename from ")? {
                    header.from = Some(path);
                } else if let Some(path) = rest("rename to ")? {
                    header.to = Some(path);
                } else if line.starts_with("copy ") {
                    return Err(NotAPatch::new("files cannot be copied by a patch", *at));
                }
            }
        }
        *at += 1;
        if header.new.is_some() && !lines.get(*at).is_some_and(|line| line.starts_with("@@")) {
            break;
        }
    }
    Ok(Some(header))
}

/// A path as it stands in a header, without the time behind it.
fn plain(path: &str, at: usize) -> Result<String, NotAPatch> {
    let path = path.split('\t').next().unwrap_or_default().trim_end();
    match path.starts_with('"') {
        true => Err(NotAPatch::new("quoted paths are not read; write the path as it is", at)),
        false => Ok(path.to_owned()),
    }
}

impl Header {
    fn patch(self, hunks: Vec<Hunk>) -> Result<FilePatch, NotAPatch> {
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            let action = Action::Update { to: Some(to.clone()), hunks };
            return Ok(FilePatch { path: from.clone(), action });
        }
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return Err(NotAPatch::new("a file needs `--- a/PATH` and `+++ b/PATH`", self.line));
        };
        // `a/` and `b/` are in front of both, or folders of that name are meant.
        let is_marked =
            (old == NOWHERE || old.starts_with("a/")) && (new == NOWHERE || new.starts_with("b/"));
        let path = |path: &str| if is_marked { path[2..].to_owned() } else { path.to_owned() };
        match (old.as_str(), new.as_str()) {
            (NOWHERE, NOWHERE) => Err(NotAPatch::new("both files are `/dev/null`", self.line)),
            (NOWHERE, new) => Ok(FilePatch { path: path(new), action: Action::Add(content(&hunks)) }),
            (old, NOWHERE) => Ok(FilePatch { path: path(old), action: Action::Delete }),
            (old, _) if hunks.is_empty() => {
                let why =
                    format!("`{}` has no change: `@@ -LINE,COUNT +LINE,COUNT @@` is missing", path(old));
                Err(NotAPatch::new(why, self.line))
            }
            (old, new) => {
                let (old, new) = (path(old), path(new));
                let to = (old != new).then_some(new);
                Ok(FilePatch { path: old, action: Action::Update { to, hunks } })
            }
        }
    }
}

fn content(hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|(sign, _)| *sign != Sign::Remove);
    let mut content: String = lines.map(|(_, text)| format!("{text}\n")).collect();
    if hunks.last().is_some_and(|hunk| hunk.open_end) {
        content.pop();
    }
    content
}

fn hunk(lines: &[&str], at: &mut usize) -> Result<Hunk, NotAPatch> {
    let (hint, mut old, mut new) = counts(lines[*at]);
    let mut hunk = Hunk { hint, ..Hunk::default() };
    *at += 1;
    while let Some(line) = lines.get(*at) {
        if line.starts_with("@@") || line.starts_with("diff --git ") {
            break;
        }
        let next = lines.get(*at + 1).copied().unwrap_or_default();
        // Counted out, it is the head of the next file; before that, a line that is removed may look like one.
        if line.starts_with("--- ") && next.starts_with("+++ ") && (old <= 0 && new <= 0) {
            break;
        }
        if line.starts_with('\\') {
            let is_old = hunk.lines.last().is_some_and(|(sign, _)| *sign == Sign::Remove);
            hunk.open_end |= !is_old;
            hunk.at_end = true;
            *at += 1;
            continue;
        }
        let Some((sign, text)) = signed(line) else {
            if old <= 0 && new <= 0 {
                break;
            }
            return Err(NotAPatch::new("each line of a change begins with ` `, `+` or `-`", *at));
        };
        old -= i64::from(sign != Sign::Insert);
        new -= i64::from(sign != Sign::Remove);
        hunk.lines.push((sign, text));
        *at += 1;
    }
    if old < 0 || new < 0 {
        // It has more lines than it says: those that are blank at its end belong to what comes after it.
        drop_trailing_blanks(&mut hunk);
    }
    match hunk.lines.iter().any(|(sign, _)| *sign != Sign::Keep) {
        true => Ok(hunk),
        false => Err(NotAPatch::new("a change has no line with `+` or `-`", *at - 1)),
    }
}

/// Where a hunk begins, and how many lines of each file it says it has. Without numbers there are none to count out.
fn counts(line: &str) -> (Option<usize>, i64, i64) {
    let inside = line.trim_start_matches('@').split("@@").next().unwrap_or_default();
    let mut ranges = inside.split_whitespace();
    let mut range = |sign: char| -> Option<(usize, i64)> {
        let text = ranges.next()?.strip_prefix(sign)?;
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    match (range('-'), range('+')) {
        (Some((line, old)), Some((_, new))) => (Some(line), old, new),
        _ => (None, 0, 0),
    }
}
