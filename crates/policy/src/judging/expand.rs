//! What an unquoted pattern stands for, found out once and put into the plan.
//!
//! A shell would look when it runs; the plan holds the names, so nothing can change between. A pattern that may begin a word, leave
//! its folder or spell a secret is not expanded at all.

use crate::protected::pattern_reaches_secret;
use crate::reading::word::{Pattern, Piece};
use crate::verdict::{Reason, Rule};
use crate::world::{Access, Kind, Place, World};
use std::path::Path;

/// Names that one pattern may stand for.
const MOST: usize = 256;
/// Bytes of a pattern. Comparing two patterns takes as long as both are, multiplied.
pub const LONGEST: usize = 255;

/// The words that a pattern becomes; the pattern itself where no name is of it, as in a shell.
pub fn expand(
    world: &dyn World,
    folder: &Path,
    text: &str,
    pattern: &Pattern,
) -> Result<Vec<String>, Reason> {
    let found = spelled(text, pattern).and_then(|()| named(world, folder, pattern));
    match found {
        Ok(paths) if paths.is_empty() => Ok(vec![text.to_owned()]),
        Ok(paths) => Ok(paths),
        Err(why) => Err(Reason::new(Rule::Complex, format!("the pattern `{text}` {why}"))),
    }
}

/// Whether a pattern is looked up at all; why it is not.
fn spelled(text: &str, pattern: &Pattern) -> Result<(), String> {
    if text.len() > LONGEST {
        return refused("is longer than any that is looked up; name the files");
    }
    match pattern.0.first() {
        Some(Piece::Literal('-' | '/')) => {
            return refused("may become an option or leave the folder; name the files");
        }
        Some(Piece::Literal(_)) => {}
        _ => {
            return refused(
                "begins with a wildcard, so it may become an option; put ./ before it, or quotes around it",
            );
        }
    }
    if pattern.0.contains(&Piece::Literal('\\')) {
        return refused("holds a backslash; name the files");
    }
    match pattern_reaches_secret(pattern) {
        Some(secret) => Err(format!("may stand for a secret file (`{secret}`); name the files")),
        None => Ok(()),
    }
}

/// The names that a pattern stands for, part by part.
fn named(world: &dyn World, folder: &Path, pattern: &Pattern) -> Result<Vec<String>, String> {
    let mut paths = vec![String::new()];
    let parts = pattern.components();
    let mut wild = false;
    for (at, part) in parts.iter().enumerate() {
        if let Some(name) = part.literal() {
            if wild && name == ".." {
                return refused("goes up behind a wildcard; name the files");
            }
            paths.iter_mut().for_each(|path| push(path, &name, at));
            continue;
        }
        wild = true;
        paths = longer(world, folder, &paths, part, at)?;
        if paths.len() > MOST {
            return refused("stands for too many files; name fewer");
        }
    }
    // Names behind the last wildcard are only meant where there is something.
    if parts.last().is_some_and(|part| part.literal().is_some()) {
        let folders_only = parts.last().is_some_and(|part| part.0.is_empty());
        paths.retain(|path| match world.resolve(&folder.join(path), Access::Look).kind {
            Kind::Absent => false,
            Kind::Folder => true,
            _ => !folders_only,
        });
    }
    match paths.iter().any(|path| path.chars().any(char::is_control)) {
        true => refused("stands for a name with control characters; name the files"),
        false => Ok(paths),
    }
}

/// Each path with each name of its folder that is of a part with wildcards.
fn longer(
    world: &dyn World,
    folder: &Path,
    paths: &[String],
    part: &Pattern,
    at: usize,
) -> Result<Vec<String>, String> {
    let mut next = Vec::new();
    for path in paths {
        let inside = folder.join(if path.is_empty() { "." } else { path });
        let found = world.resolve(&inside, Access::Look);
        let Place::Beneath(_) = found.place else {
            return refused("leads out of the root; name the files inside of it");
        };
        if found.kind != Kind::Folder {
            continue;
        }
        let Some(names) = world.names(&inside, part) else {
            return refused("depends on the files that are there; name them");
        };
        for name in names {
            let mut longer = path.clone();
            push(&mut longer, &name, at);
            next.push(longer);
        }
    }
    Ok(next)
}

fn refused<T>(why: &str) -> Result<T, String> {
    Err(why.to_owned())
}

fn push(path: &mut String, name: &str, at: usize) {
    if at > 0 {
        path.push('/');
    }
    path.push_str(name);
}
