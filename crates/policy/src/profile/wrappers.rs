//! Programs that run another program: where their own arguments end, and what they run.

use super::Argument;
use super::arguments::{Style, tell_apart};
use super::table::spec;

/// A wrapper that was taken off.
#[derive(Debug)]
pub struct Unwrapped<'a> {
    /// What it runs; nothing if it runs nothing.
    pub inner: &'a [Argument<'a>],
    /// Variables that it sets.
    pub assignments: Vec<(String, String)>,
    /// Whether it adds words from its input.
    pub adds_words: bool,
    /// Whether it is itself a process. `command` and `exec` are words of the shell, and vanish from the plan.
    pub stays: bool,
    /// Files that it reads itself.
    pub reads: Vec<String>,
}

/// Names of wrappers, as far as a name is one by itself.
pub fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "env"
            | "timeout"
            | "nice"
            | "ionice"
            | "nohup"
            | "stdbuf"
            | "setsid"
            | "command"
            | "exec"
            | "builtin"
            | "chrt"
            | "taskset"
            | "time"
            | "sudo"
            | "doas"
            | "busybox"
            | "toybox"
            | "xargs"
    )
}

/// Takes one wrapper off. The error says why its own arguments are not understood.
pub fn unwrap<'a>(words: &'a [Argument<'a>]) -> Result<Unwrapped<'a>, String> {
    let name = words[0].text;
    let spec = spec(name).expect("every wrapper has a line");
    let own = own_words(name, &words[1..]);
    let found = tell_apart(spec, &words[1..1 + own], Style::OperandsLast)
        .map_err(|why| format!("`{name}`: {why}"))?;
    let mut at = 1 + own;
    let mut assignments = Vec::new();
    if name == "env" {
        while let Some((key, value)) = words.get(at).and_then(|word| word.text.split_once('=')) {
            assignments.push((key.to_owned(), value.to_owned()));
            at += 1;
        }
    }
    let inner = &words[at.min(words.len())..];
    if let Some(pattern) = words[1..at.min(words.len())].iter().find(|word| word.is_pattern) {
        return Err(format!(
            "`{name}`: `{}` is a pattern, so what is run depends on the files that are there",
            pattern.text
        ));
    }
    let adds_words = name == "xargs";
    let reads = found.options.iter().filter(|(name, _)| adds_words && matches!(*name, "a" | "arg-file"));
    let reads = reads.filter_map(|(_, value)| value.map(str::to_owned)).collect();
    let stays = !matches!(name, "command" | "exec" | "builtin" | "time");
    Ok(Unwrapped { inner, assignments, adds_words, stays, reads })
}

/// How many words belong to the wrapper: its options with their values, then its own operands.
fn own_words(name: &str, words: &[Argument<'_>]) -> usize {
    let spec = spec(name).expect("every wrapper has a line");
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text;
        if text == "--" {
            at += 1;
            break;
        }
        // `env -` is `env -i`.
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        if takes_next(spec, text) {
            at += 1;
        }
    }
    let operands = usize::from(name == "timeout");
    (at + operands).min(words.len())
}

fn takes_next(spec: &super::table::Spec, text: &str) -> bool {
    use super::table::Takes;
    if let Some(long) = text.strip_prefix("--") {
        return spec.long.get(long).is_some_and(|opt| matches!(opt.takes, Takes::Value(_)));
    }
    let mut letters = text[1..].char_indices();
    let valued = letters.find_map(|(place, letter)| match spec.short.get(&letter).map(|opt| opt.takes) {
        Some(Takes::Value(_)) => Some(text[1..].len() == place + letter.len_utf8()),
        Some(Takes::Attached(_)) => Some(false),
        _ => None,
    });
    valued.unwrap_or(false)
}
