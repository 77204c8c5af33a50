//! An attempt under way: its span, and the calls that wait for their contents.
//!
//! A call of a model is told before the turn that it belongs to is recorded, and a tool's result is on the next record. So spans of
//! calls are held until that record, or the end of the attempt.

use super::contents::{Contents, Prompt};
use super::ids::SpanId;
use super::names::{self, operation};
use super::span::{Kind, Span};
use super::steps::Step;
use convoke_agent::{Message, ToolCall};
use convoke_model::{ModelCall, Payload, Stamped, Timestamp, Usage};
use std::time::Duration;

/// What an attempt does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// It asks a model.
    Agent,
    /// It plans the way to a goal, by asking a model.
    Plan,
    /// It runs a command or calls a tool.
    Tool,
}

impl Work {
    /// What an attempt of a step does; of a child that a step spawned, by the word for it.
    pub fn of(step: Option<&Step>, child: Option<&str>) -> Work {
        match (child, step.map(|step| step.kind)) {
            (Some("plan"), _) => Work::Plan,
            (None, Some("script" | "tool")) => Work::Tool,
            _ => Work::Agent,
        }
    }

    pub fn operation(self) -> &'static str {
        match self {
            Work::Agent => operation::AGENT,
            Work::Plan => operation::PLAN,
            Work::Tool => operation::TOOL,
        }
    }
}

/// What every call of an attempt is asked with.
const OF_THE_REQUEST: [&str; 4] =
    [names::MAX_TOKENS, names::TEMPERATURE, names::REASONING, names::CONVERSATION];

/// An attempt under way.
pub(super) struct Attempt {
    /// Its span, whose end is not known.
    pub span: Span,
    /// What it does.
    pub work: Work,
    /// What it was asked, where contents are told.
    pub prompt: Option<Prompt>,
    usage: Usage,
    models: u32,
    tools: u32,
    held: Vec<Held>,
    /// Calls that the model asked for, whose results are not there.
    asked: Vec<ToolCall>,
}

/// The span of a call that may get contents still.
struct Held {
    span: Span,
    is_answer: bool,
    /// The call of a tool.
    call: Option<ToolCall>,
}

impl Attempt {
    pub fn new(span: Span, work: Work, prompt: Option<Prompt>) -> Attempt {
        let (held, asked) = (Vec::new(), Vec::new());
        Attempt { span, work, prompt, usage: Usage::default(), models: 0, tools: 0, held, asked }
    }

    /// A span below the attempt's.
    fn below(&self, kind: &str, number: u32, run: &convoke_model::RunId, task: &str) -> Span {
        // Below an attempt that has its own id whatever happens: two calls never share a number.
        let id = SpanId::of(run, &format!("{kind}/{}", super::ids::hex(&self.span.id.0)), task, number);
        Span {
            id,
            parent: Some(self.span.id),
            name: String::new(),
            kind: Kind::Internal,
            attributes: Vec::new(),
            links: Vec::new(),
            error: None,
            ..self.span.clone()
        }
    }

    /// A call of a model has ended.
    pub fn model_called(&mut self, run: &convoke_model::RunId, task: &str, at: Timestamp, call: &ModelCall) {
        self.models += 1;
        let mut span = self.below("model", self.models, run, task);
        let operation = names::model_operation(&call.provider);
        (span.start, span.end) = (before(at, call.ms).max(self.span.start), at);
        (span.name, span.kind) = (format!("{operation} {}", call.model).trim_end().to_owned(), Kind::Client);
        span.set(names::OPERATION, operation);
        span.set(names::PROVIDER, names::provider(&call.provider));
        let asked_with = self.span.attributes.iter().filter(|(name, _)| OF_THE_REQUEST.contains(name));
        span.attributes.extend(asked_with.cloned());
        let named = [(names::MODEL, &call.model), (names::PURPOSE, &call.purpose)];
        named
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .for_each(|(name, text)| span.set(name, text.as_str()));
        let answered = if call.answered_by.is_empty() { &call.model } else { &call.answered_by };
        if call.failure.is_none() && !answered.is_empty() {
            span.set(names::RESPONSE_MODEL, answered.as_str());
        }
        if !call.finish.is_empty() {
            span.attributes.push((names::FINISH_REASONS, super::Value::Texts(vec![call.finish.clone()])));
        }
        if let Some(first) = call.first_ms {
            span.attributes.push((names::STREAM, super::Value::Flag(true)));
            span.set(names::FIRST_CHUNK, first as f64 / 1e3);
        }
        if let Some(class) = call.failure {
            span.set(names::ERROR, class.word());
            span.error = Some(class.word().to_owned());
        }
        span.use_model(&call.usage);
        self.held.push(Held { span, is_answer: call.purpose.is_empty(), call: None });
    }

    /// A call of a tool has ended.
    pub fn tool_called(
        &mut self,
        (run, task): (&convoke_model::RunId, &str),
        at: Timestamp,
        (tool, ms, failed): (&str, u64, bool),
        contents: Option<&Contents>,
    ) {
        // A tool step is this call.
        if self.work == Work::Tool {
            return;
        }
        self.tools += 1;
        let mut span = self.below("tool", self.tools, run, task);
        (span.start, span.end, span.name) =
            (before(at, ms).max(self.span.start), at, format!("{} {tool}", operation::TOOL));
        span.set(names::OPERATION, operation::TOOL);
        span.set(names::TOOL, tool);
        span.set(names::TOOL_TYPE, "function");
        if failed {
            span.set(names::ERROR, "tool_error");
            span.error = Some("tool_error".to_owned());
        }
        let asked = self.asked.iter().position(|call| call.name == tool).map(|at| self.asked.remove(at));
        if let (Some(call), Some(contents)) = (&asked, contents) {
            span.set(names::TOOL_CALL, call.id.as_str());
            contents.arguments(&mut span, &call.arguments);
        }
        self.held.push(Held { span, is_answer: false, call: asked });
    }

    /// A turn was recorded: what was held gets its contents and goes.
    pub fn turned(
        &mut self,
        usage: &Usage,
        messages: &[Message],
        contents: Option<&Contents>,
        out: &mut Vec<Span>,
    ) {
        self.usage += *usage;
        if let Some(contents) = contents {
            for held in self.held.iter_mut() {
                let result = held.call.as_ref().and_then(|call| result_of(call, messages));
                result.into_iter().for_each(|text| contents.result(&mut held.span, text));
            }
            if let Some(last) = self.held.iter_mut().rfind(|held| held.is_answer) {
                contents.turn(&mut last.span, messages);
            }
            self.asked.extend(messages.iter().flat_map(|message| message.tool_calls.iter().cloned()));
        }
        self.let_go(out);
    }

    /// The attempt has ended; gives everything that was held, and its own span.
    pub fn end(
        mut self,
        at: &Stamped,
        usage: &Usage,
        output: Option<&Payload>,
        contents: Option<&Contents>,
        out: &mut Vec<Span>,
    ) -> Span {
        self.usage += *usage;
        if let Some(contents) = contents {
            if let (Some(output), Some(last)) = (output, self.held.iter_mut().rfind(|held| held.is_answer)) {
                contents.answer(&mut last.span, output);
            }
            if let Some(prompt) = &self.prompt {
                contents.ask(&mut self.span, prompt);
                if let Some(first) = self.held.iter_mut().find(|held| held.is_answer && self.models == 1) {
                    contents.ask(&mut first.span, prompt);
                }
            }
            output.into_iter().for_each(|output| contents.answer(&mut self.span, output));
        }
        self.let_go(out);
        self.span.end = at.at;
        // Receivers add up what is called usage: it is on the calls, where those are known one by one.
        match (self.work, self.models) {
            (Work::Tool, _) => {}
            (_, 0) if self.usage.calls > 0 => self.span.use_model(&self.usage),
            _ => self.span.total(&self.usage),
        }
        self.span
    }

    fn let_go(&mut self, out: &mut Vec<Span>) {
        out.extend(self.held.drain(..).map(|held| held.span));
    }
}

/// What a call gave, by the records of its conversation.
fn result_of<'a>(call: &ToolCall, messages: &'a [Message]) -> Option<&'a str> {
    let is_its = |message: &&Message| message.result_of.as_ref().is_some_and(|of| of.id == call.id);
    messages.iter().find(is_its).map(|message| message.text.as_str())
}

fn before(at: Timestamp, ms: u64) -> Timestamp {
    let micros = u64::try_from(Duration::from_millis(ms).as_micros()).unwrap_or(u64::MAX);
    Timestamp(at.0.saturating_sub(micros))
}
