//! The difference between two texts, line by line, for people.

/// Lines of context around a change.
const CONTEXT: usize = 2;
/// Beyond this many changed lines the difference is a rewrite, and a comparison in detail would not help.
const MOST_LINES: usize = 2_000;

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The changed lines with `-` and `+`, and some lines around them; empty if the texts are equal.
pub fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - after], &new_rest[..new_rest.len() - after]);
    let mut lines: Vec<_> = old[..before].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(old_middle, new_middle));
    lines.extend(old_rest[old_rest.len() - after..].iter().map(|line| Line::Same(line)));
    with_context(&lines)
}

/// The shortest edit between two middles, by the longest common subsequence.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    if old.len().max(new.len()) > MOST_LINES {
        return old
            .iter()
            .map(|line| Line::Old(line))
            .chain(new.iter().map(|line| Line::New(line)))
            .collect();
    }
    let common = common_lengths(old, new);
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

/// For each pair of places, how many lines the rests have in common.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] =
                if old[i] == new[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    table
}

fn with_context(lines: &[Line<'_>]) -> String {
    let changed: Vec<_> = (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Same(_))).collect();
    let is_near = |at: usize| {
        let next = changed.partition_point(|change| *change < at);
        let after = changed.get(next).is_some_and(|change| change - at <= CONTEXT);
        after || next > 0 && at - changed[next - 1] <= CONTEXT
    };
    let mut text = String::new();
    let mut skipped = false;
    for (at, line) in lines.iter().enumerate() {
        if !is_near(at) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("  …\n");
        }
        text.push_str(&match line {
            Line::Same(words) => format!("    {words}\n"),
            Line::Old(words) => format!("  - {words}\n"),
            Line::New(words) => format!("  + {words}\n"),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        assert_eq!(difference(old, new), "  …\n    c\n    d\n  - e\n  + E\n    f\n    g\n    h\n  + i\n");
        assert_eq!(difference(old, old), "");
    }

    #[test]
    fn a_rewrite_is_no_long_computation() {
        let old: String = (0..5_000).map(|i| format!("old {i}\n")).collect();
        let new: String = (0..5_000).map(|i| format!("new {i}\n")).collect();
        assert_eq!(difference(&old, &new).lines().count(), 10_000);
    }
}
