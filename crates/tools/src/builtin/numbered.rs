//! Lines with their numbers, within bounds.

/// Characters of one line that are shown.
const LINE: usize = 2_000;

/// A line as agents are shown it: its number, a tab, the text.
pub(super) fn line(number: usize, text: &str) -> String {
    match text.char_indices().nth(LINE) {
        Some((at, _)) => {
            format!("{number:>6}\t{}… [{} more characters]", &text[..at], text[at..].chars().count())
        }
        None => format!("{number:>6}\t{text}"),
    }
}

/// The lines around a place of a text, with their numbers.
pub(super) fn around(text: &str, first: usize, last: usize) -> String {
    const BESIDE: usize = 3;
    const MOST: usize = 40;
    let from = first.saturating_sub(BESIDE + 1);
    let many = (last + BESIDE).saturating_sub(from).min(MOST);
    let lines = text.lines().enumerate().skip(from).take(many);
    lines.map(|(at, text)| line(at + 1, text)).collect::<Vec<_>>().join("\n")
}
