//! Answers from a file, or made up: for tests, demonstrations and dry runs without a model.
//!
//! Replies are listed per step and taken in order; the last one repeats. The place in a list is kept in memory, but it
//! is never before the number of earlier visits and attempts that the task's id and attempt number tell of, so a
//! resumed run goes on where the first process stopped. An answer that takes its time comes in pieces, as models stream. (Lists that several tasks share, as in a for_each, start again
//! after a restart.) Without a file, answers are made up so that they fit the declared shape.

mod made_up;
mod replies;
mod stream;

use convoke_agent::{Finish, NoReply, Provider, Reply, Report, Request, Role, Sink, ToolCall};
use convoke_model::excerpt::tokens;
use convoke_model::{Class, Failure, ProviderSettings, TaskId, Usage};
use futures::future::BoxFuture;
use replies::{Entry, Outcome, Script, Wanted};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A provider that needs no model.
pub struct Scripted {
    script: Option<Script>,
    latency: Duration,
    told: AtomicBool,
}

impl Scripted {
    /// Reads the file that the settings name, if they name one.
    pub fn new(settings: &ProviderSettings) -> Result<Scripted, Failure> {
        let script = match &settings.file {
            None => None,
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|error| unusable(path, &error.to_string()))?;
                Some(Script::parse(&text).map_err(|why| unusable(path, &why))?)
            }
        };
        let latency = settings.latency_ms.or(script.as_ref().and_then(|script| script.latency_ms));
        Ok(Scripted {
            script,
            latency: Duration::from_millis(latency.unwrap_or(0)),
            told: AtomicBool::new(false),
        })
    }

    async fn answer(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Failure> {
        let Some(script) = &self.script else {
            self.tell(sink);
            let answer = made_up::answer(request);
            stream::say(&answer, self.latency, sink).await;
            return Ok(reply(request, answer, None));
        };
        let entry = script.next(request, prompt(request)).ok_or_else(|| nothing(request))?;
        let time = entry.delay_ms.map_or(self.latency, Duration::from_millis);
        stream::say(entry.text(), time, sink).await;
        self.outcome(request, entry)
    }

    fn outcome(&self, request: &Request<'_>, entry: &Entry) -> Result<Reply, Failure> {
        match &entry.outcome {
            Outcome::Say(text) => Ok(reply(request, text.clone(), entry.usage)),
            Outcome::Call(calls, text) => calling(request, calls, text, entry.usage),
            Outcome::Fail(failure) => Err(failure.clone()),
        }
    }

    /// Tells once that the answers are made up, so that they are not taken for a model's.
    fn tell(&self, sink: &dyn Sink) {
        if !self.told.swap(true, Ordering::Relaxed) {
            let message = "no model is asked: the scripted provider makes the answers up".to_owned();
            sink.report(Report::Noted { code: "scripted_answers", message });
        }
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    /// What is made up asks for no tools; a file says which it asks for.
    fn may_call(&self, step: &str, task: &TaskId) -> Option<Vec<String>> {
        Some(self.script.as_ref().map(|script| script.tools_of(step, task)).unwrap_or_default())
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let total = request.timeouts.total;
            // No timer where nothing waits: this path is measured in microseconds.
            if self.script.is_none() && self.latency.is_zero() {
                return Ok(self.answer(request, sink).await?);
            }
            let answered = tokio::time::timeout(total, self.answer(request, sink)).await;
            Ok(answered.unwrap_or_else(|_| Err(timed_out(total)))?)
        })
    }
}

/// The text that patterns are matched against: what the user said last.
fn prompt<'a>(request: &Request<'a>) -> &'a str {
    let asked = request.messages.iter().rev().find(|message| message.role == Role::User);
    asked.map_or("", |message| &message.text)
}

fn reply(request: &Request<'_>, text: String, usage: Option<(u64, u64)>) -> Reply {
    let (input_tokens, output_tokens) = usage.unwrap_or_else(|| (request.tokens(), tokens(&text)));
    let usage =
        Usage { calls: 1, input_tokens, output_tokens, estimated: usage.is_none(), ..Usage::default() };
    Reply::said(text, Finish::Stop, usage, request.model)
}

/// Asks for tools. A model that is offered none cannot.
fn calling(
    request: &Request<'_>,
    calls: &[Wanted],
    text: &str,
    usage: Option<(u64, u64)>,
) -> Result<Reply, Failure> {
    if request.tools.is_empty() {
        let message = format!("the scripted replies for `{}` ask for tools, and it has none", request.step);
        return Err(Failure::new(Class::Fatal, message).reason("no_tools"));
    }
    let call = |(at, wanted): (usize, &Wanted)| {
        let id = format!("call_{}_{at}", request.call);
        ToolCall::new(id, &wanted.name, &wanted.arguments.to_string())
    };
    let tool_calls = calls.iter().enumerate().map(call).collect();
    Ok(Reply { tool_calls, ..reply(request, text.to_owned(), usage) })
}

fn nothing(request: &Request<'_>) -> Failure {
    let name = replies::name(request);
    Failure::new(Class::Fatal, format!("the scripted replies have none for `{name}`"))
        .reason("no_reply")
        .hint(format!("add a list under `replies: {{{name}: [...]}}`, or a `default:`"))
}

fn unusable(path: &str, why: &str) -> Failure {
    Failure::new(Class::Fatal, format!("the scripted replies in `{path}` cannot be used: {why}"))
        .reason("bad_replies")
}

fn timed_out(after: Duration) -> Failure {
    let message = format!("scripted: timeout: the request took too long within {} s", after.as_secs_f64());
    Failure::new(Class::Timeout, message).reason("request_timeout")
}

#[cfg(test)]
mod tests;
