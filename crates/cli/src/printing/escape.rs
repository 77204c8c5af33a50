//! Text from elsewhere (models, tools, files, names) as a terminal shows it and does not obey it.
//!
//! Control characters and bidirectional controls are written as escapes: `\u{1b}`, `\r`, `\u{202e}`. Pure; [`crate::stdio`]
//! is the only place that writes, and it lets everything pass through here. Colours of our own survive because their
//! escape character is written as a mark that no other process can know ([`own`]).

use convoke_model::{is_control, is_plain};
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;
use unicode_width::UnicodeWidthStr;

/// Stands for the escape character of our own sequences until they are written. Drawn anew in each process, so that no
/// text from elsewhere holds it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let drawn = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("\u{fdd0}{drawn:016x}\u{fdd1}")
});

const ESCAPE: char = '\x1b';

/// Several lines: line breaks and tabs stay, every other control character is shown.
pub fn text(text: &str) -> Cow<'_, str> {
    shown(text, |c| c == '\n' || c == '\t')
}

/// One line: a line break from elsewhere must not begin a line that looks like ours.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// A JSON text with `\uXXXX` for every control character. They stand inside of strings only, so the value is the same.
pub fn json(text: &str) -> Cow<'_, str> {
    // A list of ten thousand runs is long, and as a rule as plain as this.
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    replaced(text, |c| c == '\n', |c, out| out.push_str(&format!("\\u{:04x}", c as u32)))
}

/// A sequence of our own, such as a colour: it reaches the terminal as it is.
pub fn own(sequence: &str) -> String {
    sequence.replace(ESCAPE, &MARK)
}

/// The text with our own sequences made real. Only for what is written next.
pub fn with_own(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains(&*MARK) {
        true => Cow::Owned(text.replace(&*MARK, "\x1b")),
        false => text,
    }
}

/// The columns that a text takes on a terminal, its own sequences aside.
pub fn columns(text: &str) -> usize {
    let mut parts = text.split(&**MARK);
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    // Behind each mark stands the rest of a colour, which ends with its `m`.
    let rest = |part: &str| part.split_once('m').map_or(0, |(_, behind)| behind.width());
    first + parts.map(rest).sum::<usize>()
}

fn shown(text: &str, may_pass: fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, may_pass, |c, out| out.extend(c.escape_default()))
}

fn replaced(text: &str, may_pass: fn(char) -> bool, instead: fn(char, &mut String)) -> Cow<'_, str> {
    let is_kept = |c: char| !is_control(c) || may_pass(c);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_kept(c) { out.push(c) } else { instead(c, &mut out) }
    }
    Cow::Owned(out)
}

/// Lines of a file that a finding points into, one character for each: columns stay what they are.
pub struct Excerpt<'a>(&'a str);

impl<'a> Excerpt<'a> {
    /// Of this file.
    pub fn of(text: &'a str) -> Excerpt<'a> {
        Excerpt(text)
    }

    /// What is shown.
    pub fn text(&self) -> String {
        self.characters().map(|(_, c)| c).collect()
    }

    /// Where a byte of the file stands in what is shown.
    pub fn place_of(&self, byte: usize) -> usize {
        self.characters().take_while(|(at, _)| *at < byte).map(|(_, c)| c.len_utf8()).sum()
    }

    fn characters(&self) -> impl Iterator<Item = (usize, char)> {
        let mut rest = self.0.char_indices().peekable();
        std::iter::from_fn(move || {
            let (at, c) = rest.next()?;
            Some((at, picture(c, rest.peek().map(|(_, next)| *next))))
        })
    }
}

/// The one character that stands for another.
fn picture(c: char, next: Option<char>) -> char {
    match c {
        '\n' | '\t' => c,
        // The end of a line, as some editors write it.
        '\r' if next == Some('\n') => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).expect("Unicode has a picture of each"),
        '\x7f' => '\u{2421}',
        c if is_control(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b]0;t\x07\u{9b}2J\r\u{202e}b\n\tc\x7f";

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(text(HOSTILE), "a\\u{1b}]0;t\\u{7}\\u{9b}2J\\r\\u{202e}b\n\tc\\u{7f}");
        assert_eq!(line(HOSTILE), "a\\u{1b}]0;t\\u{7}\\u{9b}2J\\r\\u{202e}b\\n\\tc\\u{7f}");
        assert!(matches!(text("ä\n漢"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE] });
        let printed = serde_json::to_string_pretty(&value).unwrap();
        let safe = json(&printed);
        assert_eq!(safe.chars().find(|c| is_control(*c) && *c != '\n'), None);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn only_our_own_sequences_reach_the_terminal() {
        let words = format!("{}\x1b[8mhidden{}", own("\x1b[32m"), own("\x1b[0m"));
        assert_eq!(with_own(text(&words)), "\x1b[32m\\u{1b}[8mhidden\x1b[0m");
    }

    #[test]
    fn a_shown_line_keeps_its_columns() {
        let file = "a: \x1b[2J\u{202e}ä x\r\nb\n";
        let excerpt = Excerpt::of(file);
        let shown = excerpt.text();
        assert_eq!(shown, "a: \u{241b}[2J\u{fffd}ä x \nb\n");
        assert_eq!(shown.chars().count(), file.chars().count());
        for (at, c) in file.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()) {
            assert!(shown[excerpt.place_of(at)..].starts_with(c), "{at}");
        }
        assert_eq!(excerpt.place_of(1_000), shown.len());
    }
}
