//! What is told of a model call that has ended, where runs are traced.

use crate::{Finish, Purpose, Reply, Request};
use convoke_model::{Failure, ModelCall, Usage};
use std::time::Duration;

/// The call in figures.
pub(crate) fn model_call(
    provider: &str,
    request: &Request<'_>,
    reply: &Result<Reply, Failure>,
    usage: Usage,
    (took, first): (Duration, Option<Duration>),
) -> ModelCall {
    let other = |model: &String| *model != request.model;
    ModelCall {
        provider: provider.to_owned(),
        model: request.model.to_owned(),
        answered_by: reply.as_ref().ok().map(|reply| reply.model.clone()).filter(other).unwrap_or_default(),
        ms: millis(took),
        first_ms: first.map(millis),
        purpose: purpose(request.purpose).to_owned(),
        finish: reply.as_ref().map_or("", finish).to_owned(),
        failure: reply.as_ref().err().map(|failure| failure.class),
        usage,
    }
}

fn finish(reply: &Reply) -> &'static str {
    match reply.finish {
        Finish::Stop if !reply.tool_calls.is_empty() => "tool_calls",
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Refusal => "refusal",
    }
}

/// The usual purpose goes without saying.
fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Answer => "",
        Purpose::Grade => "grade",
        Purpose::Verify => "verify",
        Purpose::Repair => "repair",
        Purpose::Program => "program",
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
