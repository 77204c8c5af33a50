//! What a step keeps as it is, as names that a sandbox can hold.
//!
//! A folder is held as a whole, also while it is not there. Other patterns are held by the files that they name now; one that is made
//! later is found by those that compare (`proof::files`).

use convoke_files::{Kind, Root, Walk};
use convoke_policy::PathPattern;
use std::path::Path;

/// The most names; a sandbox holds each by a mount.
const MOST_NAMES: usize = 2_000;

/// The most entries that are gone through to find them.
const MOST_ENTRIES: usize = 500_000;

/// The names, those of folders with a `/` at their end.
pub(super) fn names(root: &Root) -> Result<Vec<String>, String> {
    let (mut names, mut sought) = (Vec::new(), Vec::new());
    for text in root.kept() {
        match whole(root, text) {
            Some(name) => names.push(name),
            None => sought.push(PathPattern::parse(text).map_err(|why| format!("`protect: {text}`: {why}"))?),
        }
    }
    if !sought.is_empty() {
        find(root, &sought, &mut names)?;
    }
    Ok(names)
}

/// The name that a pattern is, where it needs no looking for: `tests/**`, `a/b.txt`.
fn whole(root: &Root, text: &str) -> Option<String> {
    let plain = text.strip_prefix("./").unwrap_or(text);
    let (folder, is_folder) = match plain.strip_suffix("/**") {
        Some(folder) => (folder, true),
        None => (plain.trim_end_matches('/'), false),
    };
    if folder.is_empty() || folder.contains(['*', '?', '[', '{']) || !is_folder && !folder.contains('/') {
        return None;
    }
    let is_folder = is_folder || root.path().join(folder).is_dir();
    Some(if is_folder { format!("{folder}/") } else { folder.to_owned() })
}

fn find(root: &Root, sought: &[PathPattern], names: &mut Vec<String>) -> Result<(), String> {
    let going = Walk { depth: 128, with_ignored: true, most: MOST_ENTRIES };
    let whole = root.walk(".", going, |at| {
        if sought.iter().any(|pattern| pattern.covers(Path::new(at.path))) {
            let is_folder = at.entry.kind == Some(Kind::Folder);
            names.push(if is_folder { format!("{}/", at.path) } else { at.path.to_owned() });
        }
        names.len() <= MOST_NAMES
    });
    match whole {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("`protect` names more than {MOST_NAMES} files: name the folder that they are in"))
        }
        Err(refusal) => Err(refusal.to_string()),
    }
}
