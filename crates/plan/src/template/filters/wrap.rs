//! `wordwrap`, as Python's `textwrap` does it.

use convoke_model::excerpt::place_of;
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
    let filled: Vec<Vec<String>> = lines(&value, false).iter().map(|line| shape.fill(line)).collect();
    let count = filled.iter().map(|lines| lines.len().max(1)).sum::<usize>();
    charge(state, value.len().saturating_add(count.saturating_mul(wrap.len())))?;
    let wrapped: Vec<String> = filled.iter().map(|lines| lines.join(&wrap)).collect();
    Ok(Value::from(wrapped.join(&wrap)))
}

struct Shape {
    width: usize,
    break_long: bool,
    hyphens: bool,
}

impl Shape {
    /// One line as several; white space at a break goes, inside a line it stays.
    ///
    /// Linear: a piece is looked at no further than a line is wide, and what is left of it is never copied.
    fn fill(&self, line: &str) -> Vec<String> {
        let mut pieces = self.pieces(line);
        pieces.reverse();
        let mut out: Vec<String> = Vec::new();
        while !pieces.is_empty() {
            let mut current: Vec<&str> = Vec::new();
            let mut room = self.width;
            if !out.is_empty() && pieces.last().is_some_and(|piece| piece.trim().is_empty()) {
                pieces.pop();
            }
            while let Some(length) = pieces.last().and_then(|piece| length_within(piece, room)) {
                room -= length;
                current.extend(pieces.pop());
            }
            if pieces.last().is_some_and(|piece| length_within(piece, self.width).is_none()) {
                self.long(&mut pieces, &mut current, room);
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
    fn long<'l>(&self, pieces: &mut Vec<&'l str>, current: &mut Vec<&'l str>, room: usize) {
        let Some(piece) = pieces.pop() else { return };
        if !self.break_long {
            match current.is_empty() {
                true => current.push(piece),
                false => pieces.push(piece),
            }
            return;
        }
        let space = room.max(usize::from(current.is_empty()));
        let mut cut = place_of(piece, space);
        if self.hyphens {
            let head = &piece[..cut];
            let last = head.rfind('-').filter(|at| head[..*at].contains(|c| c != '-'));
            cut = last.map_or(cut, |at| at + 1);
        }
        let (head, rest) = piece.split_at(cut);
        current.push(head);
        if !rest.is_empty() {
            pieces.push(rest);
        }
    }

    /// Words, the white space between them, and the parts of words with hyphens between letters.
    fn pieces<'l>(&self, line: &'l str) -> Vec<&'l str> {
        let mut out: Vec<&str> = Vec::new();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let blank = first.is_whitespace();
            let end = rest.find(|c: char| c.is_whitespace() != blank).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            match self.hyphens && !blank {
                true => out.extend(at_hyphens(piece)),
                false => out.push(piece),
            }
            rest = after;
        }
        out
    }
}

/// The characters of a text, if there are no more than `most`.
fn length_within(text: &str, most: usize) -> Option<usize> {
    let count = text.chars().take(most.saturating_add(1)).count();
    (count <= most).then_some(count)
}

/// `well-known` as `well-` and `known`: a break is allowed after a hyphen between letters.
fn at_hyphens(piece: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = piece.char_indices().collect();
    let letter = |at: usize| characters.get(at).is_some_and(|(_, c)| c.is_alphabetic() || *c == '_');
    let mut out = Vec::new();
    let mut start = 0;
    for (at, &(offset, character)) in characters.iter().enumerate().skip(2) {
        let between =
            character == '-' && letter(at - 1) && letter(at - 2) && letter(at + 1) && letter(at + 2);
        if between {
            out.push(&piece[start..=offset]);
            start = offset + 1;
        }
    }
    out.push(&piece[start..]);
    out
}
