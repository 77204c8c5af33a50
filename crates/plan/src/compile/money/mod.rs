//! What models cost in a plan: prices, budgets that need them, and models without one.

pub(in crate::compile) mod book;
pub(in crate::compile) mod budget;
pub(in crate::compile) mod caps;
pub(in crate::compile) mod prices;
pub(in crate::compile) mod unpriced;
