//! Which files are secret and which are protected, whatever a policy says.
//!
//! Names are compared by components, without regard to case, on the path from the root after every link was followed. They hold for
//! files that are not there yet as well: a missing settings file is as good a target as one that exists.

use crate::reading::word::{Pattern, Piece};
use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

/// Folders of which nothing may be changed.
const FOLDERS: [&str; 18] = [
    ".git",
    ".hg",
    ".svn",
    ".convoke",
    ".engine",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".opencode",
    ".aider",
    ".vscode",
    ".idea",
    ".github",
    ".gitlab",
    ".circleci",
    ".husky",
    ".devcontainer",
];

/// Folders of the same kind, of two names.
const FOLDER_PAIRS: [(&str, &str); 3] = [(".config", "git"), (".config", "convoke"), (".config", "fish")];

/// Files that may not be changed.
const FILES: [&str; 46] = [
    ".cursorrules",
    ".clinerules",
    ".windsurfrules",
    ".roomodes",
    ".mcp.json",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".inputrc",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".gitattributes",
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".netrc",
    ".curlrc",
    ".wgetrc",
    ".ripgreprc",
    ".rgrc",
    ".vimrc",
    ".exrc",
    ".pythonstartup",
    ".editorconfig",
];

/// Files that may not be changed, with the folder that they are in.
const FILE_PAIRS: [(&str, &str); 4] = [
    (".cargo", "config.toml"),
    (".cargo", "config"),
    (".cargo", "credentials.toml"),
    (".config", "starship.toml"),
];

/// Folders of which nothing may be read.
const SECRET_FOLDERS: [&str; 6] = [".ssh", ".gnupg", ".aws", ".kube", ".azure", ".gcloud"];

/// Files that may not be read.
const SECRET_FILES: [&str; 22] = [
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.age",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    "credentials.toml",
    ".vault-token",
    ".dockercfg",
];

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
        let lower = exact.iter().cloned().map(folded).collect();
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
    let names = names.lower();
    for (at, name) in names.iter().enumerate() {
        if FOLDERS.contains(&&**name) {
            return Some(format!("`{name}` and everything in it"));
        }
        if let Some(next) = names.get(at + 1)
            && FOLDER_PAIRS.contains(&(name, next))
        {
            return Some(format!("`{name}/{next}` and everything in it"));
        }
    }
    let last = names.last()?;
    if FILES.contains(&&**last) || last.starts_with(".env") {
        return Some(format!("files named `{last}`"));
    }
    let above = names.len().checked_sub(2).map_or("", |at| &*names[at]);
    if FILE_PAIRS.contains(&(above, last)) {
        return Some(format!("`{above}/{last}`"));
    }
    let holds = |pair: &(&str, &str)| pair.0 == last;
    if replaces && (FILE_PAIRS.iter().any(holds) || FOLDER_PAIRS.iter().any(holds)) {
        return Some(format!("what `{last}` holds"));
    }
    if names.iter().any(|name| SECRET_FOLDERS.contains(&&**name)) {
        return Some("keys and their folders".to_owned());
    }
    None
}

/// Why a path may not be read, if it may not.
pub fn secret(path: &Path) -> Option<String> {
    secret_names(&Names::of(path))
}

/// The same for the names of a path.
pub(crate) fn secret_names(names: &Names<'_>) -> Option<String> {
    let found = names.lower().iter().find(|name| is_secret_name(name))?;
    Some(format!("`{found}` may hold keys or passwords"))
}

fn is_secret_name(name: &str) -> bool {
    // All of them begin with one of these letters, or have an ending.
    if !name.starts_with(['.', 'i', 'c']) && !name.contains('.') {
        return false;
    }
    SECRET_FOLDERS.contains(&name)
        || SECRET_FILES.iter().any(|pattern| plain_match(pattern, name))
        // A private key of any name; what has an ending is a file of a program.
        || (name.starts_with("id_") && !name.contains('.'))
}

fn plain_match(pattern: &str, name: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start),
        (_, Some(end)) => name.ends_with(end),
        _ => name == pattern,
    }
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
    let all = SECRET_FILES.iter().chain(&SECRET_FOLDERS).chain(&["id_*"]);
    let literal = |text: &str| text.chars().map(Piece::Literal).collect::<Vec<_>>();
    all.map(|text| {
        let (fixed, open) = match text.strip_prefix('*') {
            Some(ending) => (ending, [vec![Piece::Many], literal(ending)].concat()),
            None => {
                let beginning = text.trim_end_matches('*');
                (beginning, [literal(beginning), vec![Piece::Many]].concat())
            }
        };
        Secret { text, fixed, own: Pattern::of_text(text), open: Pattern(open) }
    })
    .collect()
});

impl Secret {
    /// What begins with a literal other than the secret's is told apart by it; what begins with a wildcard, by its end.
    fn is_reached_by(&self, part: &Pattern) -> bool {
        match self.text {
            // `id_*` takes names without an ending alone.
            "id_*" => {
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

/// Globs that a search through folders leaves out, so that it reads no secret file.
pub const LEFT_OUT: [&str; 11] = [
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    ".netrc",
    ".npmrc",
    ".git-credentials",
];

/// A name in lower case. Dots and blanks at the end are nothing to some file systems.
fn folded(name: Cow<'_, str>) -> Cow<'_, str> {
    let is_folded = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let name = match is_folded && !name.ends_with(['.', ' ']) {
        true => name,
        false => name.to_lowercase().trim_end_matches(['.', ' ']).to_owned().into(),
    };
    // The short name that some file systems give to `.git`.
    if name == "git~1" { ".git".into() } else { name }
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
