//! Reads text back as values: rendered outputs, `set` steps, inputs from a command line, durations.
//!
//! Every place has its own rules, most of them Conductor's; each is one function here. Nothing fails where the text can
//! simply stay a text. Invariant: a reading never panics and never gives a value that JSON cannot hold.

mod duration;
mod input;
mod json;
mod output;
mod scalar;
mod schema;
mod set;
mod yaml;

use convoke_model::excerpt::clipped;
pub use duration::{DurationError, LONGEST_WAIT, check_wait, parse_duration, seconds};
pub use input::{InputType, fits_type, read_by_look, read_by_type, read_json_or_text, zero_value};
pub use output::read_output;
pub use scalar::core_scalar;
pub use schema::{SchemaFault, check_schema};
pub use set::{SetType, read_set};

/// A text that cannot be read as what it has to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct ValueError {
    /// What it has to be.
    pub expected: String,
    /// What came, shortened.
    pub found: String,
}

impl ValueError {
    pub(crate) fn new(expected: impl Into<String>, text: &str) -> ValueError {
        const MOST: usize = 80;
        ValueError { expected: expected.into(), found: format!("`{}`", clipped(text, MOST)) }
    }
}
