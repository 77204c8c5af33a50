//! The keys of every kind of mapping in a workflow file.
//!
//! Readers look up bounds and allowed words here, unknown keys are judged by it, and the JSON Schema is made from it;
//! a key that is not in a table cannot be read.

pub mod flow;
pub mod goal;
pub mod group;
pub mod head;
pub mod header;
pub mod manifest;
pub mod output;
pub mod personas;
pub mod reduce;
pub mod runtime;
pub mod step;
