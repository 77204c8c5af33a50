//! A command text as a tree: pipelines of simple commands, one after another.
//!
//! Holds only what is plain; there is no place in it for anything else. Words stay parts of the text, as far as they are.

use super::word::Word;

/// A whole command text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script<'a> {
    /// Pipelines in order.
    pub pipelines: Vec<Pipeline<'a>>,
}

/// Commands whose outputs and inputs are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline<'a> {
    /// When it is executed, seen from the one before.
    pub join: Join,
    /// Its commands.
    pub commands: Vec<Simple<'a>>,
}

/// When a pipeline is executed, seen from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// Always: the first, or after `;` or a line break.
    Then,
    /// After success: `&&`.
    And,
    /// After failure: `||`.
    Or,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple<'a> {
    /// `NAME=value` before the command.
    pub assignments: Vec<(&'a str, Word<'a>)>,
    /// The command and its arguments.
    pub words: Vec<Word<'a>>,
    /// Redirects in their order.
    pub redirects: Vec<Redirect<'a>>,
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect<'a> {
    /// The descriptor that was written.
    pub descriptor: Option<u8>,
    /// What happens to it.
    pub kind: RedirectKind<'a>,
}

/// What a redirect does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectKind<'a> {
    /// `<`
    Read(Word<'a>),
    /// `>` and `>|`
    Write(Word<'a>, &'static str),
    /// `>>`
    Append(Word<'a>),
    /// `&>` and `&>>`
    Both(Word<'a>, &'static str),
    /// `>&1`
    Copy(u8),
    /// `>&-`
    Close,
    /// A quoted here-document: its end word, its text, whether tabs were taken away.
    Document(Word<'a>, String, bool),
    /// `<<<`
    Text(Word<'a>),
}
