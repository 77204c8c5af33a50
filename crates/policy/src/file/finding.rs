//! What is wrong with a policy file, and where.

use serde::Serialize;
use std::ops::Range;

/// One finding. All of a file are given at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable code; `docs/reference/policy.md` lists them.
    pub code: &'static str,
    /// Lower case, no full stop: the thing, then the cause.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Bytes of the file that it is about.
    pub range: Range<usize>,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in characters, from 1.
    pub column: usize,
}

/// Findings of one text.
#[derive(Debug)]
pub struct Findings<'a> {
    text: &'a str,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    /// None so far.
    pub fn new(text: &'a str) -> Self {
        Findings { text, found: Vec::new() }
    }

    /// Adds one.
    pub fn add(
        &mut self,
        code: &'static str,
        range: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let start = self.text.floor_char_boundary(range.start.min(self.text.len()));
        let before = &self.text[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        self.found.push(Finding { code, message: message.into(), help, range: range.clone(), line, column });
    }

    /// All of them, in the order of the file; nothing if there are none.
    pub fn into_error(mut self) -> Option<Vec<Finding>> {
        self.found.sort_by_key(|finding| finding.range.start);
        (!self.found.is_empty()).then_some(self.found)
    }
}
