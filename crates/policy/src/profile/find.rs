//! `find`: start folders, then an expression of tests. Actions that run programs, delete or write are not in it.

use super::Argument;
use super::uses::Uses;
use crate::world::Access;

/// Tests and actions without a value.
const PLAIN: [&str; 31] = [
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-daystart",
    "-empty",
    "-true",
    "-false",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-noleaf",
    "-warn",
    "-nowarn",
    "!",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    ",",
    "(",
    ")",
    "-ignore_readdir_race",
];

/// Tests with a value that is a text or a number.
const WITH_VALUE: [&str; 32] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-used",
    "-regextype",
    "-fstype",
    "-printf",
];

/// Tests that compare with a file.
const WITH_FILE: [&str; 4] = ["-newer", "-anewer", "-cnewer", "-samefile"];

/// Looks at the words behind `find`.
pub fn examine<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    let starts = words.iter().take_while(|word| !begins_expression(word.text)).count();
    for word in &words[..starts] {
        if word.text == "-P" {
            continue;
        }
        uses.value(super::table::Role::Look, word);
    }
    if starts == 0 {
        uses.path(".", Access::Look);
    }
    let mut rest = words[starts..].iter();
    while let Some(word) = rest.next() {
        let text = word.text;
        if word.is_pattern {
            uses.refuse(format!(
                "`{text}` is a pattern that the shell expands before find sees it; put it in single quotes"
            ));
        } else if PLAIN.contains(&text) {
        } else if WITH_VALUE.contains(&text) || is_newer_than_date(text) {
            match rest.next() {
                Some(value) if value.is_pattern => uses.refuse(format!(
                    "`{}` is a pattern that the shell expands before find sees it; put it in single quotes",
                    value.text
                )),
                Some(_) => {}
                None => uses.refuse(format!("`find {text}` has no value")),
            }
        } else if WITH_FILE.contains(&text) {
            match rest.next() {
                Some(file) => uses.path(file.text, Access::Look),
                None => uses.refuse(format!("`find {text}` has no value")),
            }
        } else {
            uses.refuse(refusal(text));
            return;
        }
    }
}

fn begins_expression(text: &str) -> bool {
    (text.starts_with('-') && text.len() > 1 && text != "-P") || matches!(text, "(" | ")" | "!" | ",")
}

/// `-newermt '2 days ago'`: the date is a text.
fn is_newer_than_date(text: &str) -> bool {
    text.strip_prefix("-newer").is_some_and(|kinds| kinds.len() == 2 && kinds.ends_with('t'))
}

fn refusal(text: &str) -> String {
    match text {
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
            format!(
                "`find {text}` runs a program on what it finds; let find print the names, and run the program on those"
            )
        }
        "-delete" => {
            "`find -delete` removes what it finds; let find print the names, and remove those".to_owned()
        }
        "-fprint" | "-fprint0" | "-fprintf" | "-fls" => format!("`find {text}` writes a file; use > instead"),
        _ => format!("`find {text}` is not among the tests that are known to be harmless"),
    }
}
