//! Lines that a person types, without ever being stuck in a read: a question can end while it is asked.

use super::editor;
use crate::stdio;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, IsTerminal};

/// What came of waiting for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(String),
    /// The person closed the input (Ctrl-D).
    Closed,
    /// The question is no longer of interest.
    Moot,
}

/// Where questions are asked.
pub trait Terminal {
    /// Shows words.
    fn show(&mut self, words: &str);
    /// Waits for a line.
    fn hear(&mut self) -> Heard;
    /// Has a text changed in the person's editor; in words why not, where that cannot be.
    fn edit(&mut self, text: &str) -> Result<String, String>;
}

/// Standard input and standard error. `is_moot` is asked ten times a second while nothing is typed.
pub struct Keyboard<F: FnMut() -> bool> {
    is_moot: F,
}

impl<F: FnMut() -> bool> Keyboard<F> {
    /// Asks until `is_moot` says that it is no longer needed.
    pub fn new(is_moot: F) -> Keyboard<F> {
        Keyboard { is_moot }
    }
}

/// Whether a person can be asked here. What a step of a run types into a terminal of its own is no person's word.
pub fn is_attended() -> bool {
    io::stdin().is_terminal() && stdio::err_is_terminal() && !crate::caller::is_inside()
}

/// Rings the bell of the terminal that questions are asked on.
pub fn ring() {
    stdio::bell();
}

impl<F: FnMut() -> bool> Terminal for Keyboard<F> {
    fn show(&mut self, words: &str) {
        stdio::prompt(words);
    }

    fn hear(&mut self) -> Heard {
        while !readable() {
            if (self.is_moot)() {
                return Heard::Moot;
            }
        }
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => Heard::Closed,
            Ok(_) => Heard::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
        }
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        editor::edit(text)
    }
}

/// What was typed and is not read yet, without waiting: nothing, or some bytes; none at all when the input was closed.
pub fn read_typed() -> Option<Vec<u8>> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let there =
        matches!(poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(count) if count > 0);
    let mut piece = vec![0; 4096];
    // A buffer of our own: what is left in the one of the standard library cannot be polled for.
    let count = there.then(|| rustix::io::read(&stdin, &mut piece).unwrap_or(0))?;
    piece.truncate(count);
    Some(piece)
}

/// Waits a tenth of a second at most. A terminal becomes readable when a whole line was typed.
fn readable() -> bool {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    matches!(poll(&mut watched, Some(&timeout)), Ok(count) if count > 0)
}
