//! Steps that ask a person: gates and questions.

use super::super::text::{Spanned, Text};
use crate::diagnostic::Span;

/// `type: human_gate`.
#[derive(Debug, Clone)]
pub struct GateStep {
    /// The question (template); `None` when it is missing (which is reported).
    pub prompt: Option<Text>,
    /// The answers to choose from.
    pub options: Vec<GateOption>,
}

/// One answer of a gate.
#[derive(Debug, Clone)]
pub struct GateOption {
    /// What the person reads.
    pub label: Text,
    /// What becomes `selected`.
    pub value: Spanned<String>,
    /// Where to go; needed outside groups and forbidden inside (`check` decides).
    pub route: Option<Spanned<String>>,
    /// Name of a further text to ask for.
    pub prompt_for: Option<Spanned<String>>,
    /// Whether that text may have several lines.
    pub multiline: bool,
    /// Place of the option.
    pub span: Span,
}

/// `type: questions`.
#[derive(Debug, Clone)]
pub struct QuestionsStep {
    /// Where the questions come from; `None` when missing or given twice (which is reported).
    pub from: Option<QuestionsFrom>,
    /// Shown before the first question (template).
    pub prompt: Option<Text>,
    /// Whether one may go back (default true).
    pub allow_back: bool,
    /// Whether a question may be skipped (default true).
    pub allow_skip: bool,
    /// Whether the rest may be skipped (default true).
    pub allow_skip_all: bool,
    /// Whether one may abort (default false).
    pub allow_abort: bool,
    /// Where an abort goes (default `$end`).
    pub abort_route: Option<Spanned<String>>,
}

/// Where questions come from.
#[derive(Debug, Clone)]
pub enum QuestionsFrom {
    /// Written in the file.
    Written(Vec<Question>),
    /// A dotted path to a list.
    Source(Spanned<String>),
}

/// One question.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id (default q1, q2, …).
    pub id: Option<Spanned<String>>,
    /// The question (template).
    pub text: Text,
    /// Further help (template).
    pub hint: Option<Text>,
    /// Answers to choose from.
    pub choices: Vec<Text>,
    /// Whether any text may be answered (default true).
    pub allow_free_text: bool,
    /// Answer when nothing is entered (template).
    pub default: Option<Text>,
    /// Whether it must be answered (default false).
    pub required: bool,
    /// Whether the answer may have several lines (default true).
    pub multiline: bool,
    /// Place of the question.
    pub span: Span,
}
