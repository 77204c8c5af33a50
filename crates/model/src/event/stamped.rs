//! An event as the journal keeps it.

use super::Event;
use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// An event with its place in the journal and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// Its number in the journal, from 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}
