//! `wordwrap`, as Python's `textwrap` does it.

use minijinja::value::Value;
use minijinja::{Error, State};

use crate::template::arguments::{bind, failure, flag, integer, required, text};
use crate::template::limits::charge;
use crate::template::methods::lines;
use crate::template::python::python_text;

/// `wordwrap`: lines of at most so many characters; existing line ends stay.
pub(super) fn word_wrap(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let parameters = ["s", "width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let [value, width, break_long, wrap, hyphens] = bind("wordwrap", &parameters, args)?;
    let value = python_text(&required("wordwrap", "s", value)?);
    let width = integer("wordwrap", width)?.unwrap_or(79);
    let width = usize::try_from(width).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| failure("wordwrap needs a width above zero"))?;
    let wrap = text("wordwrap", wrap)?.unwrap_or_else(|| "\n".to_owned());
    let shape = Shape { width, break_long: flag(break_long, true), hyphens: flag(hyphens, true) };
    charge(state, value.len().saturating_mul(2))?;
    let wrapped: Vec<String> = lines(&value, false).iter().map(|line| shape.fill(line).join(&wrap)).collect();
    Ok(Value::from(wrapped.join(&wrap)))
}

struct Shape {
    width: usize,
    break_long: bool,
    hyphens: bool,
}

impl Shape {
    /// One line as several; white space at a break goes, inside a line it stays.
    fn fill(&self, line: &str) -> Vec<String> {
        let mut pieces = self.pieces(line);
        pieces.reverse();
        let mut out: Vec<String> = Vec::new();
        while !pieces.is_empty() {
            let mut current: Vec<String> = Vec::new();
            let mut used = 0;
            if !out.is_empty() && pieces.last().is_some_and(|piece| piece.trim().is_empty()) {
                pieces.pop();
            }
            while let Some(piece) = pieces.last().filter(|piece| used + piece.chars().count() <= self.width) {
                used += piece.chars().count();
                current.push(piece.clone());
                pieces.pop();
            }
            if pieces.last().is_some_and(|piece| piece.chars().count() > self.width) {
                self.long(&mut pieces, &mut current, used);
            }
            if current.last().is_some_and(|piece| piece.trim().is_empty()) {
                current.pop();
            }
            if !current.is_empty() {
                out.push(current.concat());
            }
        }
        out
    }

    /// A piece that is longer than a line: cut it, or give it a line of its own.
    fn long(&self, pieces: &mut Vec<String>, current: &mut Vec<String>, used: usize) {
        let Some(piece) = pieces.pop() else { return };
        if !self.break_long {
            match current.is_empty() {
                true => current.push(piece),
                false => pieces.push(piece),
            }
            return;
        }
        let space = (self.width - used).max(usize::from(current.is_empty()));
        let mut cut = space;
        if self.hyphens {
            let head: Vec<char> = piece.chars().take(space).collect();
            if let Some(at) = head
                .iter()
                .rposition(|c| *c == '-')
                .filter(|at| *at > 0 && head[..*at].iter().any(|c| *c != '-'))
            {
                cut = at + 1;
            }
        }
        current.push(piece.chars().take(cut).collect());
        let rest: String = piece.chars().skip(cut).collect();
        if !rest.is_empty() {
            pieces.push(rest);
        }
    }

    /// Words, the white space between them, and the parts of words with hyphens between letters.
    fn pieces(&self, line: &str) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut blank: Option<bool> = None;
        for character in line.chars() {
            let here = character.is_whitespace();
            match (blank == Some(here), out.last_mut()) {
                (true, Some(piece)) => piece.push(character),
                _ => out.push(character.to_string()),
            }
            blank = Some(here);
        }
        if !self.hyphens {
            return out;
        }
        out.iter().flat_map(|piece| at_hyphens(piece)).collect()
    }
}

/// `well-known` as `well-` and `known`: a break is allowed after a hyphen between letters.
fn at_hyphens(piece: &str) -> Vec<String> {
    let characters: Vec<char> = piece.chars().collect();
    let letter = |at: usize| characters.get(at).is_some_and(|c| c.is_alphabetic() || *c == '_');
    let mut out = Vec::new();
    let mut start = 0;
    for at in 1..characters.len().saturating_sub(1) {
        let breaks = characters[at] == '-'
            && at >= 2
            && letter(at - 1)
            && letter(at - 2)
            && letter(at + 1)
            && letter(at + 2);
        if breaks {
            out.push(characters[start..=at].iter().collect());
            start = at + 1;
        }
    }
    out.push(characters[start..].iter().collect());
    out
}
