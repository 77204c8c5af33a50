//! Shows part of a text, and estimates how many tokens a text takes.
//!
//! Pure. Every crate that shortens a text for a prompt, a message or a person does it here. How much a reader gets is the
//! caller's decision, and so is where the whole text is kept. Widths of terminals and bounds of streams are counted elsewhere.
//!
//! Tokens are estimated from bytes, four to a token. Bytes are closer to what tokenizers count than characters: a Latin
//! letter has one byte and about a quarter of a token, a Chinese character three bytes and about one token. The length of a
//! stored text in bytes is known without reading it. Limits of tokens are therefore limits of bytes; lengths that a person or
//! a model is told are characters.
//!
//! Kept true: a cut falls between two characters, a text that fits is shown as it is, and a mark stands where text is missing.

use std::fmt::Display;

/// Bytes of a token, as an estimate.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Stands where text is missing.
const MARK: &str = "…";

/// An end of line this close to a cut is taken instead, in bytes.
const NEAR: usize = 200;

/// The estimated tokens of a text.
pub fn tokens(text: &str) -> u64 {
    tokens_of_bytes(text.len() as u64)
}

/// The estimated tokens of a text of so many bytes.
pub fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// The bytes of a text that takes so many tokens.
pub fn bytes_of_tokens(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// Where the character with this number begins, counted from 0; the end of a text that has fewer.
pub fn place_of(text: &str, character: usize) -> usize {
    match text.as_bytes().get(..character) {
        None => text.len(),
        // Of plain text nothing has to be counted.
        Some(start) if start.is_ascii() => character,
        Some(_) => text.char_indices().nth(character).map_or(text.len(), |(at, _)| at),
    }
}

/// The first characters of a text.
pub fn first_chars(text: &str, count: usize) -> &str {
    &text[..place_of(text, count)]
}

/// The last characters of a text.
pub fn last_chars(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(at, _)| at);
    &text[start..]
}

/// The first bytes of a text, as far as they are whole characters.
pub fn first_bytes(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The text on one line, with one space where there was white space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of at most so many characters, and the mark behind them where it has more.
pub fn clipped(text: &str, most: usize) -> String {
    marked(text, first_chars(text, most))
}

/// The same counted in bytes.
pub fn clipped_bytes(text: &str, most: usize) -> String {
    marked(text, first_bytes(text, most))
}

/// A text of at most so many characters, the mark among them.
pub fn within(text: &str, most: usize) -> String {
    match first_chars(text, most).len() == text.len() {
        true => text.to_owned(),
        false => format!("{}{MARK}", first_chars(text, most.saturating_sub(1))),
    }
}

/// The first line of a text, at most so many characters of it, and the mark where anything follows.
pub fn first_line(text: &str, most: usize) -> String {
    let line = first_chars(text.lines().next().unwrap_or_default(), most);
    marked(text.trim_end(), line)
}

/// The first line that is not blank, and the mark where another one follows.
pub fn leading_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim_end();
    if lines.next().is_some() { format!("{first} {MARK}") } else { first.to_owned() }
}

/// The head of a text that takes at most so many bytes, with the number of characters that are left out and how the rest
/// is read; see [`read_by`].
pub fn headed(text: &str, most: usize, way: impl Display) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = first_bytes(text, most);
    format!("{head}\n[{MARK} {} more characters{way}]", text[head.len()..].chars().count())
}

/// How the rest of a text is read by an agent that has the tool, given the number of the kept text.
pub fn read_by(number: Option<usize>) -> String {
    number.map_or_else(String::new, |number| reads(number, "it"))
}

/// The same where it is said what is read.
pub fn reads(number: usize, what: &str) -> String {
    format!("; `read_result` with the name `r{number}` reads {what}")
}

/// The beginning and the end of a text, together about as long as `most` characters, cut at an end of line where one is
/// near. The gap is told how many characters are left out.
pub fn head_and_tail(text: &str, most: usize, gap: impl FnOnce(usize) -> String) -> String {
    let of_tail = most / 4;
    let end_of_head = place_of(text, most - of_tail);
    let start_of_tail = (text.len() - last_chars(text, of_tail).len()).max(end_of_head);
    let head = &text[..line_end_before(text, end_of_head)];
    let tail = &text[line_end_after(text, start_of_tail)..];
    let left_out = text[head.len()..text.len() - tail.len()].chars().count();
    format!("{head}\n{}\n{tail}", gap(left_out))
}

/// The piece of a text around a place, with so many bytes on both sides.
pub fn around(text: &str, place: std::ops::Range<usize>, bytes: usize) -> &str {
    let from = text.floor_char_boundary(place.start.saturating_sub(bytes));
    let to = text.ceil_char_boundary((place.end + bytes).min(text.len()));
    &text[from..to]
}

fn marked(text: &str, shown: &str) -> String {
    let mark = if shown.len() < text.len() { MARK } else { "" };
    format!("{shown}{mark}")
}

fn line_end_before(text: &str, cut: usize) -> usize {
    let from = text.floor_char_boundary(cut.saturating_sub(NEAR.min(cut / 10)));
    text[from..cut].rfind('\n').map_or(cut, |at| from + at)
}

fn line_end_after(text: &str, cut: usize) -> usize {
    let to = text.ceil_char_boundary((cut + NEAR.min((text.len() - cut) / 10)).min(text.len()));
    text[cut..to].find('\n').map_or(cut, |at| cut + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_follow_bytes() {
        assert_eq!((tokens(""), tokens("four"), tokens("fives"), tokens("日本")), (0, 1, 2, 2));
        assert_eq!((bytes_of_tokens(3), bytes_of_tokens(u64::MAX)), (12, usize::MAX));
    }

    #[test]
    fn a_text_that_fits_has_no_mark() {
        for text in ["", "é", "short"] {
            assert_eq!(clipped(text, 5), text);
            assert_eq!(clipped_bytes(text, 5), text);
            assert_eq!(within(text, 5), text);
            assert_eq!(first_line(text, 5), text);
            assert_eq!(headed(text, 5, "!"), text);
        }
    }

    #[test]
    fn a_longer_text_says_so() {
        assert_eq!((clipped("ééé", 2), clipped_bytes("ééé", 3)), ("éé…".to_owned(), "é…".to_owned()));
        assert_eq!((within("longer", 5), within("longer", 0)), ("long…".to_owned(), "…".to_owned()));
        assert_eq!(
            (first_line("one\ntwo", 9), first_line("one\n\n", 9)),
            ("one…".to_owned(), "one".to_owned())
        );
        assert_eq!(
            headed("ééé", 3, read_by(Some(2))),
            "é\n[… 2 more characters; `read_result` with the name `r2` reads it]"
        );
        assert_eq!(headed("ééé", 3, read_by(None)), "é\n[… 2 more characters]");
        assert_eq!(one_line(" a\n\n b\tc "), "a b c");
    }

    #[test]
    fn ends_of_lines_near_a_cut_are_taken() {
        let text = (0..1000).map(|at| format!("line {at:04}")).collect::<Vec<_>>().join("\n");
        let shown = head_and_tail(&text, 4_000, |left_out| format!("[{left_out}]"));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.len() == 9 || line.starts_with('[')), "{shown}");
        assert_eq!((lines[0], lines[lines.len() - 1]), ("line 0000", "line 0999"));
    }

    proptest! {
        #[test]
        fn every_part_is_a_part_and_no_longer_than_asked(text in "\\PC{0,60}", most in 0usize..80) {
            prop_assert!(text.starts_with(first_chars(&text, most)) && text.ends_with(last_chars(&text, most)));
            prop_assert_eq!(first_chars(&text, most).chars().count(), text.chars().count().min(most));
            prop_assert_eq!(last_chars(&text, most).chars().count(), text.chars().count().min(most));
            prop_assert!(first_bytes(&text, most).len() <= most);
            prop_assert!(within(&text, most.max(1)).chars().count() <= most.max(1));
            prop_assert!(text.contains(around(&text, text.len() / 2..text.len() / 2, most)));
        }

        #[test]
        fn head_gap_and_tail_are_all_of_the_text(text in "[a-zé\n]{1,400}", most in 0usize..300) {
            let mut left_out = 0;
            let shown = head_and_tail(&text, most, |count| { left_out = count; "|".to_owned() });
            let (head, tail) = shown.split_once("\n|\n").expect("the gap is there");
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert_eq!(head.chars().count() + left_out + tail.chars().count(), text.chars().count());
        }
    }
}
