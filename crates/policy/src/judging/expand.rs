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
    let refuse = |why: &str| Err(Reason::new(Rule::Complex, format!("the pattern `{text}` {why}")));
    if text.len() > LONGEST {
        return refuse("is longer than any that is looked up; name the files");
    }
    match pattern.0.first() {
        Some(Piece::Literal('-' | '/')) => {
            return refuse("may become an option or leave the folder; name the files");
        }
        Some(Piece::Literal(_)) => {}
        _ => {
            return refuse(
                "begins with a wildcard, so it may become an option; put ./ before it, or quotes around it",
            );
        }
    }
    if pattern.0.contains(&Piece::Literal('\\')) {
        return refuse("holds a backslash; name the files");
    }
    if let Some(secret) = pattern_reaches_secret(pattern) {
        return refuse(&format!("may stand for a secret file (`{secret}`); name the files"));
    }
    let mut paths = vec![String::new()];
    let parts = pattern.components();
    let mut wild = false;
    for (at, part) in parts.iter().enumerate() {
        if let Some(name) = part.literal() {
            if wild && name == ".." {
                return refuse("goes up behind a wildcard; name the files");
            }
            for path in &mut paths {
                push(path, &name, at);
            }
            continue;
        }
        wild = true;
        let mut next = Vec::new();
        for path in &paths {
            let inside = folder.join(if path.is_empty() { "." } else { path });
            let found = world.resolve(&inside, Access::Look);
            let Place::Beneath(_) = found.place else {
                return refuse("leads out of the root; name the files inside of it");
            };
            if found.kind != Kind::Folder {
                continue;
            }
            let Some(names) = world.names(&inside, part) else {
                return refuse("depends on the files that are there; name them");
            };
            for name in names {
                let mut longer = path.clone();
                push(&mut longer, &name, at);
                next.push(longer);
            }
        }
        if next.len() > MOST {
            return refuse("stands for too many files; name fewer");
        }
        paths = next;
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
    if paths.is_empty() {
        return Ok(vec![text.to_owned()]);
    }
    match paths.iter().any(|path| path.chars().any(char::is_control)) {
        true => refuse("stands for a name with control characters; name the files"),
        false => Ok(paths),
    }
}

fn push(path: &mut String, name: &str, at: usize) {
    if at > 0 {
        path.push('/');
    }
    path.push_str(name);
}
