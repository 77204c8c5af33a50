//! The terminal: a block of lines that is drawn over itself, with finished lines scrolling above it.
//!
//! Everything goes out in one write per frame, so that a slow terminal does not flicker. Invariant: after `clear` the
//! cursor stands at the start of an empty line.

use crate::{escape, stdio};
use std::io::{self, Write};

/// Draws on standard error.
pub struct Screen<W: Write> {
    out: W,
    /// The columns of each line that is drawn. A terminal that became narrower has broken the longer ones, so how many
    /// rows the block takes is known only when it is taken away.
    drawn: Vec<usize>,
}

impl<W: Write> Screen<W> {
    /// A screen on which nothing is drawn.
    pub fn new(out: W) -> Screen<W> {
        Screen { out, drawn: Vec::new() }
    }

    /// Prints `above` for good and redraws the block below it.
    pub fn draw(&mut self, above: &[String], block: &[String], columns: usize) -> io::Result<()> {
        let mut frame = self.erase(columns);
        for line in above.iter().chain(block) {
            frame.push_str(&escape::with_own(escape::line(line)));
            frame.push('\n');
        }
        self.drawn = block.iter().map(|line| escape::columns(&escape::line(line))).collect();
        self.send(&frame)
    }

    /// Takes the block away.
    pub fn clear(&mut self, columns: usize) -> io::Result<()> {
        let frame = self.erase(columns);
        self.drawn.clear();
        self.send(&frame)
    }

    fn erase(&self, columns: usize) -> String {
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}F\x1b[0J") }
    }

    fn send(&mut self, frame: &str) -> io::Result<()> {
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

/// Columns and rows of the terminal on standard error; something sensible without one.
pub fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(stdio::screen()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_drawn_over_itself() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out);
        screen.draw(&[], &["a".into(), "b".into()], 80).unwrap();
        screen.draw(&["done".into()], &["c".into()], 80).unwrap();
        screen.clear(80).unwrap();
        screen.clear(80).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "a\nb\n\x1b[2F\x1b[0Jdone\nc\n\x1b[1F\x1b[0J");
    }

    #[test]
    fn lines_that_a_narrower_window_broke_are_taken_away_whole() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out);
        let painted = format!("{}{}{}", escape::own("\x1b[1m"), "x".repeat(90), escape::own("\x1b[0m"));
        screen.draw(&[], &[painted, "漢".repeat(30), String::new(), "y".repeat(40)], 90).unwrap();
        screen.clear(40).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with("\x1b[7F\x1b[0J"), "{text:?}");
    }

    #[test]
    fn text_from_elsewhere_does_not_move_the_cursor() {
        let mut out = Vec::new();
        Screen::new(&mut out).draw(&["a\x1b[9F\nb".into()], &["c\rd".into()], 80).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[9F\\nb\nc\\rd\n");
    }
}
