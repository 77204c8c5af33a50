//! What others are told about runs.

mod dashboard;
mod fixtures;
mod instruments;
mod records;
mod spans;
mod splits;
