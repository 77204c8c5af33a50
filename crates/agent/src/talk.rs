//! Performs a conversation: asks for admission, asks the provider, keeps the books, stops in time.
//!
//! Leaves every decision to `Conversation`. Whatever ends the talk, the request that is under way is dropped, which
//! closes its connection, and what it used is accounted for.

use crate::conversation::leftovers;
use crate::fallback::Models;
use crate::ledger::{self, Ledger};
use crate::{
    CallDemand, Conversation, Ending, Line, Next, Note, Provider, Question, Reply, Report, Request, Sink,
    Timeouts, Toolbox,
};
use convoke_model::{AgentCall, Assignment, AttemptEnd, Class, Failure, JsonText};
use std::sync::Mutex;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Everything that a talk needs and does not change.
pub(crate) struct Talk<'a> {
    pub assignment: &'a Assignment,
    pub call: &'a AgentCall,
    pub provider: &'a dyn Provider,
    pub toolbox: &'a dyn Toolbox,
    pub line: &'a dyn Line,
}

impl Talk<'_> {
    /// Talks to the end, or until `cancel` or the session's time cuts it off.
    pub async fn perform(&self, cancel: &CancellationToken) -> AttemptEnd {
        let mut conversation = match self.conversation() {
            Ok(conversation) => conversation,
            Err(failure) => return failed(failure, Ledger::new(&self.call.settings.pricing), &[], ""),
        };
        let mut ledger = Ledger::new(&self.call.settings.pricing);
        let heard = Heard::new(self.line);
        let session = self.call.settings.session_timeout;
        let ending = tokio::select! {
            biased;
            () = cancel.cancelled() => Ending::Failed(self.cancelled()),
            ending = self.converse(&mut conversation, &mut ledger, &heard) => ending,
            () = time_out(session) => Ending::Failed(self.out_of_time(session.unwrap_or_default())),
        };
        let text = heard.into_text();
        match ending {
            Ending::Output(output) => AttemptEnd::Finished { output, usage: ledger.close(&text) },
            Ending::Failed(failure) => failed(failure, ledger, conversation.rejected(), &text),
        }
    }

    /// A new conversation, or the one that an earlier attempt was suspended in.
    fn conversation(&self) -> Result<Conversation, Failure> {
        let Some(state) = self.assignment.continues.last() else { return Ok(Conversation::new(self.call)) };
        serde_json::from_str(state.as_str()).map_err(|error| {
            let step = &self.assignment.step;
            Failure::new(Class::Fatal, format!("step `{step}`: its stored conversation is damaged: {error}"))
        })
    }

    async fn converse(
        &self,
        conversation: &mut Conversation,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Ending {
        let mut models = Models::new(self.call, &self.assignment.step, self.assignment.attempt);
        loop {
            let question = match conversation.next(self.call) {
                Next::Done(ending) => return ending.clone(),
                Next::Ask(question) => question,
            };
            let reply = self.ask_one_of(&mut models, question, ledger, heard).await;
            if let Some(Note { code, message }) = conversation.feed(self.call, &self.assignment.step, reply) {
                self.line.report(Report::Noted { code, message });
            }
        }
    }

    /// Asks the first model of the chain that can answer.
    async fn ask_one_of(
        &self,
        models: &mut Models<'_>,
        question: Question<'_>,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Reply, Failure> {
        let named = question.model;
        loop {
            let question = Question { model: models.instead_of(named), ..question };
            let reply = self.ask(&question, ledger, heard).await;
            match models.turn(named, &reply) {
                Some(note) => self.line.report(note),
                None => return reply,
            }
        }
    }

    /// One call, from admission to settlement.
    async fn ask(
        &self,
        question: &Question<'_>,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Reply, Failure> {
        let demand = self.demand(question);
        let input_tokens = demand.input_tokens;
        let permit = self.line.admit(demand).await?;
        heard.forget();
        ledger.begin(question.model, input_tokens);
        let reply = self.provider.complete(&self.request(question), heard).await;
        let used = heard.with_text(|text| ledger.end(&reply, text));
        if reply.is_ok() {
            heard.forget();
        }
        self.line.settle(permit, &used);
        self.line.report(Report::Usage(used));
        reply
    }

    fn demand(&self, question: &Question<'_>) -> CallDemand {
        CallDemand {
            task: self.assignment.task.clone(),
            attempt: self.assignment.attempt,
            provider: self.provider.name().to_owned(),
            model: question.model.to_owned(),
            input_tokens: ledger::tokens_in(question.messages),
            output_tokens: self.call.settings.max_tokens,
        }
    }

    fn request<'b>(&'b self, question: &Question<'b>) -> Request<'b> {
        let settings = &self.call.settings;
        Request {
            model: question.model,
            messages: question.messages,
            schema: question.schema,
            native_schema: true,
            tools: &[],
            answered: None,
            working_dir: self.call.working_dir.as_deref(),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            reasoning_effort: self.call.reasoning_effort.as_deref(),
            timeouts: Timeouts::within(settings.request_timeout),
            step: &self.assignment.step,
            purpose: question.purpose,
            task: &self.assignment.task,
            attempt: self.assignment.attempt,
            call: question.call,
            seed: self.assignment.seed,
        }
    }

    fn cancelled(&self) -> Failure {
        Failure::new(Class::Cancelled, format!("step `{}`: cancelled", self.assignment.step))
    }

    fn out_of_time(&self, session: Duration) -> Failure {
        let seconds = session.as_secs_f64();
        let step = &self.assignment.step;
        let message = format!("step `{step}`: the conversation timed out after {seconds} s");
        Failure::new(Class::Timeout, message).reason("session_timeout")
    }
}

async fn time_out(session: Option<Duration>) {
    match session {
        Some(session) => tokio::time::sleep(session).await,
        None => std::future::pending().await,
    }
}

fn failed(failure: Failure, ledger: Ledger<'_>, rejected: &[String], unfinished: &str) -> AttemptEnd {
    let partial: Option<JsonText> = leftovers(rejected, unfinished);
    AttemptEnd::Failed { failure, usage: ledger.close(unfinished), partial }
}

/// Passes reports on and keeps the text of the answer that is coming in, in case it breaks off.
struct Heard<'a> {
    sink: &'a dyn Sink,
    text: Mutex<String>,
}

impl<'a> Heard<'a> {
    fn new(sink: &'a dyn Sink) -> Heard<'a> {
        Heard { sink, text: Mutex::default() }
    }

    fn with_text<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(&self.text.lock().expect("nobody panics while holding it"))
    }

    fn forget(&self) {
        self.text.lock().expect("nobody panics while holding it").clear();
    }

    fn into_text(self) -> String {
        self.text.into_inner().expect("nobody panics while holding it")
    }
}

impl Sink for Heard<'_> {
    fn report(&self, report: Report) {
        if let Report::Progress { text } = &report {
            self.text.lock().expect("nobody panics while holding it").push_str(text);
        }
        self.sink.report(report);
    }
}
