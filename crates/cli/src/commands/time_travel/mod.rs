//! Commands that look back: two runs side by side, and a past run in the live view. Neither writes to a run.

pub mod diff;
mod diff_text;
pub mod replay;
