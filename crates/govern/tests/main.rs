//! What the governor promises.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod adaptation;
mod budgets;
mod burst;
mod fairness;
mod kit;
mod limits;
mod order;
mod rows;
mod shares;
mod storm;
mod waiting;
