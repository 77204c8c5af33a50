//! A line that is typed.

use crate::Key;

/// Characters of one line.
const MOST: usize = 4_000;

/// The line so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// What was typed.
    pub text: String,
}

impl Line {
    /// A line that begins with a text.
    pub fn of(text: &str) -> Line {
        Line { text: text.to_owned() }
    }

    /// Takes a key; whether it is one of typing.
    pub fn take(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) if self.text.chars().count() < MOST => self.text.push(c),
            Key::Char(_) => {}
            Key::Backspace => drop(self.text.pop()),
            _ => return false,
        }
        true
    }
}
