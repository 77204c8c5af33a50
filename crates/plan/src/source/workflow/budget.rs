//! What may be spent, and what a step needs besides a permit.

use super::super::text::Spanned;
use crate::diagnostic::Span;

/// `budget` of a step or a group: of all its tasks together.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Dollars.
    pub usd: Option<Spanned<f64>>,
    /// Tokens, sent and received.
    pub tokens: Option<Spanned<u64>>,
    /// What follows when it is spent.
    pub consequence: Consequence,
    /// Place of the block.
    pub span: Span,
}

/// What follows when a budget is spent; nothing said means that no further work starts.
#[derive(Debug, Clone, Default)]
pub struct Consequence {
    /// `when_spent`.
    pub when_spent: Option<Spanned<Spent>>,
    /// `degrade_to`: the cheaper model, with `degrade` and only with it.
    pub degrade_to: Option<Spanned<String>>,
}

/// The words of `when_spent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Wait for money.
    Queue,
    /// Ask a cheaper model.
    Degrade,
    /// Ask a person.
    Ask,
    /// Start nothing more.
    Stop,
}
