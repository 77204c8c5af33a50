//! What may be spent, and what a step needs besides a permit.

use super::super::read;
use super::super::section::section;
use super::super::shape::DOLLARS;
use super::super::text::Spanned;

section! {
    /// `budget` of a step or a group: of all its tasks together.
    #[derive(Debug, Clone)]
    pub struct Budget = "budget", "`budget`" {
        /// dollars that all its tasks together may spend
        pub usd: Option<Spanned<f64>> => DOLLARS,
        /// tokens that all its tasks together may use, sent and received
        pub tokens: Option<Spanned<u64>>,
        /// what happens to work that cannot be paid any more (default stop)
        pub when_spent: Option<Spanned<Spent>>,
        /// with `when_spent: degrade`: the cheaper model that is asked instead
        #[by(read::fixed::fixed)]
        pub degrade_to: Option<Spanned<String>>,
    } judge read::budget::judge_budget
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
