//! What comes next on the way to a goal: pure functions from what the goal knows to decisions with their reasons.

pub(super) mod cause;
pub(super) mod decision;
pub(super) mod items;
pub(super) mod recover;
pub(super) mod recovery;
pub(super) mod route;
pub(super) mod tools;
pub(super) mod verdict;
