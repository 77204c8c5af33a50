//! What calls use and cost: usage, prices, budgets, and the table of known models.

pub(crate) mod budget;
pub mod catalog;
pub(crate) mod price;
pub(crate) mod usage;
