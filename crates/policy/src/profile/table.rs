//! What each program takes: options and the roles of operands, as data.
//!
//! One line per program: `names | options | operands`. An option that is not in the line does not exist: no prefixes, no guesses.
//!
//! | written | means |
//! |---|---|
//! | `-abc` | three flags, also in a cluster |
//! | `-n:num` | a short option with a value, attached or next |
//! | `-U?num` | a short option whose value, if any, is attached |
//! | `-#` | a number as an option, such as `-20` |
//! | `--all` | a flag |
//! | `--lines=num` | a long option with a value, after `=` or next |
//! | `--color?text` | a long option whose value, if any, is after `=` |
//! | `!` at the end | with this option, the first operand is no pattern |
//!
//! Operands: roles in their order, the last with `*` for any number, `?` where it may be missing; `--` begins those that come after `--`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a value or an operand is to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Harmless, whatever it is.
    Text,
    /// A number, with a unit or a sign.
    Number,
    /// A file that is looked at.
    Look,
    /// A file or folder that is read.
    Read,
    /// A file that is written.
    Write,
    /// An entry that comes or goes as a whole.
    Replace,
    /// A revision of git, or a path.
    Revision,
    /// A path as git takes it, maybe with wildcards.
    Pathspec,
    /// A working file that git writes.
    WrittenPathspec,
    /// A pattern for names of files; the shell must not have expanded it.
    Pattern,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// No.
    Nothing,
    /// Yes, attached or next.
    Value(Role),
    /// Attached, or not at all.
    Attached(Role),
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Whether it has a value.
    pub takes: Takes,
    /// Whether it stands in for the first operand.
    pub gives_first: bool,
}

/// How many operands have a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// One.
    One,
    /// One, or none.
    Maybe,
    /// Any number.
    Many,
}

/// What a program takes.
#[derive(Debug, Default)]
pub struct Spec {
    /// Its short options.
    pub short: HashMap<char, Opt>,
    /// Its long options, without dashes.
    pub long: HashMap<&'static str, Opt>,
    /// Whether `-20` is an option.
    pub digits: bool,
    /// Roles of operands.
    pub operands: Vec<(Role, Count)>,
    /// Roles of operands after `--`, where they differ.
    pub after: Option<Vec<(Role, Count)>>,
}

/// The profile of a program, or of a program and its sub-command with a blank between them.
pub fn spec(name: &str) -> Option<&'static Spec> {
    SPECS.get(name)
}

/// Names of all profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    SPECS.keys().copied()
}

static SPECS: LazyLock<HashMap<&'static str, Spec>> = LazyLock::new(|| {
    let tables = [
        super::data::FILES,
        super::data::TEXT,
        super::data::GIT,
        super::data::PROJECT,
        super::data::WRAPPERS,
    ];
    let lines = tables.into_iter().flat_map(str::lines).filter(|line| !line.trim().is_empty());
    lines.flat_map(entry).collect()
});

fn entry(line: &'static str) -> impl Iterator<Item = (&'static str, Spec)> {
    let mut parts = line.split(" | ");
    let mut part =
        || parts.next().unwrap_or_else(|| panic!("a line of a table has three parts: {line}")).trim();
    let (names, options, operands) = (part(), part(), part());
    names.split(',').map(move |name| (name.trim(), parse(options, operands)))
}

fn parse(options: &'static str, operands: &'static str) -> Spec {
    let mut spec = Spec::default();
    for word in options.split_whitespace().filter(|word| *word != "none") {
        option(&mut spec, word);
    }
    let (before, after) = match operands.split_once("--") {
        Some((before, after)) => (before, Some(roles(after))),
        None => (operands, None),
    };
    spec.operands = roles(before);
    spec.after = after;
    spec
}

fn roles(text: &str) -> Vec<(Role, Count)> {
    let one = |word: &str| match word.chars().last() {
        Some('*') => (role(&word[..word.len() - 1]), Count::Many),
        Some('?') => (role(&word[..word.len() - 1]), Count::Maybe),
        _ => (role(word), Count::One),
    };
    text.split_whitespace().filter(|word| *word != "none").map(one).collect()
}

fn option(spec: &mut Spec, word: &'static str) {
    let (word, gives_first) = match word.strip_suffix('!') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let opt = |takes| Opt { takes, gives_first };
    if word == "-#" {
        spec.digits = true;
    } else if let Some(long) = word.strip_prefix("--") {
        let (name, takes) = match long.find(['=', '?']) {
            Some(at) if long.as_bytes()[at] == b'=' => (&long[..at], Takes::Value(role(&long[at + 1..]))),
            Some(at) => (&long[..at], Takes::Attached(role(&long[at + 1..]))),
            None => (long, Takes::Nothing),
        };
        spec.long.insert(name, opt(takes));
    } else {
        let letters =
            word.strip_prefix('-').unwrap_or_else(|| panic!("an option begins with a dash: {word}"));
        match letters.find([':', '?']) {
            Some(at) => {
                let value = role(&letters[at + 1..]);
                let takes =
                    if letters.as_bytes()[at] == b':' { Takes::Value(value) } else { Takes::Attached(value) };
                let [letter] = *letters[..at].chars().collect::<Vec<_>>() else {
                    panic!("one letter stands before a value: {word}")
                };
                spec.short.insert(letter, opt(takes));
            }
            None => spec.short.extend(letters.chars().map(|letter| (letter, opt(Takes::Nothing)))),
        }
    }
}

fn role(word: &str) -> Role {
    match word {
        "text" => Role::Text,
        "num" => Role::Number,
        "look" => Role::Look,
        "read" => Role::Read,
        "write" => Role::Write,
        "replace" => Role::Replace,
        "rev" => Role::Revision,
        "pathspec" => Role::Pathspec,
        "written" => Role::WrittenPathspec,
        "pattern" => Role::Pattern,
        other => panic!("no role is named {other}"),
    }
}
