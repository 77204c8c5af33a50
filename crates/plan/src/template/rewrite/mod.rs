//! Turns operators whose meaning differs from Python's into calls of our own (`operators`), in the text itself.
//!
//! Minijinja has no hook for operators and compiles only text, so `a < b` becomes `((a)|__compare("<", b))` and so on.
//! A walk over the tokens, shaped like minijinja's own grammar, finds where operands begin and end. Texts that do not
//! parse come out in some state: the caller parses the original first and reports that.
//!
//! Invariant: only insertions and replacements within a line, each remembered, so that a place in the rewritten text
//! can be led back to the original.

mod walk;

use std::ops::Range;

use minijinja::machinery::{Token, tokenize};

use super::depth;
use super::environment::syntax;

/// A text and how it came about.
pub(super) struct Rewritten {
    /// The text for minijinja.
    pub text: String,
    edits: Vec<Edit>,
}

/// One change: the bytes from `from` to `to` become `text`.
#[derive(Debug)]
struct Edit {
    from: usize,
    to: usize,
    order: u8,
    text: String,
}

/// What ends goes before what begins, and both before what is replaced at the same place.
const CLOSE: u8 = 0;
const OPEN: u8 = 1;
const REPLACE: u8 = 2;

impl Rewritten {
    /// The range of the original text that a range of the rewritten one stands for.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.original_offset(range.start);
        start..self.original_offset(range.end).max(start)
    }

    fn original_offset(&self, offset: usize) -> usize {
        let mut shift = 0isize;
        for edit in &self.edits {
            let begins = edit.from.saturating_add_signed(shift);
            if offset < begins {
                break;
            }
            if offset < begins + edit.text.len() {
                return edit.from;
            }
            shift += edit.text.len() as isize - (edit.to - edit.from) as isize;
        }
        offset.saturating_add_signed(-shift)
    }
}

/// Rewrites a whole template.
pub(super) fn rewrite(text: &str) -> Rewritten {
    let as_it_is = || Rewritten { text: text.to_owned(), edits: Vec::new() };
    // The walk is recursive; what is too deep for it never runs.
    if depth::check(text, false).is_err() {
        return as_it_is();
    }
    let mut tokens = Vec::new();
    for token in tokenize(text, false, syntax()) {
        match token {
            Ok((token, span)) => tokens.push((token, span.start_offset as usize..span.end_offset as usize)),
            Err(_) => return as_it_is(),
        }
    }
    let mut edits = walk::edits(&tokens);
    edits.extend(tokens.iter().flat_map(|(token, _)| line_ends(text, token)));
    if keeps_words(&tokens) {
        edits.extend(tokens.iter().filter_map(|(token, _)| metered(text, token)));
    }
    apply(text, edits)
}

/// Jinja2 makes every line end a newline.
fn line_ends(text: &str, token: &Token<'_>) -> Vec<Edit> {
    let Token::TemplateData(data) = token else { return Vec::new() };
    // Data is a part of the text; its span also covers what whitespace control took away.
    let start = data.as_ptr() as usize - text.as_ptr() as usize;
    let end = |at: usize| at + if data[at..].starts_with("\r\n") { 2 } else { 1 };
    let edit =
        |(at, _)| Edit { from: start + at, to: start + end(at), order: REPLACE, text: "\n".to_owned() };
    data.match_indices('\r').map(edit).collect()
}

/// Whether words between tags may be kept, and repeated, before they arrive where the output is bounded.
fn keeps_words(tokens: &[walk::Spot<'_>]) -> bool {
    let has = |words: &[&str]| {
        let starts = |pair: &[walk::Spot<'_>]| matches!((&pair[0].0, &pair[1].0), (Token::BlockStart, Token::Ident(word)) if words.contains(word));
        tokens.windows(2).any(starts)
    };
    has(&["set", "macro", "call", "filter"]) && has(&["for", "macro"])
}

/// Words that are shorter than this are bounded by the fuel.
const SHORT: usize = 64;

/// A call that pays for the words behind it.
fn metered(text: &str, token: &Token<'_>) -> Option<Edit> {
    let Token::TemplateData(data) = token else { return None };
    let start = data.as_ptr() as usize - text.as_ptr() as usize;
    let meter = || format!("{{{{{}|__raw}}}}", data.len());
    (data.len() > SHORT).then(|| Edit { from: start, to: start, order: OPEN, text: meter() })
}

fn apply(text: &str, mut edits: Vec<Edit>) -> Rewritten {
    edits.sort_by_key(|edit| (edit.from, edit.order));
    let mut out = String::with_capacity(text.len() + edits.len() * 12);
    let mut copied = 0;
    for edit in &edits {
        out.push_str(&text[copied..edit.from]);
        out.push_str(&edit.text);
        copied = edit.to;
    }
    out.push_str(&text[copied..]);
    Rewritten { text: out, edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_become_calls_with_whole_operands() {
        let cases = [
            ("{{ a < b }}", r#"{{ ((a )|__compare("<",  b)) }}"#),
            ("{{ 1 < x <= 3 }}", r#"{{ ((1 )|__compare("<",  x , "<=",  3)) }}"#),
            ("{{ a == b }}", "{{ a == b }}"),
            ("{{ a + b + c }}", "{{ ((a )|__add( b) |__add( c)) }}"),
            ("{{ a + b - c + d }}", "{{ ((((a )|__add( b)) - c )|__add( d)) }}"),
            ("{{ (a + b) % c }}", "{{ (((((a )|__add( b))) )|__modulo( c)) }}"),
            (
                "{{ a.b['c'].d | default('') }}",
                r#"{{ (a|__part("b")|__part("c")|__part("d")) | default('') }}"#,
            ),
            ("{{ a.b is not defined }}", r#"{{ (a|__part("b")) is not defined }}"#),
            ("{{ a.b | upper }}", "{{ a.b | upper }}"),
            ("{{ a.b() | default('') }}", "{{ a.b() | default('') }}"),
            ("{{ x[1:] }}", "{{ ((x)|__slice(1, none)) }}"),
            ("{{ x[::-1] }}", "{{ ((x)|__slice(none, none, -1)) }}"),
            ("{{ x[0] }}", "{{ x[0] }}"),
            ("{{ x[y] }}", "{{ x[y] }}"),
            (
                "{% for i in x %}{{ x[i + 1].a }}{{ x['a'] }}{% endfor %}",
                "{% for i in ((x)|__iterable) %}{{ ((x|__subject)[(((i )|__add( 1)))|__key(0)]).a }}{{ x['a'] }}{% endfor %}",
            ),
            (
                "{% for x in a if x > 1 %}{% endfor %}",
                r#"{% for x in ((a)|__iterable) if ((x )|__compare(">",  1)) %}{% endfor %}"#,
            ),
            ("no { tags } % here", "no { tags } % here"),
            ("{% raw %}{{ a < b }}{% endraw %}", "{% raw %}{{ a < b }}{% endraw %}"),
        ];
        for (text, expected) in cases {
            let normal = |text: &str| text.replace("( (", "((").replace("( ", "(");
            assert_eq!(normal(&rewrite(text).text), normal(expected), "{text}");
        }
    }

    #[test]
    fn a_place_in_the_rewritten_text_leads_back() {
        let text = "x {{ pp + qq }} {{ rr < ss }} é {{ zz }}";
        let rewritten = rewrite(text);
        for name in ["pp", "qq", "rr", "ss", "zz"] {
            let at = rewritten.text.find(name).unwrap();
            assert_eq!(&text[rewritten.original(at..at + 2)], name);
        }
    }

    #[test]
    fn literals_change_only_where_something_changes_them() {
        assert_eq!(rewrite("{% set l = [1] %}").text, "{% set l = [1] %}");
        assert_eq!(
            rewrite("{% set l = [] %}{% do l.append(1) %}").text,
            "{% set l = ([]|__list) %}{% do l.append(1) %}"
        );
    }
}
