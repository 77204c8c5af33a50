//! What programs do with their arguments.
//!
//! Most of it is data (`data`, read by `table`); programs whose arguments are a language of their own have a file each. Knows nothing
//! of policies, roots or disks: it says what a call touches. Invariant: what a profile does not know is a reason, never nothing.

mod arguments;
mod awk;
mod curl;
mod data;
mod find;
mod git;
mod jq;
mod moving;
mod names;
mod project;
mod sed;
mod special;
mod table;
pub mod uses;
pub mod wrappers;

use crate::plan::PlannedWord;
use crate::reading::word::{Pattern, Word};
use crate::world::Access;
use arguments::{Arguments, Style, tell_apart};
use convoke_model::protected::BARE_KEY;
pub use names::{Runner, key, runs_others};
use std::sync::LazyLock;
use table::spec;
use uses::Uses;

/// An argument: its text, and the pattern if the shell would expand one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument<'a> {
    /// The text.
    pub text: &'a str,
    /// The pattern of an unquoted wildcard.
    pub pattern: Option<&'a Pattern>,
    /// Whether there is one.
    pub is_pattern: bool,
}

impl<'a> From<&'a Word<'_>> for Argument<'a> {
    fn from(word: &'a Word<'_>) -> Argument<'a> {
        let pattern = word.pattern.as_ref();
        Argument { text: &word.text, pattern, is_pattern: pattern.is_some() }
    }
}

/// Whether there is a profile for a program or a sub-command.
pub fn is_known(key: &str) -> bool {
    spec(key).is_some() || special::KEYS.contains(&key)
}

/// Every name that has a profile, for advice about names that have none.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    table::names().chain(special::KEYS).filter(|name| !name.starts_with("git branch"))
}

/// What a call does. `key` is the program with its sub-command; `words` are the arguments behind them.
pub fn examine<'a>(key: &str, words: &[Argument<'a>], skipped: usize) -> Uses<'a> {
    let mut uses = Uses::default();
    if special::examine(key, words, &mut uses) {
        return uses;
    }
    let Some(spec) = spec(key) else {
        uses.refuse(format!("there is no profile for `{key}`, so nothing is known of its arguments"));
        return uses;
    };
    let rest: Vec<Argument<'_>>;
    let words = match key {
        // `--arg NAME VALUE` gives the filter a text.
        "jq" => {
            rest = jq::without_values(words);
            rest.as_slice()
        }
        _ => words,
    };
    let style = if key.starts_with("go ") { Style::OneDash } else { Style::Permuted };
    match tell_apart(spec, words, style) {
        Ok(found) => with_arguments(key, &found, skipped, &mut uses),
        Err(why) => uses.refuse(format!("`{key}`: {why}")),
    }
    uses
}

fn with_arguments<'a>(key: &str, found: &Arguments<'a>, skipped: usize, uses: &mut Uses<'a>) {
    for (role, argument) in &found.values {
        uses.value(*role, argument);
    }
    for (role, text) in &found.attached {
        uses.text(*role, text);
    }
    let program = key.split(' ').next().unwrap_or(key);
    match program {
        "git" => git::refine(key, found, skipped, uses),
        "cargo" | "npm" | "go" | "make" | "pytest" | "node" => project::refine(key, found, uses),
        "cp" | "mv" | "ln" => moving::refine(key, found, uses),
        "sed" => sed::refine(found, uses),
        "awk" | "gawk" | "mawk" | "nawk" => awk::refine(found, uses),
        "jq" => jq::refine(found, uses),
        "grep" | "egrep" | "fgrep" | "rg" | "diff" => search(key, found, uses),
        "true" | ":" => uses.always = Some(true),
        "false" => uses.always = Some(false),
        "date" => {
            let shown = found.operands.iter().all(|operand| operand.text.starts_with('+'));
            if !shown {
                uses.refuse("`date` with an operand that does not begin with `+` sets the clock");
            }
        }
        "fd" | "fdfind" | "ls" | "du" | "tree" if found.operands.is_empty() => uses.path(".", Access::Look),
        _ => {}
    }
}

/// Arguments by which a search through folders reads no secret file. Names of one component alone: neither program takes more.
struct LeftOut {
    rg: Vec<String>,
    grep: Vec<String>,
}

static LEFT_OUT: LazyLock<LeftOut> = LazyLock::new(|| {
    // A bare key has no ending, which no pattern of these programs says.
    let names = || crate::protected::secrets_of_one_name().filter(|name| *name != BARE_KEY);
    let folders = names().filter(|name| !name.contains('*'));
    LeftOut {
        rg: names().map(|name| format!("--glob=!{name}")).collect(),
        grep: (names().map(|name| format!("--exclude={name}")))
            .chain(folders.map(|name| format!("--exclude-dir={name}")))
            .collect(),
    }
});

/// Searches through folders leave secret files out.
fn search(key: &str, found: &Arguments<'_>, uses: &mut Uses<'_>) {
    let recursive = key == "rg" || found.has(&["r", "recursive"]);
    let folders_read = found.has(&["d", "directories"]);
    if folders_read {
        uses.refuse(format!("`{key}`: `--directories` decides what is read; use -r"));
    }
    if key == "rg" || (recursive && found.operands.len() <= 1) {
        uses.path(".", Access::Look);
    }
    if !recursive {
        return;
    }
    let left_out = if key == "rg" { &LEFT_OUT.rg } else { &LEFT_OUT.grep };
    uses.added.extend(left_out.iter().map(|argument| (1, PlannedWord::Borrowed(argument))));
    if key == "rg" {
        uses.added.push((1, "--no-config".into()));
    }
}
