//! What the rest of Convoke asks of a model service: one request, one reply.
//!
//! A provider sends one request for one call of `complete`: it retries nothing, prices nothing and judges no answer. The driver
//! holds one permit for each call, so every request that reaches a service is counted. A service that refuses an optional
//! parameter is [`NoReply::Refused`]; asking again without it is the driver's decision (`ask`). A dropped future must close its
//! connection at once, because that is how an attempt is cancelled. Tools are offered and asked for here; whether one may be
//! called, and calling it, is decided elsewhere.

use crate::{Sink, tokens_in};
use convoke_model::excerpt::tokens;
use convoke_model::{
    Answer, Ask, Class, Contract, Failure, JsonText, OutputSchema, PhaseTimeouts, ProviderSettings, TaskId,
    Usage,
};
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
    ) -> BoxFuture<'a, Result<Reply, NoReply>>;

    /// The model whose answer is given to a request to another one, where that is known before: a replay, which costs
    /// nothing, asks the first model and gives the recorded answer of a cheaper one.
    fn stand_in(&self, _request: &Request<'_>) -> Option<String> {
        None
    }

    /// The tools that its answers to a task can ask for, by the names that it will use; `None` where that is not known before.
    /// Servers that no answer can reach need not be started.
    fn may_call(&self, _step: &str, _task: &TaskId) -> Option<Vec<String>> {
        None
    }

    /// Whether it can be told the shape of an answer by other means than words in the prompt.
    fn has_native_schema(&self, _model: &str) -> bool {
        false
    }

    /// The models that can be asked for, as the service names them.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        let message = format!("{} does not list its models", self.name());
        Box::pin(std::future::ready(Err(Failure::new(Class::Fatal, message).reason("no_list"))))
    }
}

/// The services that can be asked, found by their settings.
pub trait Providers: Send + Sync {
    /// The provider for these settings; the same one for the same settings, so that connections are shared.
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure>;
}

/// Masks texts that reach a model on another way than the messages: a coding agent has files read for it.
pub trait Mask: std::fmt::Debug + Send + Sync {
    /// The text without its secrets; `None` where it holds none.
    fn masked(&self, text: &str) -> Option<String>;

    /// Whether something in the text stands for a secret that was masked.
    fn stands_in(&self, text: &str) -> bool;
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The model; empty where the provider has its own default.
    pub model: &'a str,
    /// The model that was meant: another one where a budget goes on with a cheaper one.
    pub meant: &'a str,
    /// The conversation so far, oldest first.
    pub messages: &'a [Message],
    /// The shape of the answer, if one is declared.
    pub schema: Option<&'a OutputSchema>,
    /// Ask for that shape by the service's own means too, where it has them.
    pub native_schema: bool,
    /// The tools that the model may ask for.
    pub tools: &'a [ToolSpec],
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u64>,
    /// How hard to think.
    pub reasoning_effort: Option<&'a str>,
    /// Optional parameters that the model is known to refuse, by the provider's names ([`NoReply::Refused`]). They are not
    /// sent.
    pub left_out: &'a [&'static str],
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// A person's answer to what the last reply asked for.
    pub answered: Option<&'a Answered>,
    /// Where a coding agent works.
    pub working_dir: Option<&'a str>,
    /// What a coding agent may do and use, where that is stated.
    pub contract: Option<&'a Contract>,
    /// Variables whose values the model may see.
    pub secrets: &'a [String],
    /// Masks what the provider hands to the model besides the messages; `redaction`, which masks the messages, sets it.
    pub mask: Option<Arc<dyn Mask>>,
    /// The span of the attempt, for a coding agent; see [`Assignment::trace`](convoke_model::Assignment::trace).
    pub trace: Option<&'a str>,
    /// The step's name.
    pub step: &'a str,
    /// What the answer is for.
    pub purpose: Purpose,
    /// The task that asks.
    pub task: &'a TaskId,
    /// Which try of the task this is, from 1.
    pub attempt: u32,
    /// How many of the tries before it were cut off, without a known answer.
    pub cut_off: u32,
    /// Which request of the attempt this is, from 1.
    pub call: u32,
    /// Random choices start from here.
    pub seed: u64,
}

impl Request<'_> {
    /// Our estimate of the tokens that it takes, tools included.
    pub fn tokens(&self) -> u64 {
        tokens_in(self.messages) + self.tools.iter().map(ToolSpec::tokens).sum::<u64>()
    }
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is the step's output.
    Answer,
    /// It grades the step's output.
    Grade,
    /// It says whether the step's output meets its success criteria.
    Verify,
    /// It is an answer of another model, put into shape.
    Repair,
    /// It is a program over outputs.
    Program,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// What is said; of a tool, what it gave.
    pub text: String,
    /// The tools that the model asks for with this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that this is the result of; only messages of tools have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_of: Option<ResultOf>,
    /// Signed thoughts: the service wants them back with the message, word for word, and no other code reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<JsonText>,
}

impl Message {
    /// A message of a role.
    pub fn new(role: Role, text: impl Into<String>) -> Message {
        Message { role, text: text.into(), tool_calls: Vec::new(), result_of: None, thoughts: None }
    }

    /// What the model said, calls and all, as part of the conversation that goes on.
    pub fn of_reply(reply: &Reply) -> Message {
        let (tool_calls, thoughts) = (reply.tool_calls.clone(), reply.thoughts.clone());
        Message { tool_calls, thoughts, ..Message::new(Role::Assistant, reply.text.clone()) }
    }

    /// What a tool gave.
    pub fn tool_result(call: &ToolCall, text: impl Into<String>, failed: bool) -> Message {
        let (id, name) = (call.id.clone(), call.name.clone());
        let result_of = Some(ResultOf { id, name, failed, unknown: false });
        Message { result_of, ..Message::new(Role::Tool, text) }
    }

    /// The same, with the mark whether the outcome of the call is unknown.
    pub(crate) fn of_unknown_outcome(mut self, unknown: bool) -> Message {
        if let Some(result_of) = &mut self.result_of {
            result_of.unknown = unknown;
        }
        self
    }
}

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing orders.
    System,
    /// The side that asks the model.
    User,
    /// The model.
    Assistant,
    /// A tool that the model asked for.
    Tool,
}

impl Role {
    /// The word that services use.
    pub fn word(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name; services allow 64 letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for, in words for the model.
    pub description: String,
    /// The shape of its arguments, as JSON Schema.
    pub input_schema: serde_json::Value,
}

impl ToolSpec {
    /// Our estimate of the tokens that it takes in a request.
    pub fn tokens(&self) -> u64 {
        tokens(&self.name) + tokens(&self.description) + tokens(&self.input_schema.to_string())
    }
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The service's name for this call, or ours where it has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments. Arguments that are not JSON are here as a JSON text, which no tool's schema allows.
    pub arguments: JsonText,
}

impl ToolCall {
    /// A call with its arguments as the model wrote them; no arguments are an empty object.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> ToolCall {
        let written = if arguments.trim().is_empty() { "{}" } else { arguments };
        let arguments = JsonText::parse(written.to_owned()).unwrap_or_else(|_| JsonText::of(written));
        ToolCall { id: id.into(), name: name.into(), arguments }
    }
}

/// Which call a message of a tool answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultOf {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Whether the text says what went wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether the outcome of the call is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
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

    /// Those that are stated, and the usual ones for the rest. None is longer than the whole request.
    pub fn stated(total: Duration, stated: &PhaseTimeouts) -> Timeouts {
        let usual = Timeouts::within(total);
        let phase = |stated: Option<Duration>, or: Duration| stated.unwrap_or(or).min(total);
        Timeouts {
            connect: phase(stated.connect, usual.connect),
            first_token: phase(stated.first_token, usual.first_token),
            idle: phase(stated.idle, usual.idle),
            total,
        }
    }
}

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text, or the arguments of the call that carries a structured answer.
    pub text: String,
    /// The tools it wants called before it goes on, in its order. Never any where none were offered.
    pub tool_calls: Vec<ToolCall>,
    /// See [`Message::thoughts`].
    pub thoughts: Option<JsonText>,
    /// Why it stopped.
    pub finish: Finish,
    /// Tokens only; money is added by the driver.
    pub usage: Usage,
    /// The model that answered, as the service names it.
    pub model: String,
    /// What a person must decide before the agent goes on; then nothing else in the reply counts.
    pub asks: Option<Box<Asks>>,
}

/// Why a request has no reply.
#[derive(Debug, Clone, PartialEq)]
pub enum NoReply {
    /// The service does not take an optional parameter. The same request without it may be answered.
    Refused {
        /// The provider's name for the parameter, for [`Request::left_out`].
        parameter: &'static str,
        /// What the service said.
        failure: Failure,
    },
    /// It failed otherwise.
    Failed(Failure),
}

impl NoReply {
    /// What went wrong, whether the request may be sent again or not.
    pub fn into_failure(self) -> Failure {
        match self {
            NoReply::Refused { failure, .. } | NoReply::Failed(failure) => failure,
        }
    }
}

impl From<Failure> for NoReply {
    fn from(failure: Failure) -> NoReply {
        NoReply::Failed(failure)
    }
}

/// A permission request of a coding agent, for a person to decide on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asks {
    /// The question.
    pub ask: Ask,
    /// What the provider needs to go on from here, also in another process.
    pub state: JsonText,
}

/// What a person decided about a permission request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// See [`Asks::state`].
    pub state: JsonText,
    /// The answer.
    pub answer: Answer,
}

impl Reply {
    /// A reply of text alone.
    pub fn said(text: impl Into<String>, finish: Finish, usage: Usage, model: impl Into<String>) -> Reply {
        let (text, model) = (text.into(), model.into());
        Reply { text, tool_calls: Vec::new(), thoughts: None, finish, usage, model, asks: None }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_stated_goes_over_the_usual_times_within_the_whole() {
        let seconds = Duration::from_secs;
        let (total, usual) = (seconds(60), PhaseTimeouts::default());
        assert_eq!(Timeouts::stated(total, &usual), Timeouts::within(total));
        let stated = PhaseTimeouts { idle: Some(seconds(5)), first_token: Some(seconds(90)), ..usual };
        let expected = Timeouts { connect: seconds(30), first_token: seconds(60), idle: seconds(5), total };
        assert_eq!(Timeouts::stated(total, &stated), expected);
    }

    #[test]
    fn arguments_are_json_whatever_the_model_wrote() {
        let arguments = |text: &str| ToolCall::new("1", "f", text).arguments.value();
        assert_eq!(arguments("{\"a\": 1}"), json!({"a": 1}));
        assert_eq!(arguments(" "), json!({}));
        assert_eq!(arguments("{\"a\": "), json!("{\"a\": "));
    }

    #[test]
    fn messages_without_tools_are_stored_as_before() {
        let message = Message::new(Role::User, "hi");
        assert_eq!(serde_json::to_value(&message).unwrap(), json!({"role": "user", "text": "hi"}));
        let old: Message = serde_json::from_value(json!({"role": "user", "text": "hi"})).unwrap();
        assert_eq!(old, message);
    }

    #[test]
    fn a_call_and_its_result_belong_together() {
        let call = ToolCall::new("c1", "count", "{}");
        let mut reply = Reply::said("", Finish::Stop, Usage::default(), "m");
        reply.tool_calls.push(call.clone());
        assert_eq!(Message::of_reply(&reply).tool_calls, reply.tool_calls);
        let result = Message::tool_result(&call, "three", false);
        assert_eq!((result.role, result.result_of.unwrap().id.as_str()), (Role::Tool, "c1"));
    }
}
