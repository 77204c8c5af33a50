//! A forecast: which worktrees change the same lines while they are still worked in.
//!
//! Compared are lines of the commit that both began at. It warns and decides nothing: whether there is a conflict shows when work
//! comes back.

use crate::error::Trouble;
use crate::git::{Git, Surroundings};
use crate::record::TreeRecord;
use std::collections::BTreeMap;

/// Lines of one file before a change: the first, and the one behind the last.
type Lines = (u64, u64);

/// What a worktree has changed, by file.
pub(crate) type Changes = BTreeMap<String, Vec<Lines>>;

/// What a worktree has changed since a commit.
pub(crate) fn changes(
    surroundings: &Surroundings,
    tree: &TreeRecord,
    since: &str,
) -> Result<Changes, Trouble> {
    let git = Git::new(surroundings, &tree.path).sparse(tree.sparse);
    let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--unified=0", since];
    let mut changes = read(&git.must(&args)?.text());
    for new in git.must(&["ls-files", "--others", "--exclude-standard", "-z"])?.parts() {
        changes.entry(new).or_default().push((0, 1));
    }
    Ok(changes)
}

/// The commit that two worktrees have in common.
pub(crate) fn common(
    surroundings: &Surroundings,
    one: &TreeRecord,
    other: &TreeRecord,
) -> Result<String, Trouble> {
    if one.base == other.base {
        return Ok(one.base.clone());
    }
    Git::new(surroundings, &one.common).text(&["merge-base", &one.base, &other.base])
}

/// The files in which both change the same lines.
pub(crate) fn both_change(one: &Changes, other: &Changes) -> Vec<String> {
    let meets = |a: &Lines, b: &Lines| a.0 < b.1 && b.0 < a.1;
    let same = one.iter().filter(|(file, lines)| {
        other.get(*file).is_some_and(|others| lines.iter().any(|a| others.iter().any(|b| meets(a, b))))
    });
    same.map(|(file, _)| file.clone()).collect()
}

/// Reads what `git diff` says: the heads of files and of changes.
fn read(text: &str) -> Changes {
    let mut changes = Changes::new();
    let (mut before, mut file) = (None, None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            before = name.strip_prefix("a/").map(str::to_owned);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(str::to_owned).or(before.take());
        } else if let (Some(head), Some(file)) = (line.strip_prefix("@@ -"), &file) {
            let lines = head.split(' ').next().and_then(lines);
            changes.entry(file.clone()).or_default().extend(lines);
        } else if let Some(names) = line.strip_prefix("Binary files a/") {
            let name = names.split(" and ").next().unwrap_or_default();
            changes.entry(name.to_owned()).or_default().push((0, u64::MAX));
        }
    }
    changes
}

/// `7,2` are two lines from the seventh on; `7,0` is the gap behind it, which two insertions share.
fn lines(text: &str) -> Option<Lines> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
    Some((first, first + count.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_lines_meet_and_neighbours_do_not() {
        let of = |text: &str| read(&format!("--- a/f\n+++ b/f\n@@ -{text} +1 @@\n"));
        assert_eq!(both_change(&of("7,2"), &of("8")), ["f"]);
        assert!(both_change(&of("7,2"), &of("9")).is_empty());
        assert_eq!(both_change(&of("7,0"), &of("7,0")), ["f"]);
        let other = read("--- a/g\n+++ b/g\n@@ -7 +7 @@\n");
        assert!(both_change(&of("7"), &other).is_empty());
        let deleted = read("--- a/f\n+++ /dev/null\n@@ -1,9 +0,0 @@\n");
        assert_eq!(both_change(&of("7"), &deleted), ["f"]);
    }
}
