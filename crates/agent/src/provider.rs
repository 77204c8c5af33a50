//! What the rest of Convoke asks of a model service: one request, one reply.
//!
//! A provider retries nothing, prices nothing and judges no answer: `driver` does that for all of them. A dropped
//! future must close its connection at once, because that is how an attempt is cancelled.

use crate::Sink;
use convoke_model::{Failure, OutputSchema, ProviderSettings, TaskId, Usage};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A model service.
pub trait Provider: Send + Sync {
    /// The word used in files and messages, such as `openai`.
    fn name(&self) -> &str;

    /// Asks once. Text may be reported as it comes; the reply holds all of it again.
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>>;
}

/// The services that can be asked, found by their settings.
pub trait Providers: Send + Sync {
    /// The provider for these settings; the same one for the same settings, so that connections are shared.
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure>;
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The model; empty where the provider has its own default.
    pub model: &'a str,
    /// The conversation so far, oldest first.
    pub messages: &'a [Message],
    /// The shape of the answer, if one is declared.
    pub schema: Option<&'a OutputSchema>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u64>,
    /// How hard to think.
    pub reasoning_effort: Option<&'a str>,
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// The step's name.
    pub step: &'a str,
    /// What the answer is for.
    pub purpose: Purpose,
    /// The task that asks.
    pub task: &'a TaskId,
    /// Which try of the task this is, from 1.
    pub attempt: u32,
    /// Which request of the attempt this is, from 1.
    pub call: u32,
    /// Random choices start from here.
    pub seed: u64,
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is the step's output.
    Answer,
    /// It grades the step's output.
    Grade,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
}

impl Message {
    /// A message of a role.
    pub fn new(role: Role, text: impl Into<String>) -> Message {
        Message { role, text: text.into() }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing orders.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word that services use.
    pub fn word(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// How long each phase of a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the first byte of the answer.
    pub first_token: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// The whole request.
    pub total: Duration,
}

impl Timeouts {
    /// Phases derived from the longest time that the whole request may take.
    ///
    /// A thinking model may be silent until its first token, so that phase gets the whole time; a stream that has
    /// begun and then says nothing for two minutes is dead.
    pub fn within(total: Duration) -> Timeouts {
        let at_most = |seconds| Duration::from_secs(seconds).min(total);
        Timeouts { connect: at_most(30), first_token: total, idle: at_most(120), total }
    }
}

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text, or the arguments of the call that carries a structured answer.
    pub text: String,
    /// Why it stopped.
    pub finish: Finish,
    /// Tokens only; money is added by the driver.
    pub usage: Usage,
    /// The model that answered, as the service names it.
    pub model: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It ran out of tokens; the text is cut off.
    Length,
    /// It, or a filter, declined.
    Refusal,
}
