//! The engine in a simulated world.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod budget_scopes;
mod comparing;
mod continuing;
mod effects;
mod folds;
mod forking;
mod gates;
mod goal_budget;
mod goal_cost;
mod goal_prompts;
mod goal_results;
mod goal_verdict;
mod goals;
mod language;
mod machine;
mod merging;
mod pipelines;
mod proofs;
mod properties;
mod reopening;
mod repairs;
mod retrying;
mod synthesis;
