//! The standard streams: the one place of the program that writes to them.
//!
//! Invariant: nothing that comes from elsewhere reaches a terminal as it is; [`escape`] shows what a terminal would obey.
//! `clippy.toml` forbids the streams of the standard library to every other file.

#![expect(clippy::disallowed_methods, reason = "the one file that writes to the standard streams")]

use crate::{escape, json_log};
use std::io::{self, IsTerminal, Write};

/// Text for people on standard output.
pub fn out(text: &str) -> io::Result<()> {
    lines_to(io::stdout().lock(), &escape::with_own(escape::text(text)))
}

/// A JSON text on standard output.
pub fn json(text: &str) -> io::Result<()> {
    lines_to(io::stdout().lock(), &escape::json(text))
}

/// Requested text, on standard output: exact for a file or a program, shown where a person reads it.
pub fn exact(text: &str) -> io::Result<()> {
    match out_is_terminal() {
        true => out(text),
        false => lines_to(io::stdout().lock(), text),
    }
}

/// Text for people on standard error. A write error is dropped: there is no stream left to report it on.
pub fn err(text: &str) {
    if json_log::is_on() {
        return drop(lines_to(io::stderr().lock(), &escape::json(&json_log::record(text))));
    }
    lines_to(io::stderr().lock(), &escape::with_own(escape::text(text))).ok();
}

/// The same without an end of the line: a prompt. A terminal that cannot be written to is noticed when it is read from.
pub fn prompt(words: &str) {
    let words = escape::with_own(escape::text(words));
    let mut out = io::stderr().lock();
    out.write_all(words.as_bytes()).and_then(|()| out.flush()).ok();
}

/// Standard output for bytes that are no text; `None` where a terminal would have to show them.
pub fn bytes() -> Option<io::StdoutLock<'static>> {
    let out = io::stdout();
    (!out.is_terminal()).then(|| out.lock())
}

/// Standard error as it is, for the live view, which moves the cursor and escapes its lines by itself.
pub fn screen() -> io::Stderr {
    io::stderr()
}

/// Standard output as it is, for the cockpit, whose texts are escaped before they are drawn.
pub fn window() -> io::Stdout {
    io::stdout()
}

/// Rings the bell of the terminal.
pub fn bell() {
    let mut out = io::stderr().lock();
    out.write_all(b"\x07").and_then(|()| out.flush()).ok();
}

/// Words on standard output for the process of ours that started this one.
pub fn signal(words: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(words.as_bytes()).and_then(|()| out.flush())
}

/// Whether standard output is a terminal.
pub fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

fn lines_to(mut out: impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Has panics told like everything else: their words may quote a text from elsewhere.
pub fn show_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.to_string();
        match escape::text(&words) {
            std::borrow::Cow::Borrowed(_) => usual(panic),
            std::borrow::Cow::Owned(shown) => err(&shown),
        }
    }));
}
