//! The plan of a goal: its tasks, how they are read, and the rules that they keep to.
//!
//! The rules stand here once, for what a planner proposes and for what a person writes. What is wrong is a typed value: a
//! [`Fault`] of one task, or a [`Violation`] of a rule between tasks. `source` tells both at their places in a file, `schedule`
//! in words for the planner. Tasks of earlier rounds are known by name only; how they ended is left to `schedule`. Invariant:
//! tasks without a violation have no duplicate, no unknown input and no circle.

mod proposal;
mod read;
mod rules;
mod words;

pub use proposal::{Draft, Proposal, UNSTATED};
pub use read::{Fault, Problem, name, read_task};
pub use rules::{Terms, Violation, rules_between, rules_of_number, same_words, says_something, violations};
pub use words::in_a_circle;
