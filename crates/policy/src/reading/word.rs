//! One word of a command: what it says once its quotes are gone.

use std::borrow::Cow;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// The text after quote removal. For a pattern, the pattern as it was written.
    pub text: Cow<'a, str>,
    /// As it was written.
    pub raw: &'a str,
    /// Whether any part of it was quoted or escaped.
    pub quoted: bool,
    /// The pieces of an unquoted pattern.
    pub pattern: Option<Pattern>,
}

/// A file name pattern that the shell would expand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(pub Vec<Piece>);

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Itself.
    Literal(char),
    /// `*`
    Many,
    /// `?`
    One,
    /// `[abc]`, as it was written between its brackets; false for `[!abc]`.
    Class(Vec<(char, char)>, bool),
}

impl Piece {
    fn takes(&self, c: char) -> bool {
        match self {
            Piece::Literal(own) => *own == c,
            Piece::Many | Piece::One => true,
            Piece::Class(ranges, positive) => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) == *positive
            }
        }
    }
}

impl Pattern {
    /// A pattern in the text of an argument, as `find -name` and git's pathspecs have it.
    pub fn of_text(text: &str) -> Pattern {
        let mut pieces = Vec::with_capacity(text.len());
        // Before this place no bracket is closed.
        let (mut at, mut open_until) = (0, 0);
        while let Some(c) = text[at..].chars().next() {
            let mut length = c.len_utf8();
            let piece = match c {
                '*' => Piece::Many,
                '?' => Piece::One,
                '\\' => match text[at + 1..].chars().next() {
                    Some(next) => {
                        length += next.len_utf8();
                        Piece::Literal(next)
                    }
                    None => Piece::Literal(c),
                },
                '[' if at >= open_until => match class(&text[at..]) {
                    Ok((piece, taken)) => {
                        length = taken;
                        piece
                    }
                    Err(looked_at) => {
                        open_until = at + looked_at;
                        Piece::Literal(c)
                    }
                },
                c => Piece::Literal(c),
            };
            pieces.push(piece);
            at += length;
        }
        Pattern(pieces)
    }

    /// Whether the pattern holds anything but literal characters.
    pub fn is_literal(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Literal(_)))
    }

    /// The parts between slashes.
    pub fn components(&self) -> Vec<Pattern> {
        let parts = self.0.split(|piece| *piece == Piece::Literal('/'));
        parts.map(|part| Pattern(part.to_vec())).collect()
    }

    /// The text of a part without any wildcard.
    pub fn literal(&self) -> Option<String> {
        let char_of = |piece: &Piece| match piece {
            Piece::Literal(c) => Some(*c),
            _ => None,
        };
        self.0.iter().map(char_of).collect()
    }

    /// Whether a file name is one of those that the pattern stands for. A leading dot is only met by a dot, as the shell has it.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        if name.first() == Some(&'.') && self.0.first() != Some(&Piece::Literal('.')) {
            return false;
        }
        matches(&self.0, &name)
    }

    /// Whether a name is one of the pattern, a leading dot being a character like others.
    pub fn matches_any(&self, name: &str) -> bool {
        matches(&self.0, &name.chars().collect::<Vec<_>>())
    }

    /// Whether some name is one of both patterns.
    pub fn meets(&self, other: &Pattern) -> bool {
        let hidden = |pattern: &Pattern| pattern.0.first() == Some(&Piece::Literal('.'));
        if hidden(other) && !hidden(self) {
            return false;
        }
        meets(&self.0, &other.0)
    }
}

/// A bracket at the beginning: its piece, and how many bytes it takes. The error says how far was looked for its end.
pub(super) fn class(text: &str) -> Result<(Piece, usize), usize> {
    let mut chars = text.char_indices().peekable();
    chars.next();
    let positive = chars.next_if(|(_, c)| matches!(c, '!' | '^')).is_none();
    let (mut ranges, mut is_first) = (Vec::new(), true);
    loop {
        let (at, c) = chars.next().ok_or(text.len())?;
        match c {
            ']' if !is_first => return Ok((Piece::Class(ranges, positive), at + 1)),
            '/' => return Err(at),
            // A named class or an equivalence: taken for anything.
            '[' if matches!(chars.peek(), Some((_, ':' | '.' | '='))) => ranges.push(('\0', char::MAX)),
            _ => {}
        }
        is_first = false;
        let mut ahead = chars.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some((_, '-')), Some((_, to))) if to != ']' => {
                chars = ahead;
                to
            }
            _ => c,
        };
        ranges.push((c, to));
    }
}

fn matches(pieces: &[Piece], name: &[char]) -> bool {
    // `reach[i]`: the pieces so far may have taken the first i characters.
    let mut reach = vec![false; name.len() + 1];
    reach[0] = true;
    for piece in pieces {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            next[at] = match piece {
                Piece::Many => reach[at] || (at > 0 && next[at - 1]),
                other => at > 0 && reach[at - 1] && other.takes(name[at - 1]),
            };
        }
        reach = next;
    }
    reach[name.len()]
}

fn meets(a: &[Piece], b: &[Piece]) -> bool {
    let mut reach = vec![vec![false; b.len() + 1]; a.len() + 1];
    reach[0][0] = true;
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let skip_a = i > 0 && a[i - 1] == Piece::Many && reach[i - 1][j];
            let skip_b = j > 0 && b[j - 1] == Piece::Many && reach[i][j - 1];
            let both = i > 0 && j > 0 && {
                let (x, y) = (&a[i - 1], &b[j - 1]);
                let from = reach[i - 1][j - 1]
                    || (*x == Piece::Many && reach[i][j - 1])
                    || (*y == Piece::Many && reach[i - 1][j]);
                from && both_take(x, y)
            };
            reach[i][j] |= skip_a || skip_b || both;
        }
    }
    reach[a.len()][b.len()]
}

/// Whether one character may be taken by both. Two classes are taken to meet.
fn both_take(a: &Piece, b: &Piece) -> bool {
    match (a, b) {
        (Piece::Literal(c), other) | (other, Piece::Literal(c)) => other.takes(*c),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::of_text(text)
    }

    #[test]
    fn patterns_match_as_in_the_shell() {
        assert!(pattern("*.rs").matches("a.rs"));
        assert!(!pattern("*").matches(".env"));
        assert!(pattern(".e*").matches(".env"));
        assert!(pattern(".[a-e]nv").matches(".env"));
        assert!(!pattern(".[!e]nv").matches(".env"));
        assert!(pattern("a?c").matches("abc") && !pattern("a?c").matches("ac"));
    }

    #[test]
    fn two_patterns_meet_when_a_name_is_in_both() {
        assert!(pattern(".e*").meets(&pattern(".env*")));
        assert!(pattern(".en?").meets(&pattern(".env*")));
        assert!(pattern("k*").meets(&pattern("*.pem")));
        assert!(!pattern("*.rs").meets(&pattern("*.pem")));
        assert!(!pattern("*").meets(&pattern(".env*")));
        assert!(pattern("*").meets(&pattern("*.pem")));
    }
}
