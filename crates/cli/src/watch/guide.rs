//! Lines that a person types while a goal is worked on: each is said to whoever is asked next.

use crate::gate::{Heard, is_typed, next_line};
use convoke_engine::Handle;

/// Passes on what is typed.
pub struct Guide {
    handle: Handle,
    /// Recorded with the words.
    by: String,
    closed: bool,
}

impl Guide {
    /// Speaks to a run.
    pub fn new(handle: Handle, by: String) -> Guide {
        Guide { handle, by, closed: false }
    }

    /// Takes the lines that are there, without waiting for any.
    pub fn listen(&mut self) {
        while !self.closed && is_typed() {
            match next_line() {
                Heard::Line(line) if line.trim().is_empty() => {}
                Heard::Line(line) => self.handle.guide(line.trim(), &self.by),
                Heard::Closed | Heard::Moot => self.closed = true,
            }
        }
    }
}
