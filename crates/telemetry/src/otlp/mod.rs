//! Spans over OTLP/HTTP: protobuf, compressed, to a receiver's `/v1/traces`.
//!
//! The messages are declared here by their numbers in the protocol, which are stable: the crate that has all of them brings an SDK
//! along, and no SDK is needed where a trace is a fold. A test reads what is sent with the official messages.

mod encode;
mod messages;
mod sender;

pub use encode::encoded;
pub use sender::{ContentsOf, ExportError, Exported, Traces, Wanted, export};
