//! Changes of a program's text.

use ruff_text_size::{TextRange, TextSize};

/// Replacements of ranges that do not overlap, in any order. Of those that begin at one place, the outer comes first.
#[derive(Debug, Default)]
pub struct Edits(Vec<(TextRange, String)>);

impl Edits {
    /// Puts text in front of a place.
    pub fn insert(&mut self, at: TextSize, text: impl Into<String>) {
        self.0.push((TextRange::empty(at), text.into()));
    }

    /// Puts text around a range.
    pub fn wrap(&mut self, range: TextRange, before: &str, after: &str) {
        self.insert(range.start(), before);
        self.insert(range.end(), after);
    }

    /// Replaces a range.
    pub fn replace(&mut self, range: TextRange, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    /// The changed text, and the lines of it that were added.
    pub fn apply(mut self, text: &str) -> (String, Vec<u32>) {
        self.0.sort_by_key(|(range, _)| (range.start(), range.end()));
        let (mut out, mut added, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
        for (range, new) in self.0 {
            let (start, end) = (usize::from(range.start()), usize::from(range.end()));
            // Inside of what is replaced already.
            if start < at {
                continue;
            }
            out.push_str(&text[at..start]);
            if range.is_empty() && new.ends_with('\n') {
                added.push(out.matches('\n').count() as u32 + 1);
            }
            out.push_str(&new);
            at = end;
        }
        out.push_str(&text[at..]);
        (out, added)
    }
}
