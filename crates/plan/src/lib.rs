//! Every front-end becomes one plan.
//!
//! `source` turns text into a typed tree in which every value keeps its place; `check` finds everything that is
//! wrong with it, all at once; `compile` makes the immutable [`Plan`]; `template` and `value` own how texts are
//! rendered and read back; `goal_plan` has the rules for tasks of a goal; `view` and `generate` stand above all of these. A module imports only modules below it, in the order
//! that `tests/layers.rs` lists. The world is read through one argument, [`Sources`], so that nothing here touches a
//! disk, an environment or a clock.

pub mod check;
pub mod compile;
pub mod diagnostic;
pub mod generate;
pub mod goal_plan;
mod graph;
mod path;
pub mod plan;
pub mod source;
mod suggest;
pub mod template;
pub mod value;
pub mod view;

pub use diagnostic::{Diagnostic, Severity};
pub use plan::*;
pub use source::Sources;
