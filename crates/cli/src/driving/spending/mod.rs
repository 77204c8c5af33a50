//! What a run may spend: prices, budgets of a day, admission.

pub mod admission;
pub(in crate::driving) mod day_budgets;
pub mod prices;
