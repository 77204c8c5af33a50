//! Whether an answer fits: reading it, repairing it, grading it.

pub(crate) mod answer;
pub(crate) mod grade;
pub(crate) mod judge;
pub(crate) mod repair;
