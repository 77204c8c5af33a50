//! Habits of writers of Python that the interpreter does not know: a look over the program before it runs.
//!
//! Each habit is either rewritten so that it works, with helpers of the prelude, or found; all findings of a program are
//! reported together, each with one replacement, and nothing of the program is run. What only shows while a program runs
//! gets its replacement from [`replacements::while_running`].
//!
//! Kept true: a rewrite is a function of the program and the host functions alone, so replay runs the same text; places
//! are told as lines of the program that the model wrote. A program that is no Python, or nested too
//! deep, is left to the interpreter's parser.

mod depth;
mod imports;
mod replacements;
mod rewrite;
mod visit;

use crate::outcome::Kind;
use crate::protocol::Failing;
use monty_types::{MontyException, StackFrame};
use rewrite::Edits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

pub use replacements::while_running;

const PRELUDE: &str = include_str!("habits/prelude.py");

/// A construct that the interpreter cannot run, and what can be written instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    line: u32,
    what: String,
    instead: String,
}

/// A program that is ready to run. It goes with the saved state of one that waits, so that places are told as lines of
/// what was written in whichever worker it goes on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    /// The program as it is run.
    pub text: String,
    /// Helpers that it needs; run before it.
    #[serde(skip)]
    pub prelude: String,
    /// The program as it was written.
    written: String,
    /// The lines of the text that the written program does not have.
    added: Vec<u32>,
}

/// Looks over a program that may call these host functions.
pub fn look(program: &str, functions: &[String]) -> Result<Ready, Vec<Finding>> {
    let Ok(parsed) = ruff_python_parser::parse_module(program) else { return Ok(Ready::unchanged(program)) };
    if depth::is_too_deep(parsed.syntax()) {
        return Ok(Ready::unchanged(program));
    }
    let mut visitor = visit::Habits::new(program, functions);
    visitor.look_over(parsed.syntax());
    let (edits, helpers, mut findings) = visitor.seen();
    findings.sort();
    findings.dedup();
    match findings.is_empty() {
        true => Ok(Ready::rewritten(program, edits, &helpers)),
        false => Err(findings),
    }
}

impl Ready {
    fn unchanged(program: &str) -> Ready {
        Ready { text: program.into(), written: program.into(), ..Ready::default() }
    }

    fn rewritten(program: &str, edits: Edits, helpers: &BTreeSet<&'static str>) -> Ready {
        let (text, added) = edits.apply(program);
        Ready { text, prelude: sections(helpers), written: program.into(), added }
    }

    /// The exception with the places of the program as it was written. The first frame is the program's own; frames of
    /// helpers and of earlier programs are in other files.
    pub fn as_written(&self, error: MontyException) -> MontyException {
        let file = error.traceback().first().map(|frame| frame.filename.clone()).unwrap_or_default();
        let frames = error.traceback().iter().filter(|frame| !is_helper(frame)).cloned();
        let frames = frames.map(|frame| if frame.filename == file { self.frame(frame) } else { frame });
        let frames = frames.collect();
        MontyException::with_traceback(error.exc_type(), error.into_message(), frames)
    }

    fn frame(&self, mut frame: StackFrame) -> StackFrame {
        let line = frame.start.line;
        frame.start.line = self.line(line);
        frame.end.line = self.line(frame.end.line);
        let written = self.written.lines().nth(frame.start.line.saturating_sub(1) as usize);
        let is_changed = self.text.lines().nth(line.saturating_sub(1) as usize) != written;
        if is_changed && frame.preview_line.is_some() {
            frame.preview_line = written.map(Into::into);
            frame.hide_caret = true;
        }
        frame
    }

    /// The line of the written program.
    fn line(&self, line: u32) -> u32 {
        line - self.added.iter().filter(|added| **added <= line).count() as u32
    }
}

/// Functions of the prelude have names that no program is told.
fn is_helper(frame: &StackFrame) -> bool {
    frame.frame_name.as_deref().is_some_and(|name| name.starts_with("__") && !name.ends_with("__"))
}

/// The parts of the prelude with these names.
fn sections(names: &BTreeSet<&'static str>) -> String {
    let parts = PRELUDE.split("#: ").filter_map(|part| part.split_once('\n'));
    parts.filter(|(name, _)| names.contains(name)).map(|(_, text)| text).collect()
}

/// The report on a program that was not run because of these.
pub fn refused(findings: &[Finding]) -> Failing {
    let mut text = String::from("Nothing was run. Change these lines and send the whole program again:");
    for Finding { line, what, instead } in findings {
        let _ = write!(text, "\nline {line}: {what} is not supported; {instead}");
    }
    let each = findings.iter().map(|it| format!("{} is not supported; {}", it.what, it.instead));
    Failing {
        kind: Kind::Unsupported,
        message: each.collect::<Vec<_>>().join("; "),
        line: findings.first().map(|finding| finding.line),
        traceback: text,
        hint: None,
        printed: Default::default(),
        kept: true,
        begun: false,
    }
}
