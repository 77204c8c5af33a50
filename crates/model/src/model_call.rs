//! One call of a model, as an attempt tells of it: for traces and for numbers.
//!
//! Nothing is decided by it, and what was spent is counted by the events of the attempt: a reader adds up one or the other.

use crate::{Class, Usage};
use serde::{Deserialize, Serialize};

/// A call of a model that has ended, at the time of the event that tells of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The provider that was asked.
    pub provider: String,
    /// The model that was asked; empty where the provider has its own default.
    pub model: String,
    /// The model that answered, where the service names another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answered_by: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// How long it took until the first piece of the answer, where it came in pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// What it was for, where that was not the step's answer: `grade`, `verify`, `repair`, `program`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// Why the model stopped: `stop`, `length`, `refusal`, `tool_calls`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finish: String,
    /// The kind of failure, where there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Class>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
}
