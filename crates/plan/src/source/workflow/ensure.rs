//! `ensure`: what must hold for the work of a step, a role or a persona to count as done.

use super::super::read;
use super::super::section::{FromNode, section};
use super::super::shape::Shape::{self, Choice, List, OneOf};
use super::super::shape::TEMPLATES;
use super::super::text::{Spanned, Text};
use crate::diagnostic::Span;

/// Conditions, and how often what does not hold goes back to the agent.
#[derive(Debug, Clone)]
pub struct Ensure {
    /// The conditions, in their order.
    pub conditions: Vec<Ensured>,
    /// `max_retries`.
    pub max_retries: Option<Spanned<u32>>,
    /// Place of the key's value.
    pub span: Span,
}

/// One condition.
#[derive(Debug, Clone)]
pub struct Ensured {
    /// What must hold.
    pub what: Claim,
    /// Its place.
    pub span: Span,
}

/// What must hold.
#[derive(Debug, Clone)]
pub enum Claim {
    /// `file_exists`.
    FileExists(Text),
    /// `file_changed`.
    FileChanged(Text),
    /// `diff_not_empty`: of these patterns; empty: of everything.
    DiffNotEmpty(Vec<Text>),
    /// `command`.
    Command(Text),
    /// `tests_pass`: by this command, or by the one that the project calls for.
    TestsPass(Option<Text>),
    /// `tool_called`.
    ToolCalled(Spanned<String>),
    /// `that`.
    That(Text),
}

impl Claim {
    /// The key that says it.
    pub fn word(&self) -> &'static str {
        match self {
            Claim::FileExists(_) => "file_exists",
            Claim::FileChanged(_) => "file_changed",
            Claim::DiffNotEmpty(_) => "diff_not_empty",
            Claim::Command(_) => "command",
            Claim::TestsPass(_) => "tests_pass",
            Claim::ToolCalled(_) => "tool_called",
            Claim::That(_) => "that",
        }
    }

    /// The texts that are rendered before the work begins.
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Claim::FileExists(text) | Claim::FileChanged(text) | Claim::Command(text) => vec![text],
            Claim::TestsPass(text) => text.iter().collect(),
            Claim::DiffNotEmpty(texts) => texts.iter().collect(),
            Claim::ToolCalled(_) | Claim::That(_) => Vec::new(),
        }
    }
}

/// A key whose value may be left out by saying `true`; `Some(None)`: so it was.
pub type Open<T> = Option<Option<T>>;

section! {
    /// A condition of `ensure`: one of its keys.
    #[derive(Debug, Clone)]
    pub struct ConditionKeys = "ensured", "a condition" {
        /// a file that is there: a path or a pattern, from the folder of the step
        pub file_exists: Option<Text>,
        /// a file that is another one than before: a path or a pattern
        pub file_changed: Option<Text>,
        /// something changed in the folder, or among these patterns
        #[by(read::ensure::paths)]
        pub diff_not_empty: Open<Vec<Text>> => OneOf(&[Boolean, TEMPLATES]),
        /// a command that ends with exit code 0; it runs under the policy, in the sandbox, without network
        pub command: Option<Text>,
        /// the tests run and pass: by this command, or by the one that the files of the project call for
        #[by(read::ensure::tests)]
        pub tests_pass: Open<Text> => OneOf(&[Boolean, Template]),
        /// a tool that the agent called with success
        #[by(read::fixed::fixed)]
        pub tool_called: Option<Spanned<String>>,
        /// an expression over `output` that is true
        pub that: Option<Text>,
    }
}

section! {
    /// `ensure` with settings.
    #[derive(Debug, Clone)]
    pub struct EnsureBlock = "ensure", "`ensure`" {
        /// what must hold, all of it
        #[by(read::ensure::conditions)]
        #[required = true]
        pub conditions: Vec<Ensured> => CONDITIONS,
        /// how often what does not hold goes back to the agent (default 2)
        pub max_retries: Option<Spanned<u32>> => Integer(0, 10),
    }
}

/// Conditions that need no value.
pub(in crate::source) const BARE: &[&str] = &["diff_not_empty", "tests_pass"];

const CONDITIONS: Shape = List(&OneOf(&[Choice(BARE), ConditionKeys::SHAPE]));

/// What `ensure` takes: conditions, or conditions with settings.
pub(in crate::source) const ENSURE: Shape = OneOf(&[CONDITIONS, EnsureBlock::SHAPE]);
