//! Which bytes of a scalar's value stand in the file exactly as they are.
//!
//! One walk serves every style: bytes that are alike are copied, escapes of quotes are stepped over, and white space
//! around a line break (indentation, folding) is skipped on both sides. Where the two cannot be brought together the
//! rest has no exact place; nothing is ever guessed.

use super::super::text::Segment;
use super::Style;

/// The segments of `value`, which was written as `source` beginning at byte `start` of its file.
pub(in crate::source) fn segments(value: &str, source: &str, start: usize, style: Style) -> Vec<Segment> {
    let quoted = matches!(style, Style::Single | Style::Double) && source.len() >= 2;
    let (source, start) = if quoted { (&source[1..source.len() - 1], start + 1) } else { (source, start) };
    if value == source {
        return vec![Segment { value_start: 0, source_start: start, length: value.len() }];
    }
    let mut walk =
        Walk { value: value.as_bytes(), source: source.as_bytes(), at: 0, from: 0, start, found: Vec::new() };
    while walk.step(style) {}
    walk.found
}

struct Walk<'a> {
    value: &'a [u8],
    source: &'a [u8],
    at: usize,
    from: usize,
    start: usize,
    found: Vec<Segment>,
}

impl Walk<'_> {
    /// Goes over one byte, one escape or one line break; false at the end or where the two part.
    fn step(&mut self, style: Style) -> bool {
        let (Some(&wanted), Some(&written)) = (self.value.get(self.at), self.source.get(self.from)) else {
            return false;
        };
        match written {
            b'\\' if style == Style::Double => self.escape(),
            b'\'' if style == Style::Single => self.skip(1, 2),
            b'\n' | b'\r' => self.line_break(),
            _ if wanted == written => self.copy(),
            b' ' | b'\t' => self.line_break(),
            _ => false,
        }
    }

    fn copy(&mut self) -> bool {
        let (value_start, source_start) = (self.at, self.start + self.from);
        let continues = |last: &Segment| {
            last.value_start + last.length == value_start && last.source_start + last.length == source_start
        };
        match self.found.last_mut().filter(|last| continues(last)) {
            Some(last) => last.length += 1,
            None => self.found.push(Segment { value_start, source_start, length: 1 }),
        }
        self.skip(1, 1)
    }

    fn skip(&mut self, value: usize, source: usize) -> bool {
        self.at += value;
        self.from += source;
        true
    }

    fn line_break(&mut self) -> bool {
        let blank = |byte: &&u8| byte.is_ascii_whitespace();
        self.at += self.value[self.at..].iter().take_while(blank).count();
        self.from += self.source[self.from..].iter().take_while(blank).count();
        true
    }

    /// Steps over `\n`, `\x41`, `\u263A` (pairs of surrogates too), or a line break that is written away.
    fn escape(&mut self) -> bool {
        let Some(&kind) = self.source.get(self.from + 1) else { return false };
        if matches!(kind, b'\n' | b'\r') {
            let blanks =
                self.source[self.from + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            return self.skip(0, 1 + blanks);
        }
        let mut length = 2 + escape_digits(kind);
        if kind == b'u' && self.is_high_surrogate() {
            length *= 2;
        }
        self.skip(character_length(self.value[self.at]), length)
    }

    fn is_high_surrogate(&self) -> bool {
        let digits = self.source.get(self.from + 2..self.from + 4);
        digits.is_some_and(|digits| {
            digits[0].eq_ignore_ascii_case(&b'd')
                && matches!(digits[1], b'8' | b'9' | b'a' | b'b' | b'A' | b'B')
        })
    }
}

fn escape_digits(kind: u8) -> usize {
    match kind {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => 0,
    }
}

fn character_length(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source_of(value: &str, source: &str, style: Style, offset: usize) -> Option<usize> {
        let found = segments(value, source, 0, style);
        found.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.value_start)?;
            (within < segment.length).then_some(segment.source_start + within)
        })
    }

    #[test]
    fn every_style_leads_back_to_the_file() {
        let cases = [
            ("a b", "a b", Style::Plain, "b"),
            ("a b", "a\n     b", Style::Plain, "b"),
            ("one\n two\n\nx\n", "one\n     two\n\n    x\n", Style::Block, "x"),
            ("fo ld", "fo\n  ld\n", Style::Block, "ld"),
            ("it's me", "'it''s me'", Style::Single, "me"),
            ("a\nb\u{e9}c", "\"a\\nb\\u00e9c\"", Style::Double, "c"),
            ("\u{1F600}z", "\"\\ud83d\\ude00z\"", Style::Double, "z"),
            ("one two", "\"one \\\n   two\"", Style::Double, "two"),
            ("x\ny\n", "x\r\n  y\r\n", Style::Block, "y"),
        ];
        for (value, source, style, needle) in cases {
            let found = source_of(value, source, style, value.find(needle).unwrap());
            assert_eq!(found, source.rfind(needle), "{source:?}");
        }
    }
}
