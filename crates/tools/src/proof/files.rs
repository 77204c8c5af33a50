//! Snapshots of files, to be compared later: a hash for each, by its path.
//!
//! Links are never followed. Files that are too large or too many to compare are refused before the work begins, never left out.

use convoke_files::{Entry, Kind, Root, Standing, Walk, Walked};
use convoke_model::{Condition, Digest};
use convoke_policy::PathPattern;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most files that are compared for one condition.
const MOST_FILES: usize = 50_000;

/// The most bytes that are compared for one condition.
const MOST_BYTES: u64 = 2 << 30;

/// The most entries that are gone through to find them.
const MOST_ENTRIES: usize = 500_000;

/// Names of changed files that are told.
const MOST_TOLD: usize = 10;

/// Where the engine keeps what is the project's: it changes with the run, not with the work.
const OWN: [&str; 2] = [".convoke", ".engine"];

/// What is there.
#[derive(Debug, PartialEq)]
pub(super) enum Snapshot {
    /// Each file by its path.
    Files(BTreeMap<String, String>),
    /// All of them as one hash, and how many there are.
    Whole(String, u64),
}

impl Snapshot {
    pub fn value(&self) -> Value {
        match self {
            Snapshot::Files(files) => json!({ "files": files }),
            Snapshot::Whole(hash, count) => json!({ "hash": hash, "count": count }),
        }
    }

    pub fn read(value: &Value) -> Option<Snapshot> {
        if let Some(files) = value.get("files") {
            return Some(Snapshot::Files(serde_json::from_value(files.clone()).ok()?));
        }
        Some(Snapshot::Whole(value.get("hash")?.as_str()?.to_owned(), value.get("count")?.as_u64()?))
    }
}

/// What is there of what a condition is about.
pub(super) fn snapshot(root: &Root, condition: &Condition) -> Result<Snapshot, String> {
    match condition {
        Condition::FileChanged(path) => {
            files(root, &patterns(std::slice::from_ref(path))?, true).map(Snapshot::Files)
        }
        Condition::Protected(paths) => files(root, &patterns(paths)?, true).map(Snapshot::Files),
        Condition::DiffNotEmpty(paths) => {
            // What git ignores is made by programs; it counts where a pattern names it.
            let found = files(root, &patterns(paths)?, !paths.is_empty())?;
            let lines: Vec<String> = found.iter().map(|(path, hash)| format!("{hash} {path}")).collect();
            Ok(Snapshot::Whole(Digest::of(lines.join("\n").as_bytes()).to_string(), found.len() as u64))
        }
        _ => Ok(Snapshot::Files(BTreeMap::new())),
    }
}

/// What a condition finds between two looks.
pub(super) fn changes(condition: &Condition, before: &Snapshot, now: &Snapshot) -> (bool, String) {
    match (before, now) {
        (Snapshot::Whole(old, _), Snapshot::Whole(new, count)) => match old == new {
            true => (false, format!("nothing changed in {count} files")),
            false => (true, String::new()),
        },
        (Snapshot::Files(old), Snapshot::Files(new)) => {
            let changed = different(old, new);
            let must_stay = matches!(condition, Condition::Protected(_));
            match (changed.is_empty(), must_stay) {
                (true, true) => (true, format!("{} as before", files_in_words(new.len()))),
                (true, false) if new.is_empty() => (false, "there is no such file".to_owned()),
                (true, false) => (false, "it is as it was before".to_owned()),
                (false, true) => (false, told(&changed)),
                (false, false) => (true, told(&changed)),
            }
        }
        _ => (false, "what was there before cannot be compared".to_owned()),
    }
}

/// Whether there is a file.
pub(super) fn exists(root: &Root, path: &str) -> (bool, String) {
    if path.contains(['*', '?', '[', '{']) {
        let found = patterns(&[path.to_owned()]).and_then(|patterns| names(root, &patterns));
        return match found {
            Ok(found) if found.is_empty() => (false, "no file has such a name".to_owned()),
            Ok(found) => (true, told(&found)),
            Err(why) => (false, why),
        };
    }
    match root.resolve(path, true) {
        Some((_, Standing::File { .. })) => (true, String::new()),
        Some((_, Standing::Folder)) => (false, "it is a folder, not a file".to_owned()),
        Some((_, Standing::Nothing)) => (false, "there is no such file".to_owned()),
        _ => (false, "it is no file beneath the folder".to_owned()),
    }
}

fn patterns(paths: &[String]) -> Result<Vec<PathPattern>, String> {
    let read = |path: &String| PathPattern::parse(path).map_err(|why| format!("`{path}`: {why}"));
    paths.iter().map(read).collect()
}

fn different(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let gone = old.keys().filter(|path| !new.contains_key(*path)).map(|path| format!("{path} is gone"));
    let made = new.keys().filter(|path| !old.contains_key(*path)).map(|path| format!("{path} is new"));
    let other = new.iter().filter(|(path, hash)| old.get(*path).is_some_and(|before| before != *hash));
    gone.chain(made).chain(other.map(|(path, _)| format!("{path} was changed"))).collect()
}

fn told(lines: &[String]) -> String {
    let further = lines.len().saturating_sub(MOST_TOLD);
    let mut text = lines.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join("\n");
    if further > 0 {
        text.push_str(&format!("\n… and {further} more"));
    }
    text
}

fn files_in_words(count: usize) -> String {
    if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") }
}

/// The names of files of these patterns.
fn names(root: &Root, patterns: &[PathPattern]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    walk(root, true, |at| {
        if at.entry.kind == Some(Kind::File) && is_meant(patterns, at.path) {
            found.push(at.path.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Each file of these patterns, or of all, with a hash of what it holds and whether it may be run.
fn files(
    root: &Root,
    patterns: &[PathPattern],
    with_ignored: bool,
) -> Result<BTreeMap<String, String>, String> {
    let (mut found, mut bytes) = (BTreeMap::new(), 0u64);
    walk(root, with_ignored, |at| {
        if !patterns.is_empty() && !is_meant(patterns, at.path) {
            return Ok(());
        }
        let hash = match at.entry.kind {
            Some(Kind::Folder) => return Ok(()),
            Some(Kind::File) => {
                bytes += at.entry.size;
                hash_of(root, &at)
            }
            // What a link leads to is not looked at, so nothing that must stay may be behind one.
            None if !patterns.is_empty() => {
                return Err(format!(
                    "`{}` is a symbolic link or no file; name the files themselves",
                    at.path
                ));
            }
            None => link(root, at.path),
        };
        found.insert(at.path.to_owned(), hash);
        match found.len() > MOST_FILES || bytes > MOST_BYTES {
            true => Err(format!(
                "more than {MOST_FILES} files or {} GiB would have to be compared; name fewer",
                MOST_BYTES >> 30
            )),
            false => Ok(()),
        }
    })?;
    Ok(found)
}

fn is_meant(patterns: &[PathPattern], path: &str) -> bool {
    patterns.iter().any(|pattern| pattern.covers(Path::new(path)))
}

/// Goes through everything but what is the engine's and git's own.
fn walk(
    root: &Root,
    with_ignored: bool,
    mut visit: impl FnMut(Walked<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let mut refused = Ok(());
    let going = Walk { depth: 128, with_ignored, most: MOST_ENTRIES };
    let whole = root.walk(".", going, |at| {
        let is_own = OWN.contains(&at.path.split('/').next().unwrap_or_default());
        let is_hidden = || {
            let lies = root.path().join(at.path);
            root.hidden().iter().any(|hidden| lies.starts_with(hidden))
        };
        if !is_own && !is_hidden() {
            refused = visit(at);
        }
        refused.is_ok()
    });
    refused?;
    match whole {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("the folder has more than {MOST_ENTRIES} entries; work in a smaller one")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

fn hash_of(root: &Root, at: &Walked<'_>) -> String {
    match at.open().map(|(file, _)| (mode(&file), contents(file))) {
        Some((mode, Ok(hash))) => format!("{hash}{mode}"),
        // What may hold a secret is not read; its time tells enough.
        _ => unread(root, at.path, at.entry),
    }
}

fn contents(mut file: File) -> io::Result<Digest> {
    let (mut parts, mut buffer) = (String::new(), vec![0; 1 << 20]);
    loop {
        let length = fill(&mut file, &mut buffer)?;
        if length == 0 {
            return Ok(Digest::of(parts.as_bytes()));
        }
        parts.push_str(&Digest::of(&buffer[..length]).to_string());
    }
}

fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// A program that is no longer one is another file.
fn mode(file: &File) -> &'static str {
    use std::os::unix::fs::PermissionsExt;
    let runs = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    if runs { "+x" } else { "" }
}

fn unread(root: &Root, path: &str, entry: &Entry) -> String {
    use std::os::unix::fs::MetadataExt;
    let found = root.path().join(path).symlink_metadata();
    let time = found.map_or((0, 0, 0), |found| (found.mtime(), found.mtime_nsec(), found.ino()));
    format!("unread {} {time:?}", entry.size)
}

fn link(root: &Root, path: &str) -> String {
    match root.path().join(path).read_link() {
        Ok(target) => format!("link to {}", target.display()),
        Err(_) => "no file".to_owned(),
    }
}
