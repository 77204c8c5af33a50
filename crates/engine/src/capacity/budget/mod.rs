//! Budgets: what calls are paid from, what a run has spent, and how each budget stands.
//!
//! `accounts` charges calls, `days` are the budgets that all processes count together, `spending` and `standing` are folds over a
//! run's events.

pub(crate) mod accounts;
pub(crate) mod days;
pub(crate) mod spending;
pub(crate) mod standing;

pub use spending::{Spending, Spent};
pub use standing::{Standing, standings};
