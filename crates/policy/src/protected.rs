//! Which files are secret and which are protected, whatever a policy says.
//!
//! The names are those of the one table ([`convoke_model::protected`]); here they are asked about the path from the root after every
//! link was followed, and compared with patterns. They hold for files that are not there yet as well: a missing settings file is as
//! good a target as one that exists.

use crate::reading::word::{Pattern, Piece};
use convoke_model::protected as table;
use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

/// The names of a path from the root: as they are, and in lower case.
#[derive(Debug)]
pub struct Names<'a> {
    exact: Vec<Cow<'a, str>>,
    lower: Vec<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    /// The names of a path.
    pub fn of(path: &'a Path) -> Names<'a> {
        let exact: Vec<Cow<'a, str>> = path.iter().map(|name| name.to_string_lossy()).collect();
        let lower = exact.iter().cloned().map(table::fold).collect();
        Names { exact, lower }
    }

    /// As they are.
    pub fn exact(&self) -> &[Cow<'a, str>] {
        &self.exact
    }

    /// In lower case, without what some file systems pass over.
    pub fn lower(&self) -> &[Cow<'a, str>] {
        &self.lower
    }
}

/// Why a path may not be changed, if it may not. `replaces` is for whole entries: a folder that holds protected files must not
/// come to stand there either.
pub fn protected(path: &Path, replaces: bool) -> Option<String> {
    protected_names(&Names::of(path), replaces)
}

/// The same for the names of a path.
pub(crate) fn protected_names(names: &Names<'_>, replaces: bool) -> Option<String> {
    if let Some(guarded) = table::protected_names(names.lower()) {
        let name = guarded.name.trim_start_matches('/');
        return Some(format!("`{name}` and everything in it ({})", guarded.what));
    }
    let held = table::held_by(names.lower()).filter(|_| replaces)?;
    Some(format!("names like `{}` beneath it ({})", held.name, held.what))
}

/// Why a path may not be read, if it may not.
pub fn secret(path: &Path) -> Option<String> {
    secret_names(&Names::of(path))
}

/// The same for the names of a path.
pub(crate) fn secret_names(names: &Names<'_>) -> Option<String> {
    let found = table::secret_names(names.lower())?;
    Some(format!("`{}` may hold keys or passwords", found.name))
}

/// Secret names of one component.
pub(crate) fn secrets_of_one_name() -> impl Iterator<Item = &'static str> {
    table::SECRETS.iter().map(|guarded| guarded.name).filter(|name| !name.contains('/'))
}

/// The secret name that one name of a pattern may stand for. A bare `*` is left to those who know the folder.
pub fn pattern_reaches_secret(pattern: &Pattern) -> Option<&'static str> {
    for part in pattern.components() {
        if part.literal().is_some() || is_bare(&part) {
            continue;
        }
        let lower = |piece: &Piece| match piece {
            Piece::Literal(c) => Piece::Literal(c.to_ascii_lowercase()),
            other => other.clone(),
        };
        let part = Pattern(part.0.iter().map(lower).collect());
        if let Some(secret) = SECRETS.iter().find(|secret| secret.is_reached_by(&part)) {
            return Some(secret.text);
        }
    }
    None
}

/// A secret name, with the patterns that patterns are compared with.
struct Secret {
    text: &'static str,
    /// What it begins or ends with.
    fixed: &'static str,
    own: Pattern,
    /// Every name that begins or ends so.
    open: Pattern,
}

static SECRETS: LazyLock<Vec<Secret>> = LazyLock::new(|| {
    let literal = |text: &str| text.chars().map(Piece::Literal).collect::<Vec<_>>();
    let of = |text: &'static str| {
        let (fixed, open) = match text.strip_prefix('*') {
            Some(ending) => (ending, [vec![Piece::Many], literal(ending)].concat()),
            None => {
                let beginning = text.trim_end_matches('*');
                (beginning, [literal(beginning), vec![Piece::Many]].concat())
            }
        };
        Secret { text, fixed, own: Pattern::of_text(text), open: Pattern(open) }
    };
    secrets_of_one_name().map(of).collect()
});

impl Secret {
    /// What begins with a literal other than the secret's is told apart by it; what begins with a wildcard, by its end.
    fn is_reached_by(&self, part: &Pattern) -> bool {
        match self.text {
            // `id_*` takes names without an ending alone.
            table::BARE_KEY => {
                part.0.iter().all(|piece| *piece != Piece::Literal('.'))
                    && spells_beginning(part, self.fixed)
                    && part.meets(&self.open)
            }
            text if text.starts_with('*') => spells_ending(part) && part.meets(&self.open),
            _ => spells_beginning(part, self.fixed) && part.meets(&self.open) && part.meets(&self.own),
        }
    }
}

/// Whether a pattern is `*` alone, or `*` with one ending of a source file: such a one is common and stands for ordinary files.
fn is_bare(part: &Pattern) -> bool {
    part.0.iter().all(|piece| *piece == Piece::Many)
}

/// Whether a pattern spells out some of an ending: `*.p?m` does, `src*` does not.
fn spells_ending(part: &Pattern) -> bool {
    let mut tail = part.0.iter().rev().take_while(|piece| **piece != Piece::Many);
    tail.any(|piece| *piece == Piece::Literal('.'))
}

/// Whether a pattern spells out some of a beginning.
fn spells_beginning(part: &Pattern, beginning: &str) -> bool {
    let head = part.0.iter().take_while(|piece| **piece != Piece::Many);
    head.zip(beginning.chars()).any(|(piece, c)| *piece == Piece::Literal(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_hold_in_any_case_and_at_any_depth() {
        for path in [
            ".git/hooks/pre-commit",
            ".GIT/config",
            "sub/.git/config",
            ".Cargo/Config.toml",
            ".env.local",
            "a/.mcp.json",
            ".vscode/settings.json",
            ".git./config",
            "GIT~1/config",
            ".convoke/x",
            ".github/workflows/ci.yml",
            ".bashrc",
            ".claude/settings.local.json",
        ] {
            assert!(protected(Path::new(path), false).is_some(), "{path}");
        }
        for path in [
            ".gitignore",
            "src/git/config.rs",
            "environment.md",
            "cargo/config.toml",
            ".cargo/notes.md",
            "git/hooks/x",
        ] {
            assert_eq!(protected(Path::new(path), false), None, "{path}");
        }
        assert!(protected(Path::new(".cargo"), true).is_some());
        assert!(protected(Path::new(".cargo"), false).is_none());
    }

    #[test]
    fn secrets_are_told_from_what_is_named_alike() {
        for path in [
            ".env",
            "sub/.env.production",
            "deploy/key.pem",
            "id_rsa",
            "a/id_deploy",
            "home/.ssh/config",
            ".ENV",
        ] {
            assert!(secret(Path::new(path)).is_some(), "{path}");
        }
        for path in ["environment.md", "src/id_map.rs", "src/pem.rs", "envs/a", "docs/..notes.md", "key.rs"] {
            assert_eq!(secret(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn patterns_that_spell_a_secret_reach_it() {
        for text in [
            ".e*",
            ".en?",
            "./.[e]nv",
            "src/.env*",
            "deploy/*.p?m",
            "*.pem",
            "id_*",
            ".*",
            "k*.pem",
            "id_?sa",
            ".ss?/config",
        ] {
            assert!(pattern_reaches_secret(&Pattern::of_text(text)).is_some(), "{text}");
        }
        for text in ["src/*", "*.rs", "src/*.rs", "tests/a*", "README*", "Cargo.*", "a?c"] {
            assert_eq!(pattern_reaches_secret(&Pattern::of_text(text)), None, "{text}");
        }
    }
}
