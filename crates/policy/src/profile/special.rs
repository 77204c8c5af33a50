//! Programs whose arguments no table tells apart, in one line each or with a file of their own.

use super::uses::Uses;
use super::{Argument, curl, find, project};
use crate::world::Access;

/// Names of profiles that are code.
pub const KEYS: [&str; 10] = ["echo", "printf", "cd", "test", "[", "find", "curl", "python", "node", "expr"];

/// Looks at a call, if its program is one of these.
pub fn examine<'a>(key: &str, words: &[Argument<'a>], uses: &mut Uses<'a>) -> bool {
    match key {
        "echo" => echo(words, uses),
        "printf" => printf(words, uses),
        "cd" => cd(words, uses),
        "test" => test(words, uses),
        "[" => match words.split_last() {
            Some((last, inner)) if last.text == "]" => test(inner, uses),
            _ => uses.refuse("`[` is not closed by a last word `]`"),
        },
        "find" => find::examine(words, uses),
        "curl" => curl::examine(words, uses),
        "python" => project::python(words, uses),
        "node" => project::node(words, uses),
        "expr" => literal(words, uses),
        _ => return false,
    }
    true
}

/// Patterns that only end up in what is printed still read the names of files.
fn literal<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    for word in words.iter().filter(|word| word.is_pattern) {
        uses.value(super::table::Role::Look, word);
    }
}

fn echo<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    literal(words, uses);
}

/// The builtin evaluates the name that `-v` sets.
fn printf<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    if let Some(first) = words.first()
        && first.text.starts_with('-')
        && first.text.len() > 1
        && first.text != "--"
    {
        uses.refuse(format!(
            "`printf {}` sets a variable or is no format; put -- before a format that begins with a dash",
            first.text
        ));
    }
    literal(words, uses);
}

fn cd<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    let words: Vec<&Argument<'a>> = words.iter().skip_while(|word| word.text == "--").collect();
    match words.as_slice() {
        [to] if to.is_pattern => uses.refuse("`cd` to a pattern; name the folder"),
        [to] if to.text.starts_with('-') || to.text.is_empty() => {
            uses.refuse(format!(
                "`cd {}` leads to a place that is only known when it runs; name the folder",
                to.text
            ));
        }
        [to] => uses.enters = Some(to.text.to_owned()),
        [] => uses.refuse("`cd` alone leads to the home folder; name a folder"),
        _ => uses.refuse("`cd` takes one folder"),
    }
}

/// `test` looks at files and compares texts. `-v` and `-R` would evaluate the name of a variable.
fn test<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    const OF_FILES: [&str; 17] = [
        "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-p", "-r", "-s", "-S", "-u", "-w", "-x", "-O",
    ];
    const OF_TEXTS: [&str; 2] = ["-z", "-n"];
    const COMPARE: [&str; 6] = ["=", "==", "!=", "<", ">", "=~"];
    const COMPARE_NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    const COMPARE_FILES: [&str; 3] = ["-nt", "-ot", "-ef"];
    if let Some(pattern) = words.iter().find(|word| word.is_pattern) {
        uses.refuse(format!("`{}` may become several words; name the file", pattern.text));
        return;
    }
    let mut rest: Vec<&'a str> = words.iter().map(|word| word.text).collect();
    rest.reverse();
    while let Some(word) = rest.pop() {
        let (next, after) = (rest.last().copied(), rest.len().checked_sub(2).map(|at| rest[at]));
        match (word, next) {
            (left, Some(operator)) if COMPARE.contains(&operator) && after.is_some() => {
                rest.truncate(rest.len() - 2);
                let _ = left;
            }
            (left, Some(operator)) if COMPARE_NUMBERS.contains(&operator) && after.is_some() => {
                let right = after.expect("asked before");
                rest.truncate(rest.len() - 2);
                for number in [left, right].into_iter().filter(|text| text.parse::<i64>().is_err()) {
                    uses.refuse(format!("`{number}` is no number, so `test` may evaluate it"));
                }
            }
            (left, Some(operator)) if COMPARE_FILES.contains(&operator) && after.is_some() => {
                let right = after.expect("asked before");
                rest.truncate(rest.len() - 2);
                uses.path(left, Access::Look);
                uses.path(right, Access::Look);
            }
            (operator, Some(operand)) if OF_FILES.contains(&operator) => {
                rest.pop();
                uses.path(operand, Access::Look);
            }
            (operator, Some(_)) if OF_TEXTS.contains(&operator) => {
                rest.pop();
            }
            ("!" | "(" | ")" | "-o", _) => {}
            ("-a", _) => {}
            (text, _) if !text.starts_with('-') => {}
            (other, _) => {
                uses.refuse(format!("`test {other}` is not among the tests that are known to be harmless"));
                return;
            }
        }
    }
}
