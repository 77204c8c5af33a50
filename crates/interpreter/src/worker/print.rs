//! Keeps the beginning of what a program prints, and counts the rest.

use crate::outcome::Printed;
use monty_types::{MontyException, PrintWriterCallback};
use std::borrow::Cow;

/// What one program printed.
#[derive(Default)]
pub struct Print {
    /// How many more bytes are kept.
    room: u64,
    /// Output that was not sent yet.
    new: Printed,
}

impl Print {
    /// For a program of which so many bytes are kept.
    pub fn new(room: u64) -> Print {
        Print { room, new: Printed::default() }
    }

    /// What was printed since the last time.
    pub fn take(&mut self) -> Printed {
        std::mem::take(&mut self.new)
    }

    fn keep(&mut self, text: &str) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = if self.new.cut > 0 { "" } else { &text[..text.floor_char_boundary(room)] };
        self.new.text.push_str(kept);
        self.room -= kept.len() as u64;
        let rest = (text.len() - kept.len()) as u64;
        if rest > 0 {
            // Nothing is kept after a gap.
            self.room = 0;
            self.new.cut += rest;
        }
    }
}

impl PrintWriterCallback for Print {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.keep(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.keep(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_the_rest_counted() {
        let mut print = Print::new(5);
        for text in ["ab", "cé", "f", "g"] {
            print.keep(text);
        }
        assert_eq!(print.take(), Printed { text: "abcé".into(), cut: 2 });
        print.keep("more");
        assert_eq!(print.take(), Printed { text: String::new(), cut: 4 });
    }

    #[test]
    fn a_character_is_kept_whole_or_not_at_all() {
        let mut print = Print::new(2);
        print.keep("aé");
        print.keep("b");
        assert_eq!(print.take(), Printed { text: "a".into(), cut: 3 });
    }
}
