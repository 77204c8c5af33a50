//! What can go wrong on the way to an answer, and the failure that it becomes.

use crate::connection::causes;
use crate::fault::Fault;
use crate::phases::{Phase, timed_out};
use crate::wire::is_shortage_below;
use convoke_agent::Sink;
use convoke_model::{Class, Failure, reason};
use convoke_process::NO_ROOM_HINT;
use std::time::{Duration, Instant};

/// What can go wrong on the way to an answer.
#[derive(Debug)]
pub enum Trouble {
    /// The service said no.
    Fault(Fault),
    /// There was no connection, or it was lost before an answer.
    Connection(reqwest::Error),
    /// The answer began and did not end.
    Cut(String),
    /// A phase took too long.
    TimedOut(Phase, Duration),
    /// What came is no answer.
    Unreadable(String),
    /// The answer does not fit into this many bytes of memory.
    TooLong(usize),
    /// Nothing was sent, because of this.
    Unsent(Failure),
}

/// Fails if this process was away for so long that another one may drive the run. Asked right before a request leaves: what was
/// admitted before the process was stopped is not sent by one that goes on later.
pub fn require_tenure(sink: &dyn Sink) -> Result<(), Failure> {
    match sink.starts_until() {
        Some(until) if until < Instant::now() => Err(away()),
        _ => Ok(()),
    }
}

/// The failure of a request, or of a program, that was not begun for that reason.
pub fn away() -> Failure {
    let message = "the process was away for longer than its lease lasts; nothing was sent";
    Failure::new(Class::Cancelled, message).reason(reason::FENCED)
}

impl Trouble {
    /// The failure, in the name of a provider at an address.
    pub fn failure(self, provider: &str, address: &str) -> Failure {
        let transient =
            |message: String, reason: &str| Failure::new(Class::Transient, message).reason(reason);
        match self {
            Trouble::Fault(fault) => fault.failure(provider),
            Trouble::Connection(error) => no_connection(error, provider, address),
            Trouble::Cut(why) => {
                transient(format!("{provider}: the answer of {address} broke off: {why}"), "stream_cut")
            }
            Trouble::TimedOut(phase, limit) => timed_out(provider, phase, limit),
            Trouble::Unreadable(why) => transient(
                format!("{provider}: {address} sent something that is no answer: {why}"),
                "unreadable",
            ),
            Trouble::TooLong(most) => {
                let message = format!("{provider}: the answer is longer than {most} bytes");
                Failure::new(Class::InvalidOutput, message).reason("too_long")
            }
            Trouble::Unsent(failure) => failure,
        }
    }
}

fn no_connection(error: reqwest::Error, provider: &str, address: &str) -> Failure {
    let error = error.without_url();
    let why = causes(&error);
    if error.is_timeout() {
        let message = format!("{provider}: connecting to {address} timed out");
        return Failure::new(Class::Timeout, message).reason("connect_timeout");
    }
    if error.is_connect() && is_shortage_below(&error) {
        let message = format!("{provider}: no room for a connection to {address}: {why}");
        return Failure::new(Class::Capacity, message).reason(reason::NO_ROOM).hint(NO_ROOM_HINT);
    }
    if error.is_connect() {
        let message = format!("{provider}: cannot connect to {address}: {why}");
        return Failure::new(Class::Transient, message).reason("connect");
    }
    let message = format!("{provider}: the connection to {address} was lost: {why}");
    Failure::new(Class::Transient, message).reason("connection_lost")
}
