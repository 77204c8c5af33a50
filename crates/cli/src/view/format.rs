//! Fits texts into columns of a terminal; numbers, times and names come from [`convoke_view::words`].

use crate::escape;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use convoke_view::words::*;

/// One line of at most `width` columns; what is too long ends in a mark. Control characters are shown.
pub fn fit(text: &str, width: usize) -> String {
    let text = escape::line(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut left = width.saturating_sub(1);
    for c in text.chars() {
        left = match left.checked_sub(c.width().unwrap_or(0)) {
            Some(left) => left,
            None => break,
        };
        out.push(c);
    }
    out.push_str(if width > 0 { "…" } else { "" });
    out
}

/// A path of at most `width` columns: its end says which task it is, so its beginning is left out.
pub fn fit_path(path: &str, width: usize) -> String {
    let path = escape::line(path);
    if path.width() <= width {
        return path.into_owned();
    }
    let ends = path.match_indices('/').map(|(at, _)| format!("…{}", &path[at..]));
    ends.into_iter().find(|end| end.width() <= width).unwrap_or_else(|| fit(&path, width))
}

/// The end of a text, on one line of at most `width` columns.
pub fn fit_end(text: &str, width: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = escape::line(&text);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut from = text.len();
    let mut left = width.saturating_sub(1);
    for (at, c) in text.char_indices().rev() {
        left = match left.checked_sub(c.width().unwrap_or(0)) {
            Some(left) => left,
            None => return format!("…{}", &text[from..]),
        };
        from = at;
    }
    text.into_owned()
}

/// A text with blanks behind it, at least `width` columns wide.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_beginning() {
        assert_eq!(fit_path("goal/1/2/execute[1]", 15), "…/2/execute[1]");
        assert_eq!(fit_path("goal/execute", 4), "goa…");
        assert_eq!(fit_path("goal/1", 6), "goal/1");
    }

    #[test]
    fn long_or_hostile_text_stays_on_its_line() {
        assert_eq!(fit("abc\x1b[2Jdef", 12), "abc\\u{1b}[2…");
        assert_eq!(fit("äöü", 3), "äöü");
        assert_eq!([fit("漢字漢字", 8), fit("漢字漢字", 7), fit("漢字", 0)], ["漢字漢字", "漢字漢…", ""]);
        assert_eq!(fit_end("one\n two three", 9), "…wo three");
        assert_eq!([fit_end("one\n two", 7), fit_end("one\n two", 6)], ["one two", "…e two"]);
    }
}
