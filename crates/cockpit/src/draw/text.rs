//! Texts on a screen: harmless, as wide as there is room, whole where they are wrapped.

use convoke_model::is_control;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text in which no character steers a terminal; line breaks stay.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str("    "),
            c if is_control(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// The same in one line.
pub fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning, in so many columns.
pub fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The end, in so many columns: of a path it says more than the beginning.
pub fn tail(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let kept: Vec<char> = text.chars().rev().take_while(fits).collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// The lines of a text, none wider than so many columns; broken between words where that is possible.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    for line in plain(text).lines() {
        wrap_line(line, columns, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    let (mut kept, mut width) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let own = word.trim_end().width();
        if width > 0 && width + own > columns {
            lines.push(std::mem::take(&mut kept).trim_end().to_owned());
            width = 0;
        }
        if own <= columns {
            kept.push_str(word);
            width += word.width();
            continue;
        }
        for c in word.chars() {
            let own = c.width().unwrap_or(0);
            if width + own > columns {
                lines.push(std::mem::take(&mut kept));
                width = 0;
            }
            kept.push(c);
            width += own;
        }
    }
    lines.push(kept.trim_end().to_owned());
}

/// Puts a text into a line of an area, cut to it.
pub fn put(frame: &mut Frame<'_>, area: Rect, line: u16, text: &str, style: Style) {
    if line < area.height {
        let text = fit(&plain(text).replace('\n', " "), area.width.into());
        frame.buffer_mut().set_string(area.x, area.y + line, text, style);
    }
}

/// Puts a text to the right end of a line, if there is room behind what stands there.
pub fn put_right(frame: &mut Frame<'_>, area: Rect, taken: u16, text: &str, style: Style) {
    let width = text.width() as u16;
    if taken + width < area.width {
        frame.buffer_mut().set_string(area.x + area.width - width, area.y, text, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(one_line("a\x1b[2J\u{202e}b\r\n\tc\u{9b}"), "a\\u{1b}[2J\\u{202e}b\\r c\\u{9b}");
        assert_eq!(fit("漢字です", 5), "漢字…");
        assert_eq!(tail("/a/long/path", 6), "…/path");
    }

    proptest! {
        #[test]
        fn wrapped_lines_fit_and_hold_every_word(text in "(\\PC|[ \\n\\t\\x1b]){0,200}", columns in 8usize..60) {
            let lines = wrapped(&text, columns);
            for line in &lines {
                prop_assert!(line.width() <= columns, "{line:?} in {columns}");
                prop_assert!(!line.chars().any(is_control));
            }
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeezed(&lines.concat()), squeezed(&plain(&text)));
        }
    }
}
