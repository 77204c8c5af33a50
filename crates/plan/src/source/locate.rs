//! What stands at a place of a text: for files that were made, so that a finding is told where that part was written.

use std::ops::Range;
use std::sync::Arc;

use super::load::Loader;
use super::sources::Nothing;
use super::tree::{Node, Scalar, Value, segments};
use crate::diagnostic::SourceFile;

/// The way to a value, and how far into its text a place is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Keys, and positions in lists from 0.
    pub path: Vec<String>,
    /// Bytes into the text of a single value, where its text stands in the file as it is.
    pub offset: Option<usize>,
}

/// The innermost value that a byte of a YAML text belongs to; its key counts as part of it.
pub fn locate(text: &str, byte: usize) -> Option<Located> {
    let file = Arc::new(SourceFile { path: String::new(), text: text.to_owned() });
    let root = Loader::new(&Nothing).build(&file, "this")?;
    let mut found = Located { path: Vec::new(), offset: None };
    descend(&root, byte, &mut found);
    Some(found)
}

/// Where the value stands that keys, and positions in lists from 0, lead to, so that another one can be put in its place.
pub fn place_of(text: &str, path: &[String]) -> Option<Range<usize>> {
    let file = Arc::new(SourceFile { path: String::new(), text: text.to_owned() });
    let root = Loader::new(&Nothing).build(&file, "this")?;
    let mut node = &root;
    for step in path {
        node = match &node.value {
            Value::Map(pairs) => &pairs.iter().find(|pair| pair.key.value == *step)?.value,
            Value::Seq(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Scalar(_) | Value::Broken => return None,
        };
    }
    Some(node.span.range.start..end_of(text, node))
}

/// A block ends with its last value; whatever comes between that and the next key belongs to neither.
fn end_of(text: &str, node: &Node) -> usize {
    let own = node.span.range.clone();
    let is_flow = text[own.start..].starts_with(['{', '[']);
    match &node.value {
        Value::Map(pairs) if !is_flow => {
            pairs.iter().map(|pair| end_of(text, &pair.value)).max().unwrap_or(own.end)
        }
        Value::Seq(items) if !is_flow => items.iter().map(|item| end_of(text, item)).max().unwrap_or(own.end),
        _ => own.end,
    }
}

fn descend(node: &Node, byte: usize, found: &mut Located) {
    match &node.value {
        Value::Map(pairs) => {
            let next = pairs.iter().rev().find(|pair| pair.key.span.range.start <= byte);
            if let Some(pair) = next {
                found.path.push(pair.key.value.clone());
                descend(&pair.value, byte, found);
            }
        }
        Value::Seq(items) => {
            let next = items.iter().enumerate().rev().find(|(_, item)| item.span.range.start <= byte);
            if let Some((index, item)) = next {
                found.path.push(index.to_string());
                descend(item, byte, found);
            }
        }
        Value::Scalar(scalar) => found.offset = offset_in(scalar, byte),
        Value::Broken => {}
    }
}

fn offset_in(scalar: &Scalar, byte: usize) -> Option<usize> {
    let range = scalar.inner.range.clone();
    let source = scalar.inner.file.text.get(range.clone())?;
    let runs = segments(&scalar.raw, source, range.start, scalar.style);
    let run = runs.iter().find(|run| (run.source_start..run.source_start + run.length).contains(&byte))?;
    Some(run.value_start + (byte - run.source_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, words: &str) -> (String, Option<usize>) {
        let found = locate(text, text.find(words).expect("it is there")).expect("it is YAML");
        (found.path.join("."), found.offset)
    }

    #[test]
    fn a_value_is_found_and_can_be_put_in_its_place() {
        let text = "- name: a # words\n  expect:\n    n: 1 # one\n    map: {x: [1, 2], y: z}\n    block:\n      - q\n      - r\n- name: b\n";
        let at = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
            place_of(text, &path).map(|range| &text[range])
        };
        assert_eq!(at(&["0", "expect", "n"]), Some("1"));
        assert_eq!(at(&["0", "expect", "map"]), Some("{x: [1, 2], y: z}"));
        assert_eq!(at(&["0", "expect", "map", "x", "1"]), Some("2"));
        assert_eq!(at(&["0", "expect", "block"]), Some("- q\n      - r"));
        assert_eq!((at(&["1", "name"]), at(&["1", "none"])), (Some("b"), None));
    }

    #[test]
    fn a_place_is_told_by_the_keys_that_lead_to_it() {
        let text = "a:\n  b: [x, y]\n  c: |\n    first\n    second line\nd: {e: 1}\n";
        assert_eq!(at(text, "y]"), ("a.b.1".into(), Some(0)));
        assert_eq!(at(text, "b:"), ("a.b".into(), None));
        assert_eq!(at(text, "line"), ("a.c".into(), Some("first\nsecond ".len())));
        assert_eq!(at(text, "1}"), ("d.e".into(), Some(0)));
    }
}
