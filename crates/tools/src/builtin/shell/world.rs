//! The disk as policies ask about it: everything is looked up beneath the root, by descriptor.

use convoke_files::{Root, Standing};
use convoke_policy::{Access, Kind, Pattern, Place, Resolution, World};
use std::path::Path;

/// What is beneath a root.
pub(super) struct Beneath<'r>(pub &'r Root);

impl World for Beneath<'_> {
    fn root(&self) -> &Path {
        self.0.path()
    }

    fn resolve(&self, path: &Path, access: Access) -> Resolution {
        let outside = Resolution { place: Place::Outside, kind: Kind::Absent };
        let Some(path) = path.to_str() else { return outside };
        match self.0.resolve(path, !access.changes()) {
            Some((place, standing)) => Resolution {
                place: Place::Beneath(if place.is_root() { "".into() } else { place.as_str().into() }),
                kind: match standing {
                    Standing::Nothing => Kind::Absent,
                    Standing::File { names } => Kind::File { names },
                    Standing::Folder => Kind::Folder,
                    Standing::Link => Kind::Link,
                    Standing::Special => Kind::Special,
                },
            },
            None => outside,
        }
    }

    fn names(&self, folder: &Path, pattern: &Pattern) -> Option<Vec<String>> {
        let entries = self.0.entries(folder.to_str()?).ok()?;
        Some(entries.into_iter().map(|entry| entry.name).filter(|name| pattern.matches(name)).collect())
    }
}
