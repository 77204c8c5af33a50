//! Commands by which others are told about runs.

pub mod export_otlp;
pub mod follow;
pub mod metrics;
