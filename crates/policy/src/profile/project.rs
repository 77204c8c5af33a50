//! Programs that build, test or run the project: what they do is not in their arguments, so their plans say so.

use super::Argument;
use super::arguments::Arguments;
use super::uses::Uses;
use crate::world::Access;

/// Modules that `python -m` may run.
const MODULES: [&str; 12] = [
    "pytest",
    "unittest",
    "mypy",
    "ruff",
    "black",
    "flake8",
    "pylint",
    "isort",
    "compileall",
    "py_compile",
    "doctest",
    "json.tool",
];

/// Looks at what options alone do not tell.
pub fn refine<'a>(key: &str, found: &Arguments<'a>, uses: &mut Uses<'a>) {
    match key {
        "cargo metadata" | "cargo tree" | "npm ls" | "npm list" | "go doc" => return,
        _ if key.ends_with("--version") || key.ends_with(" version") => return,
        "cargo fmt" => {
            uses.writes_tree =
                !found.has(&["check"]) && !found.operands.iter().any(|word| word.text == "--check");
            after_separator(found, uses);
            return;
        }
        _ => {}
    }
    uses.runs_project_code = true;
    uses.writes_tree = true;
    match key {
        "npm install" | "npm i" if !found.operands.is_empty() => {
            uses.refuse("`npm install` of a package fetches code from elsewhere; add it to package.json, or ask a person");
        }
        "make" => targets(found, uses),
        "cargo run" | "cargo test" | "cargo bench" | "cargo build" | "cargo check" | "cargo clippy"
        | "cargo doc" => {
            toolchain(found, uses);
        }
        "go build" | "go test" | "go run" | "go vet" | "go list" | "go fmt" => packages(found, uses),
        _ => {}
    }
}

/// Names and operands of make. An assignment may change the shell that make uses.
fn targets<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let from_input = |(name, value): &(&str, Option<&str>)| {
        matches!(*name, "f" | "file" | "makefile") && *value == Some("-")
    };
    if found.options.iter().any(from_input) {
        uses.refuse("`make -f -` reads its rules from its input; name a file");
    }
    for operand in &found.operands {
        if operand.is_pattern || operand.text.contains('=') {
            uses.refuse(format!(
                "`make {}` sets a variable or names targets by a pattern; name the target",
                operand.text
            ));
        }
    }
}

/// What follows `--` goes to the program; before it stand names alone.
fn toolchain<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let before = found.operands.len() - found.after;
    for operand in &found.operands[..before] {
        if operand.text.starts_with('+') {
            uses.refuse(format!("`{}` chooses another toolchain", operand.text));
        }
    }
}

fn after_separator<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let after = &found.operands[found.operands.len() - found.after..];
    for operand in after {
        if !matches!(operand.text, "--check" | "-l" | "-v" | "--verbose" | "-q" | "--quiet") {
            uses.refuse(format!(
                "`cargo fmt -- {}` is not among the options that are known to be harmless",
                operand.text
            ));
        }
    }
}

/// Packages of go are beneath the folder: `./...`, `./cmd/x`, `main.go`.
fn packages<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    for operand in &found.operands {
        let path = operand.text.trim_end_matches("...");
        if operand.text.contains('@') {
            uses.refuse(format!("`{}` fetches code from elsewhere", operand.text));
        } else if path.starts_with('.') || path.starts_with('/') || path.ends_with(".go") {
            uses.path(if path.is_empty() { "." } else { path }, Access::Read);
        }
    }
}

/// `python FILE ARGUMENT…` and `python -m MODULE ARGUMENT…`.
pub fn python<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    let flags = words.iter().take_while(|word| {
        matches!(word.text, "-u" | "-B" | "-O" | "-OO" | "-I" | "-s" | "-E" | "-b" | "-q")
    });
    let words = &words[flags.count()..];
    match words {
        [option, module, ..] if option.text == "-m" => {
            if !MODULES.contains(&module.text) {
                uses.refuse(format!(
                    "`python -m {}` is not among the modules that are known; run a file of the project",
                    module.text
                ));
            }
        }
        [file, ..] => script("python", file, uses),
        [] => uses.refuse("`python` alone reads a program from its input; run a file of the project"),
    }
    runs(words, uses);
}

/// `node FILE ARGUMENT…`.
pub fn node<'a>(words: &[Argument<'a>], uses: &mut Uses<'a>) {
    match words {
        [file, ..] => script("node", file, uses),
        [] => uses.refuse("`node` alone reads a program from its input; run a file of the project"),
    }
    runs(words, uses);
}

fn script<'a>(program: &str, file: &Argument<'a>, uses: &mut Uses<'a>) {
    if file.text.starts_with('-') {
        uses.refuse(format!(
            "`{program} {}` is an option that takes a program as text, or changes how it runs; run a file of the project",
            file.text
        ));
    } else {
        uses.value(super::table::Role::Read, file);
    }
}

fn runs(words: &[Argument<'_>], uses: &mut Uses<'_>) {
    uses.runs_project_code = true;
    uses.writes_tree = true;
    if let Some(pattern) = words.iter().skip(1).find(|word| word.is_pattern) {
        uses.refuse(format!("`{}` may become several words; name the files", pattern.text));
    }
}
