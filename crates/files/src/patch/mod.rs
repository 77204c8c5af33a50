//! Patches as models write them: unified diffs, and the form that begins with `*** Begin Patch`.
//!
//! Reading (`unified`, `begin`) gives the same [`FilePatch`]es for both; applying (`apply`) is about texts alone and gives what each file is to
//! become, or everything that does not fit. Line numbers are only hints: what counts is the text around a change. Where that fits in
//! several places and nothing says which, nothing is done.

mod apply;
mod begin;
mod unified;

pub use apply::{Problem, apply};

/// What is to become of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path.
    pub path: String,
    /// What is done.
    pub action: Action,
}

/// What a patch does with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Makes it, with this content.
    Add(String),
    /// Removes it.
    Delete,
    /// Changes it.
    Update {
        /// Its path afterwards, if that is another.
        to: Option<String>,
        /// The changes, in their order.
        hunks: Vec<Hunk>,
    },
}

/// A change in one place of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The line where it should be, counted from 1.
    pub hint: Option<usize>,
    /// Lines that stand before it, one after the other, such as the head of a function.
    pub headings: Vec<String>,
    /// What is there, and what is to be.
    pub lines: Vec<(Sign, String)>,
    /// It is at the end of the file.
    pub at_end: bool,
    /// The file ends without an end of line afterwards.
    pub open_end: bool,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Insert,
}

impl FilePatch {
    /// The paths that it touches.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let to = match &self.action {
            Action::Update { to, .. } => to.as_deref(),
            _ => None,
        };
        [self.path.as_str()].into_iter().chain(to)
    }
}

/// Why a text is no patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the patch cannot be read: {why}{}", stands(.line))]
pub struct NotAPatch {
    /// What is wrong.
    pub why: String,
    /// In which line of the patch.
    pub line: Option<usize>,
}

fn stands(line: &Option<usize>) -> String {
    line.map(|line| format!(" (line {line} of the patch)")).unwrap_or_default()
}

impl NotAPatch {
    fn new(why: impl Into<String>, line: usize) -> NotAPatch {
        NotAPatch { why: why.into(), line: Some(line + 1) }
    }
}

/// Reads a patch in either form.
pub fn read(text: &str) -> Result<Vec<FilePatch>, NotAPatch> {
    let lines: Vec<&str> = unfenced(text);
    let begins = lines.iter().position(|line| line.trim_end() == "*** Begin Patch");
    let patches = match begins {
        Some(at) => begin::read(&lines, at + 1)?,
        None => unified::read(&lines)?,
    };
    if patches.is_empty() {
        let why = "it names no file: begin with `*** Begin Patch`, or with `--- a/PATH` and `+++ b/PATH`";
        return Err(NotAPatch { why: why.into(), line: None });
    }
    Ok(patches)
}

/// The lines without a fence around them.
fn unfenced(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if lines.first().is_some_and(|line| line.starts_with("```"))
        && lines.last().is_some_and(|line| *line == "```")
    {
        lines.pop();
        lines.remove(0);
    }
    lines
}

#[cfg(test)]
mod tests;
