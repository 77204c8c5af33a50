//! One line of a cassette: the attempt that asked, its request, and the outcome.
//!
//! Only what decides an answer is part of the request: model, messages, shape, tools, parameters. Limits of time, seeds
//! and numbers of attempts are not, so that a slower machine or a retried step finds its answer all the same. Dates,
//! paths and ids inside messages stay as they are: a workflow with them in a prompt asks another question each time.

use convoke_agent::redaction::Scrubber;
use convoke_agent::{Finish, MAX_TOKENS, Message, Provider, Purpose, Reply, Request, ToolCall, ToolSpec};
use convoke_model::{Failure, JsonText, OutputSchema, TaskId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The step that asked, for people.
    pub step: String,
    /// The task that asked; of equal requests, its own is preferred.
    pub task: TaskId,
    /// Which try of the task.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// What the answer was for.
    #[serde(default = "answer", skip_serializing_if = "is_answer")]
    pub purpose: Purpose,
    /// The provider that was asked, for people.
    pub provider: String,
    /// It could be told the shape of answers by its own means, which a prompt may depend on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub native_schema: bool,
    /// The model that was meant, where a budget went on with a cheaper one. Nothing is paid for in a replay, so there the
    /// first is asked, and this call answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
    /// What was asked.
    pub request: Value,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model answered.
    Reply(RecordedReply),
    /// It did not.
    Failure(Failure),
    /// The attempt did not wait for the answer: the step was cancelled, or its time was over.
    CutOff,
}

/// A reply as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedReply {
    text: String,
    finish: Finish,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thoughts: Option<JsonText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asks: Option<Box<convoke_agent::Asks>>,
}

impl From<&Reply> for RecordedReply {
    fn from(reply: &Reply) -> RecordedReply {
        let Reply { text, tool_calls, thoughts, finish, usage, model, asks } = reply.clone();
        RecordedReply { text, finish, model, usage, tool_calls, thoughts, asks }
    }
}

impl From<RecordedReply> for Reply {
    fn from(recorded: RecordedReply) -> Reply {
        let RecordedReply { text, finish, model, usage, tool_calls, thoughts, asks } = recorded;
        Reply { text, tool_calls, thoughts, finish, usage, model, asks }
    }
}

impl Call {
    /// A call without an answer yet.
    pub fn of(request: &Request<'_>, provider: &dyn Provider, scrubber: &Scrubber) -> Call {
        Call {
            step: request.step.to_owned(),
            task: request.task.clone(),
            attempt: request.attempt,
            purpose: request.purpose,
            provider: provider.name().to_owned(),
            native_schema: provider.has_native_schema(request.model),
            meant: (request.meant != request.model).then(|| request.meant.to_owned()),
            request: normalised(request, scrubber),
            outcome: Outcome::CutOff,
        }
    }

    /// What it is found by: the request to the model that was meant.
    pub fn key(&self) -> String {
        let Some(meant) = &self.meant else { return identity(&self.request) };
        let mut request = self.request.clone();
        request["model"] = meant.as_str().into();
        identity(&request)
    }

    /// Whether a model was asked, or meant.
    pub fn is_to(&self, model: &str) -> bool {
        self.meant.as_deref() == Some(model) || self.request["model"] == model
    }

    /// The model that answered, where another one was meant.
    pub fn stand_in(&self) -> Option<&str> {
        self.meant.as_ref().and_then(|_| self.request["model"].as_str())
    }

    /// The call with what came of it.
    pub fn with(mut self, outcome: &Result<Reply, Failure>, scrubber: &Scrubber) -> Call {
        self.outcome = match outcome {
            Ok(reply) => Outcome::Reply(scrubber.clean(&RecordedReply::from(reply))),
            Err(failure) => Outcome::Failure(scrubber.clean(failure)),
        };
        self
    }
}

/// What decides the answer, in a fixed order and without secrets.
pub fn normalised(request: &Request<'_>, scrubber: &Scrubber) -> Value {
    let asked = RequestIdentity {
        model: request.model,
        messages: request.messages,
        schema: request.schema,
        tools: request.tools,
        temperature: request.temperature,
        // The usual number is what no number was before there was one; cassettes of then are still good.
        max_tokens: request.max_tokens.filter(|most| *most != MAX_TOKENS),
        reasoning_effort: request.reasoning_effort,
    };
    let mut value = serde_json::to_value(asked).expect("requests are JSON");
    scrubber.scrub(&mut value);
    value
}

/// A text that is the same for equal requests, in whatever order a file lists their parts.
pub fn identity(request: &Value) -> String {
    let mut sorted = request.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

#[derive(Serialize)]
struct RequestIdentity<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a OutputSchema>,
    #[serde(skip_serializing_if = "no_tools")]
    tools: &'a [ToolSpec],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

fn no_tools(tools: &&[ToolSpec]) -> bool {
    tools.is_empty()
}

pub(super) fn first() -> u32 {
    1
}

pub(super) fn is_first(number: &u32) -> bool {
    *number == 1
}

fn answer() -> Purpose {
    Purpose::Answer
}

fn is_answer(purpose: &Purpose) -> bool {
    *purpose == Purpose::Answer
}
