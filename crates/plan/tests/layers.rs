//! The modules of this crate are a DAG: each file imports only from modules below its own.
//!
//! The order below is the one list of layers. Names that `lib.rs` passes on are imported from their own module. Code under `#[cfg(test)]` and files in `tests` folders may look anywhere.

use std::fs;
use std::path::{Path, PathBuf};

/// Every module of the crate, the lowest first; modules of one line do not import each other.
const LAYERS: &[&[&str]] = &[
    &["diagnostic", "graph", "path", "suggest", "value"],
    &["goal_plan", "template"],
    &["plan"],
    &["source"],
    &["check"],
    &["compile"],
    &["generate", "view"],
];

#[test]
fn a_module_imports_only_modules_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in files_below(&src) {
        let path = file.strip_prefix(&src).expect("it lies there").to_string_lossy().into_owned();
        let (Some(module), false) = (module_of(&path), is_test(&path)) else { continue };
        let text = fs::read_to_string(&file).expect("it can be read");
        for used in imports(&text) {
            if used != module && layer(&used) >= layer(&module) {
                wrong.push(format!("{path} imports `{used}`, which is not below `{module}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let lib = include_str!("../src/lib.rs");
    let modules = lib.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let mut declared: Vec<&str> = modules.map(|name| name.trim_end_matches(';')).collect();
    let mut listed = LAYERS.concat();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(declared, listed);
}

/// A search for imports that finds none would let every order pass.
#[test]
fn imports_are_found() {
    let text = "use crate::graph::circles;\nuse serde::Value;\n// use crate::view;\nfn f(_: crate::plan::Plan) {}\n#[cfg(test)]\nmod tests {\nuse crate::check::all;\n}\n";
    assert_eq!(imports(text), ["graph", "plan"]);
}

fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("`{module}` stands in no layer"))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false if path.extension().is_some_and(|end| end == "rs") => files.push(path),
            false => {}
        }
    }
    files
}

/// The module that a file of `src` belongs to; `lib.rs` belongs to none.
fn module_of(path: &str) -> Option<String> {
    let first = path.split('/').next()?.trim_end_matches(".rs");
    (first != "lib").then(|| first.to_owned())
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs") || path.ends_with("/testing.rs")
}

/// The modules that the code of a file names, tests at its end left out.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found: Vec<String> = Vec::new();
    for line in code {
        for after in line.split("crate::").skip(1) {
            found.push(after.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect());
        }
    }
    found
}
