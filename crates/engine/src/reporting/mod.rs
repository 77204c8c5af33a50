//! What a run came to, as its events tell it: reports, sums, statistics for later runs.

pub(crate) mod learned_statistics;
pub(crate) mod outcome;
pub mod report;
pub(crate) mod summary;
