//! One word of a command: what it says once its quotes are gone.

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The text after quote removal. For a pattern, the pattern as it was written.
    pub text: String,
    /// As it was written, without line continuations.
    pub raw: String,
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
        let chars: Vec<char> = text.chars().collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < chars.len() {
            match chars[at] {
                '*' => pieces.push(Piece::Many),
                '?' => pieces.push(Piece::One),
                '\\' if at + 1 < chars.len() => {
                    at += 1;
                    pieces.push(Piece::Literal(chars[at]));
                }
                '[' => match class(&chars[at..]) {
                    Some((piece, length)) => {
                        pieces.push(piece);
                        at += length - 1;
                    }
                    None => pieces.push(Piece::Literal('[')),
                },
                c => pieces.push(Piece::Literal(c)),
            }
            at += 1;
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

/// A bracket at the beginning: its piece, and how many characters it takes.
pub(super) fn class(chars: &[char]) -> Option<(Piece, usize)> {
    let mut at = 1;
    let positive = !matches!(chars.get(at), Some('!' | '^'));
    if !positive {
        at += 1;
    }
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let c = *chars.get(at)?;
        match c {
            ']' if at > first => return Some((Piece::Class(ranges, positive), at + 1)),
            '/' => return None,
            // A named class or an equivalence: taken for anything.
            '[' if matches!(chars.get(at + 1), Some(':' | '.' | '=')) => ranges.push(('\0', char::MAX)),
            _ => {}
        }
        let to = match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(to)) if *to != ']' => {
                at += 2;
                *to
            }
            _ => c,
        };
        ranges.push((c, to));
        at += 1;
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
