//! The terminal: a block of lines that is drawn over itself, with finished lines scrolling above it.
//!
//! Everything goes out in one write per frame, so that a slow terminal does not flicker. Invariant: after `clear` the
//! cursor stands at the start of an empty line.

use crate::{escape, stdio};
use std::io::{self, Write};

/// Draws on standard error.
pub struct Screen<W: Write> {
    out: W,
    drawn: usize,
}

impl<W: Write> Screen<W> {
    /// A screen on which nothing is drawn.
    pub fn new(out: W) -> Screen<W> {
        Screen { out, drawn: 0 }
    }

    /// Prints `above` for good and redraws the block below it.
    pub fn draw(&mut self, above: &[String], block: &[String]) -> io::Result<()> {
        let mut frame = self.erase();
        for line in above.iter().chain(block) {
            frame.push_str(&escape::with_own(escape::line(line)));
            frame.push('\n');
        }
        self.drawn = block.len();
        self.send(&frame)
    }

    /// Takes the block away.
    pub fn clear(&mut self) -> io::Result<()> {
        let frame = self.erase();
        self.drawn = 0;
        self.send(&frame)
    }

    fn erase(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\x1b[{}F\x1b[0J", self.drawn) }
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
        screen.draw(&[], &["a".into(), "b".into()]).unwrap();
        screen.draw(&["done".into()], &["c".into()]).unwrap();
        screen.clear().unwrap();
        screen.clear().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "a\nb\n\x1b[2F\x1b[0Jdone\nc\n\x1b[1F\x1b[0J");
    }
}
