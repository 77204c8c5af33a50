//! A policy as it is meant: what programs, paths, hosts, tools and variables are allowed.

use crate::authority::{Actor, Named};
use crate::judging::Host;
use crate::protected::Names;
use crate::reading::Caps;
use crate::reading::word::{Pattern, Piece};
use crate::verdict::OnViolation;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::time::Duration;

/// A policy. Made by [`Policy::parse`] or [`Policy::preset`].
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name: that of the preset it extends, or of its own.
    pub name: String,
    /// Programs.
    pub binaries: Binaries,
    /// Files and folders.
    pub paths: Paths,
    /// Hosts that may be reached.
    pub hosts: Vec<Host>,
    /// Tools.
    pub tools: Tools,
    /// The environment of what runs.
    pub environment: Environment,
    /// How much of everything.
    pub limits: Limits,
    /// What becomes of what no rule allows.
    pub on_violation: OnViolation,
    /// Another authority that is asked about everything, and the file of its rules.
    pub authority: Option<Named>,
    /// Who is asked about.
    pub actor: Actor,
}

/// Programs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Binaries {
    /// `ls`, `git status`, or `*` for all.
    pub allow: Vec<String>,
    /// What stays denied, whatever allows it.
    pub deny: Vec<String>,
    /// Programs without a profile that may run with any arguments, as code of the project.
    pub trust: Vec<String>,
}

/// Files and folders, seen from the root.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paths {
    /// What may be read.
    pub read: Vec<PathPattern>,
    /// What may be written.
    pub write: Vec<PathPattern>,
    /// What may not be written, beside the names that are always protected.
    pub protect: Vec<PathPattern>,
    /// What may not be read, beside the names that are always secret.
    pub secret: Vec<PathPattern>,
}

/// Tools, by patterns of their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// What may be called.
    pub allow: Vec<String>,
    /// What may not.
    pub deny: Vec<String>,
}

/// The environment of what runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    /// Variables that a command may set for itself.
    pub assign: Vec<String>,
    /// Variables that are passed on from the engine.
    pub pass: Vec<String>,
    /// Variables that are always set.
    pub set: BTreeMap<String, String>,
}

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a command text.
    pub bytes: usize,
    /// Words of a command.
    pub words: usize,
    /// Commands of a text.
    pub commands: usize,
    /// How long a command may run.
    pub timeout: Duration,
    /// Bytes of output that are kept.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let Caps { bytes, words, commands } = Caps::default();
        Limits { bytes, words, commands, timeout: Duration::from_secs(120), output: 1 << 20 }
    }
}

impl Limits {
    pub(crate) fn caps(self) -> Caps {
        Caps { bytes: self.bytes, words: self.words, commands: self.commands }
    }
}

impl Policy {
    /// A policy that allows nothing.
    pub(crate) fn nothing(name: &str) -> Policy {
        Policy {
            name: name.to_owned(),
            binaries: Binaries::default(),
            paths: Paths::default(),
            hosts: Vec::new(),
            tools: Tools::default(),
            environment: Environment::default(),
            limits: Limits::default(),
            on_violation: OnViolation::HardAbort,
            authority: None,
            actor: Actor::default(),
        }
    }

    /// The same policy, asked about what somebody does.
    pub fn for_actor(self, actor: Actor) -> Policy {
        Policy { actor, ..self }
    }

    /// A policy that allows everything but to write what these patterns name.
    pub fn keeping(patterns: Vec<PathPattern>) -> Policy {
        let everything = || vec![PathPattern { text: "**".to_owned(), parts: vec![Part::Any] }];
        Policy {
            binaries: Binaries { allow: vec!["*".to_owned()], ..Binaries::default() },
            paths: Paths { read: everything(), write: everything(), protect: patterns, secret: Vec::new() },
            tools: Tools { allow: vec!["*".to_owned()], deny: Vec::new() },
            on_violation: OnViolation::ValidationFail,
            ..Policy::nothing("protect")
        }
    }

    /// Whether every program may run that no rule denies.
    pub(crate) fn allows_all(&self) -> bool {
        self.binaries.allow.iter().any(|entry| entry == "*")
    }
}

/// A path with wildcards: `src/**`, `*.lock`. Without a slash it is a name at any depth; what is beneath belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Any,
    Name { name: Name, folded: Name },
}

impl Part {
    fn literal(&self) -> Option<&str> {
        match self {
            Part::Name { name: Name::Literal(name), .. } => Some(name),
            Part::Name { .. } | Part::Any => None,
        }
    }
}

/// One name of a pattern: a text, or with wildcards.
#[derive(Debug, Clone, PartialEq)]
enum Name {
    Literal(String),
    Wild(Pattern),
}

impl Name {
    fn of(pattern: Pattern) -> Name {
        pattern.literal().map_or(Name::Wild(pattern), Name::Literal)
    }

    fn takes(&self, name: &str) -> bool {
        match self {
            Name::Literal(own) => own == name,
            Name::Wild(pattern) => pattern.matches_any(name),
        }
    }
}

impl PathPattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<PathPattern, &'static str> {
        let clean = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        if text.is_empty() {
            return Err("an empty path names nothing");
        }
        if text.starts_with('/') || text.starts_with('~') {
            return Err("paths are seen from the root, so they are relative");
        }
        if clean.split('/').any(|name| name == "..") {
            return Err("paths do not leave the root");
        }
        let mut parts = Vec::new();
        if !clean.contains('/') && clean != "." && !clean.is_empty() {
            parts.push(Part::Any);
        }
        for name in clean.split('/').filter(|name| !name.is_empty() && *name != ".") {
            let pattern = Pattern::of_text(name);
            parts.push(match name {
                "**" => Part::Any,
                _ => Part::Name { folded: Name::of(lower(&pattern)), name: Name::of(pattern) },
            });
        }
        Ok(PathPattern { text: text.to_owned(), parts })
    }

    /// The folder in which everything of the pattern is, from the root; empty for the root itself.
    pub fn folder(&self) -> String {
        let literal = self.parts.iter().map_while(Part::literal);
        literal.collect::<Vec<_>>().join("/")
    }

    /// Whether a path from the root is one of the pattern, or beneath one.
    pub fn covers(&self, path: &Path) -> bool {
        self.takes(&Names::of(path))
    }

    /// The same, of names that are known already.
    pub(crate) fn takes(&self, path: &Names<'_>) -> bool {
        takes(&self.parts, path.exact(), false)
    }

    /// The same without regard to case.
    pub(crate) fn takes_folded(&self, path: &Names<'_>) -> bool {
        takes(&self.parts, path.lower(), true)
    }
}

impl Display for PathPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn takes(parts: &[Part], names: &[impl AsRef<str>], is_folded: bool) -> bool {
    match parts.split_first() {
        // What is beneath belongs to it.
        None => true,
        Some((Part::Any, [])) => true,
        Some((Part::Any, rest)) => (0..=names.len()).any(|at| takes(rest, &names[at..], is_folded)),
        Some((Part::Name { name, folded }, rest)) => names.split_first().is_some_and(|(first, left)| {
            let name = if is_folded { folded } else { name };
            name.takes(first.as_ref()) && takes(rest, left, is_folded)
        }),
    }
}

fn lower(pattern: &Pattern) -> Pattern {
    let lower = |piece: &Piece| match piece {
        Piece::Literal(c) => Piece::Literal(c.to_lowercase().next().unwrap_or(*c)),
        other => other.clone(),
    };
    Pattern(pattern.0.iter().map(lower).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_paths_take_what_is_beneath() {
        let takes = |pattern: &str, path: &str| {
            PathPattern::parse(pattern).unwrap().takes(&Names::of(Path::new(path)))
        };
        assert!(takes("src/**", "src/a/b.rs") && takes("src", "src/a") && takes("a/src", "a/src/x"));
        assert!(
            takes("*.lock", "deep/Cargo.lock")
                && takes("**", "x")
                && takes(".", "x/y")
                && takes("a/**/z", "a/b/c/z")
        );
        assert!(takes("**", ".hidden"));
        assert!(
            !takes("src/**", "srcs/a") && !takes("a/src", "b/a/src") && !takes("tests/**", "src/tests.rs")
        );
        assert!(PathPattern::parse("Tests/**").unwrap().takes_folded(&Names::of(Path::new("tests/x"))));
        let folder = |pattern: &str| PathPattern::parse(pattern).unwrap().folder();
        assert_eq!(
            (folder("src/**"), folder("a/b/*.rs"), folder("**"), folder("*.lock")),
            ("src".into(), "a/b".into(), String::new(), String::new())
        );
        for wrong in ["", "/etc", "~/x", "a/../b"] {
            assert!(PathPattern::parse(wrong).is_err());
        }
    }
}
