//! The form with `*** Begin Patch`: files by name, changes by the text around them.

use super::{Action, FilePatch, Hunk, NotAPatch, Sign};

/// Reads the lines after the first.
pub(super) fn read(lines: &[&str], from: usize) -> Result<Vec<FilePatch>, NotAPatch> {
    let (mut patches, mut at) = (Vec::new(), from);
    while at < lines.len() {
        let line = lines[at].trim_end();
        at += 1;
        if line == "*** End Patch" {
            return Ok(patches);
        }
        let named = |what: &str| line.strip_prefix(what).map(|path| path.trim().to_owned());
        if let Some(path) = named("*** Add File: ") {
            let content = added(lines, &mut at)?;
            patches.push(FilePatch { path, action: Action::Add(content) });
        } else if let Some(path) = named("*** Delete File: ") {
            patches.push(FilePatch { path, action: Action::Delete });
        } else if let Some(path) = named("*** Update File: ") {
            let action = updated(lines, &mut at)?;
            patches.push(FilePatch { path, action });
        } else if !line.is_empty() {
            let why = "expected `*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** End Patch`";
            return Err(NotAPatch::new(why, at - 1));
        }
    }
    // What was cut off must not be taken for the whole.
    Err(NotAPatch { why: "`*** End Patch` is missing".into(), line: None })
}

fn added(lines: &[&str], at: &mut usize) -> Result<String, NotAPatch> {
    let mut content = String::new();
    while let Some(line) = lines.get(*at).filter(|line| !line.starts_with("*** ")) {
        match line.strip_prefix('+') {
            Some(text) => {
                content.push_str(text);
                content.push('\n');
            }
            None if line.trim().is_empty() => content.push('\n'),
            None => return Err(NotAPatch::new("each line of a new file begins with `+`", *at)),
        }
        *at += 1;
    }
    Ok(content)
}

fn updated(lines: &[&str], at: &mut usize) -> Result<Action, NotAPatch> {
    let to = lines.get(*at).and_then(|line| line.strip_prefix("*** Move to: "));
    let to = to.map(|to| to.trim().to_owned());
    *at += usize::from(to.is_some());
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut headings: Vec<String> = Vec::new();
    let mut open: Option<Hunk> = None;
    while let Some(line) = lines.get(*at) {
        if line.trim_end() == "*** End of File" {
            open.get_or_insert_default().at_end = true;
        } else if line.starts_with("*** ") {
            break;
        } else if let Some(heading) = line.strip_prefix("@@") {
            hunks.extend(open.take());
            let heading = heading.trim().trim_end_matches("@@").trim();
            headings.extend((!heading.is_empty()).then(|| heading.to_owned()));
        } else {
            let hunk = open
                .get_or_insert_with(|| Hunk { headings: std::mem::take(&mut headings), ..Hunk::default() });
            hunk.lines.push(signed(line).ok_or_else(|| {
                NotAPatch::new(
                    "each line of a change begins with ` `, `+` or `-`, and changes with `@@`",
                    *at,
                )
            })?);
        }
        *at += 1;
    }
    hunks.extend(open);
    for hunk in &mut hunks {
        drop_trailing_blanks(hunk);
    }
    if hunks.is_empty() && to.is_none() {
        return Err(NotAPatch::new("an updated file needs a change", *at - 1));
    }
    Ok(Action::Update { to, hunks })
}

pub(super) fn signed(line: &str) -> Option<(Sign, String)> {
    let sign = match line.chars().next() {
        None => return Some((Sign::Keep, String::new())),
        Some(' ') => Sign::Keep,
        Some('+') => Sign::Insert,
        Some('-') => Sign::Remove,
        Some(_) => return None,
    };
    Some((sign, line[1..].to_owned()))
}

/// Blank lines between two parts of a patch are no part of a file, unless they begin with a sign.
pub(super) fn drop_trailing_blanks(hunk: &mut Hunk) {
    while hunk.lines.last().is_some_and(|(sign, text)| *sign == Sign::Keep && text.is_empty()) {
        hunk.lines.pop();
    }
}
