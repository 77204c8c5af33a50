//! ARCHITECTURE.md says what the code says: the listing of the loop is the loop, and types and files that it names exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/engine").to_owned()
}

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map of the crates")
}

/// Code without comments and white space.
fn bare(code: &str) -> String {
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| line.chars().filter(|c| !c.is_whitespace()).collect::<Vec<_>>()).collect()
}

/// The words in single back quotes, outside listings.
fn quoted(page: &str) -> Vec<&str> {
    let text = page.split("```").step_by(2);
    text.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of the crates").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push_str(&fs::read_to_string(&path).expect("source is text"));
        }
    }
}

#[test]
fn the_listing_of_the_loop_is_the_loop() {
    let page = page();
    let listing =
        page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a listing");
    let code = fs::read_to_string(root().join("crates/engine/src/run.rs")).expect("the loop");
    assert!(bare(&code).contains(&bare(listing)), "the listing of `drive` differs from `engine/src/run.rs`");
}

#[test]
fn types_that_the_map_names_exist() {
    let (page, mut code) = (page(), String::new());
    sources(&root().join("crates"), &mut code);
    let is_type = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().any(|c| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let words: std::collections::HashSet<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let unknown: Vec<&str> =
        quoted(&page).into_iter().filter(is_type).filter(|word| !words.contains(word)).collect();
    assert!(unknown.is_empty(), "ARCHITECTURE.md names {unknown:?}");
}

#[test]
fn files_that_the_map_names_exist() {
    let page = page();
    let exists = |path: &str| root().join(path).exists() || root().join("crates").join(path).exists();
    let unknown: Vec<&str> = quoted(&page)
        .into_iter()
        .filter(|word| word.contains("/src/"))
        .filter(|path| !exists(path))
        .collect();
    assert!(unknown.is_empty(), "ARCHITECTURE.md names {unknown:?}");
}
