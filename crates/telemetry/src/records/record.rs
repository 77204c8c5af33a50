//! A log record, whatever it is sent as.

use crate::spans::{SpanId, TraceId, Value};
use convoke_model::Timestamp;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The name of what happened.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// How grave it is.
    pub severity: Severity,
    /// For people.
    pub body: String,
    /// The trace of its run.
    pub trace: TraceId,
    /// The span that it belongs to.
    pub span: Option<SpanId>,
    /// What there is to say about it.
    pub attributes: Vec<(&'static str, Value)>,
}

impl Record {
    /// Adds an attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Record {
        self.attributes.push((name, value.into()));
        self
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// How grave something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For those who look for the cause of something.
    Debug,
    /// It belongs to the course of things.
    Info,
    /// It went wrong, and something follows from that.
    Warn,
    /// It went wrong for good.
    Error,
}

impl Severity {
    /// `SeverityNumber` as OTLP has it.
    pub const fn number(self) -> i32 {
        match self {
            Severity::Debug => 5,
            Severity::Info => 9,
            Severity::Warn => 13,
            Severity::Error => 17,
        }
    }

    /// `SeverityText`.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Warn => "WARN",
            Severity::Error => "ERROR",
        }
    }
}
