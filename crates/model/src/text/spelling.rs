//! How far one spelling is from another, and the nearest known name to one that is not known.

use std::mem::replace;

/// The candidate that a person most likely meant, if any is near enough. A caller with another rule for what is near enough
/// has [`edit_distance`].
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(64).map(fold).collect();
    let limit = (name.len() / 3).clamp(1, 3);
    let near = |candidate: &'a str| {
        let letters: Vec<char> = candidate.chars().map(fold).collect();
        let distance = between(&name, &letters);
        // Two names that have no letter in common are no misspellings of each other, however short.
        (distance <= limit && distance < name.len().max(letters.len())).then_some((distance, candidate))
    };
    let found = candidates.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance);
    found.map(|(_, candidate)| candidate)
}

/// `maxTokens` and `max-tokens` are `max_tokens` with another habit.
fn fold(c: char) -> char {
    if c == '-' { '_' } else { c.to_ascii_lowercase() }
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().collect::<Vec<char>>();
    between(&letters(a), &letters(b))
}

fn between(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_word() {
        let known = ["prompt", "provider", "max_attempts", "name", "when"];
        let cases = [
            ("promt", Some("prompt")),
            ("pormpt", Some("prompt")),
            ("max_attempt", Some("max_attempts")),
            ("maxAttempts", Some("max_attempts")),
            ("max-attempts", Some("max_attempts")),
            ("Name", Some("name")),
            ("wehn", Some("when")),
            ("colour", None),
            ("x", None),
            ("naem", Some("name")),
            ("frobnicate", None),
        ];
        assert_eq!(
            (nearest("c", ["a"]), nearest("aa", ["a"]), nearest("tp", ["to"])),
            (None, Some("a"), Some("to"))
        );
        for (written, expected) in cases {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }

    #[test]
    fn changes_are_counted() {
        for (a, b, far) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 1)] {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (far, far));
        }
    }
}
