//! What the host says to a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the host says to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The call's value.
    Value(Value),
    /// An exception at the place of the call. The program may catch it.
    Raise {
        /// Which.
        exception: Exception,
        /// What it says.
        message: String,
    },
}

impl Answer {
    /// An exception at the place of the call.
    pub fn raise(exception: Exception, message: impl Into<String>) -> Answer {
        Answer::Raise { exception, message: message.into() }
    }
}

/// The exceptions that host functions raise in programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exception {
    /// An argument has the right type and a wrong value.
    ValueError,
    /// An argument has the wrong type.
    TypeError,
    /// There is nothing of this name.
    KeyError,
    /// There is nothing at this place.
    IndexError,
    /// The host's function took too long.
    TimeoutError,
    /// It is not allowed.
    PermissionError,
    /// Something else.
    RuntimeError,
}
