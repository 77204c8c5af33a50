//! Reads workflow files: text becomes a tree in which every value keeps its place, the tree becomes typed structs.
//!
//! `tree` is YAML, `workflow` (with `settings`, `output`, `text`) is the typed form. Reading collects every structural
//! error and still gives as much of the workflow as it can. References between steps, templates and conditions are
//! left to `check`. Files and environment are reached through [`Sources`] only.

pub mod output;
pub mod settings;
pub mod sources;
pub mod text;
pub mod workflow;

pub use sources::{SourceReadError, Sources, join_beside, normalise};
pub use text::{SecretText, Segment, Spanned, Text};
pub use workflow::Workflow;
