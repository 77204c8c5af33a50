//! Paths: beneath the root, readable or writable by the policy, neither secret nor protected.

use crate::authority::{Action, Question, Resource};
use crate::policy::Policy;
use crate::protected::{self, Names};
use crate::verdict::{Judgement, Reason, Rule};
use crate::world::{Access, Kind, Place, World};
use std::path::{Path, PathBuf};

/// The longest path, and the longest name in one, that systems take.
const LONGEST: usize = 4096;
const LONGEST_NAME: usize = 255;

/// What was found of a path.
#[derive(Debug)]
pub struct Found {
    /// The path from the root.
    pub beneath: PathBuf,
    /// What is there.
    pub kind: Kind,
}

/// Judges a path as it was written, seen from a folder.
pub fn judge(
    policy: &Policy,
    world: &dyn World,
    folder: &Path,
    text: &str,
    access: Access,
) -> Result<Option<Found>, Reason> {
    if text.is_empty() {
        return Ok(None);
    }
    // The null device takes everything and gives nothing.
    if text == "/dev/null" && access != Access::Replace {
        return Ok(None);
    }
    let verb = verb(access);
    if text.len() > LONGEST || text.split('/').any(|name| name.len() > LONGEST_NAME) {
        return Err(Reason::new(Rule::Path, "a path is longer than any that a system takes"));
    }
    let resolved = world.resolve(&folder.join(text), access);
    let Place::Beneath(beneath) = resolved.place else {
        return Err(Reason::new(
            Rule::Path,
            format!(
                "`{text}` leads out of `{}`, so it may not be {verb}; use a path inside of it",
                world.root().display()
            ),
        ));
    };
    by_kind(text, resolved.kind, access, &beneath)?;
    if access.changes() {
        through_folders(world, folder, text)?;
        written(policy, text, &Names::of(&beneath), access)?;
    } else if access == Access::Read {
        read(policy, text, &Names::of(&beneath))?;
    }
    Ok(Some(Found { beneath, kind: resolved.kind }))
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Look => "looked at",
        Access::Read => "read",
        Access::Write | Access::Replace => "written",
    }
}

fn by_kind(text: &str, kind: Kind, access: Access, beneath: &Path) -> Result<(), Reason> {
    match kind {
        Kind::Special if access != Access::Look => Err(Reason::new(
            Rule::Path,
            format!("`{text}` is no file and no folder, but a device, a pipe or a socket"),
        )),
        Kind::Link if access.changes() => Err(Reason::new(
            Rule::Path,
            format!(
                "`{text}` is a symbolic link, which is not written through; write the file that it leads to"
            ),
        )),
        Kind::File { names } if names > 1 && access != Access::Look && !is_linked_by_tools(beneath) => {
            Err(Reason::new(
                Rule::Path,
                format!(
                    "`{text}` has {names} names (hard links), so it may be a file from elsewhere; copy it first"
                ),
            ))
        }
        Kind::Folder if access == Access::Replace && beneath.as_os_str().is_empty() => {
            Err(Reason::new(Rule::Path, format!("`{text}` is the root itself")))
        }
        _ => Ok(()),
    }
}

/// Folders in which package managers and compilers link files.
fn is_linked_by_tools(beneath: &Path) -> bool {
    beneath.iter().any(|name| name == "node_modules" || name == "target" || name == ".venv")
        || beneath.starts_with(".git/objects")
}

/// What makes folders on its way (`mkdir -p`) makes `new` of `new/../x` as well, which the resolved path does not name.
fn through_folders(world: &dyn World, folder: &Path, text: &str) -> Result<(), Reason> {
    let ups =
        text.match_indices("/..").filter(|(at, _)| matches!(text.as_bytes().get(at + 3), None | Some(b'/')));
    let ups = ups.map(|(at, _)| &text[..at]);
    for before in ups.filter(|before| before.split('/').any(|name| !matches!(name, "" | "." | ".."))) {
        if world.resolve(&folder.join(before), Access::Look).kind != Kind::Folder {
            return Err(Reason::new(
                Rule::Path,
                format!(
                    "`{text}` goes up behind `{before}`, which is no folder; write the path without `..`"
                ),
            ));
        }
    }
    Ok(())
}

fn written(policy: &Policy, text: &str, names: &Names<'_>, access: Access) -> Result<(), Reason> {
    if let Some(what) = protected::protected_names(names, access == Access::Replace) {
        return Err(Reason::new(
            Rule::Protected,
            format!(
                "`{text}` may not be written: {what} are protected, because programs and people act on them"
            ),
        ));
    }
    if let Some(pattern) = policy.paths.protect.iter().find(|pattern| pattern.takes_folded(names)) {
        return Err(Reason::new(
            Rule::Protected,
            format!("`{text}` may not be written: the policy protects `{pattern}`"),
        ));
    }
    match policy.paths.write.iter().any(|pattern| pattern.takes(names)) {
        true => Ok(()),
        false if policy.paths.write.is_empty() => {
            Err(Reason::new(Rule::Path, format!("`{text}` would be written, and this policy only reads")))
        }
        false => Err(Reason::new(
            Rule::Path,
            format!("`{text}` is not among the paths that this policy lets be written"),
        )),
    }
}

fn read(policy: &Policy, text: &str, names: &Names<'_>) -> Result<(), Reason> {
    if let Some(why) = protected::secret_names(names) {
        return Err(Reason::new(Rule::Protected, format!("`{text}` may not be read: {why}")));
    }
    if let Some(pattern) = policy.paths.secret.iter().find(|pattern| pattern.takes_folded(names)) {
        return Err(Reason::new(
            Rule::Protected,
            format!("`{text}` may not be read: the policy keeps `{pattern}` secret"),
        ));
    }
    match policy.paths.read.iter().any(|pattern| pattern.takes(names)) {
        true => Ok(()),
        false => Err(Reason::new(
            Rule::Path,
            format!("`{text}` is not among the paths that this policy lets be read"),
        )),
    }
}

impl Policy {
    /// May a tool read or write this path? Relative paths are seen from the root.
    pub fn judge_path(&self, path: &Path, access: Access, world: &dyn World) -> Judgement {
        let text = path.to_string_lossy();
        let judged = match form(&text) {
            Some(reason) => Err(reason),
            None => judge(self, world, world.root(), &text, access),
        };
        let (found, mut reasons) = match judged {
            Ok(found) => (found, Vec::new()),
            Err(reason) => (None, vec![reason]),
        };
        let opinions = match (&self.authority, found) {
            (Some(authority), Some(Found { beneath, .. })) => {
                let usual = if access.changes() { "write_file" } else { "read_file" };
                let tool = self.actor.tool.as_deref().unwrap_or(usual);
                let resource = Resource::Path(beneath.to_string_lossy().into_owned());
                let question =
                    Question { action: Action::Tool(tool.to_owned()), resource, access: Some(access) };
                authority.ask(&self.actor, vec![question], &mut reasons)
            }
            _ => Vec::new(),
        };
        self.concluded(Judgement { opinions, ..Judgement::from_reasons(reasons, self.on_violation, None) })
    }
}

/// Characters that some readers turn into dots and slashes.
const LOOK_ALIKES: [char; 9] = [
    '\u{ff0e}', '\u{ff0f}', '\u{2024}', '\u{2025}', '\u{2026}', '\u{2215}', '\u{2044}', '\u{29f8}',
    '\u{ff3c}',
];

/// Forms that are no paths, though a reader further on might make paths of them.
fn form(text: &str) -> Option<Reason> {
    let lower = text.to_ascii_lowercase();
    let wrong = if text.is_empty() {
        "an empty path names nothing".to_owned()
    } else if let Some((_, what)) = crate::reading::forbidden(text) {
        format!("the path holds {what}")
    } else if text.contains(['\n', '\t']) {
        "the path holds a line break or a tab".to_owned()
    } else if lower.contains("%2e") || lower.contains("%2f") || lower.contains("%5c") || lower.contains("%00")
    {
        format!("`{text}` has percent signs in the place of dots or slashes; write the path itself")
    } else if text.contains("://") || lower.starts_with("file:") {
        format!("`{text}` is an address, not a path")
    } else if text.contains('\\') {
        format!("`{text}` has backslashes, which separate names on other systems; use /")
    } else if text.contains(LOOK_ALIKES) {
        format!("`{text}` has characters that look like dots or slashes and are none")
    } else if text.starts_with('$') {
        format!("`{text}` begins with a variable, which is not expanded; use a path inside the root")
    } else if text.starts_with('~') {
        format!("`{text}` begins with a home folder, which is not expanded; use a path inside the root")
    } else {
        return None;
    };
    Some(Reason::new(Rule::Text, wrong))
}
