//! Spans, metrics and log records over OTLP/HTTP: protobuf, compressed.
//!
//! `messages` declares what is sent by its numbers in the protocol, which are stable: the crate that has all of them brings an SDK
//! along, and no SDK is needed where everything is a fold. A test reads what is sent with the official messages. A file for each signal
//! has its request and its consumer; `export` sends one run.

mod body;
mod export;
mod logs;
mod messages;
mod metrics;
mod receiver;
mod traces;

pub use export::{Export, ExportError, Exported};
pub use logs::{Logs, encoded as encoded_logs};
pub use metrics::{Metrics, Stream, encoded as encoded_metrics};
pub use receiver::{ContentsOf, Receiver, Wanted};
pub use traces::{Traces, encoded as encoded_spans};

/// What can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Numbers.
    Metrics,
    /// Log records.
    Logs,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

    /// The word for files, flags and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
            Signal::Logs => "logs",
        }
    }

    /// The signal that a word names.
    pub fn from_word(word: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|signal| signal.word() == word)
    }

    /// Its path below the address of a receiver.
    pub const fn path(self) -> &'static str {
        match self {
            Signal::Traces => "/v1/traces",
            Signal::Metrics => "/v1/metrics",
            Signal::Logs => "/v1/logs",
        }
    }
}
