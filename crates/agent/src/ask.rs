//! One question to a model, from admission to settlement.
//!
//! Whatever cuts it off, the request is dropped, which closes its connection, and what it used is accounted for.

use crate::fallback::Models;
use crate::ledger::{self, Ledger};
use crate::talk::Talk;
use crate::{CallDemand, Question, Reply, Report, Request, Sink, Timeouts};
use convoke_model::Failure;
use std::sync::Mutex;

impl Talk<'_> {
    /// Asks the first model of the chain that can answer.
    pub(crate) async fn ask_one_of(
        &self,
        models: &mut Models<'_>,
        question: &Question<'_>,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Reply, Failure> {
        loop {
            let model = models.instead_of(question.model);
            let reply = self.ask(question, model, ledger, heard).await;
            match models.turn(question.model, &reply) {
                Some(note) => self.line.report(note),
                None => return reply,
            }
        }
    }

    async fn ask(
        &self,
        question: &Question<'_>,
        model: &str,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Reply, Failure> {
        let demand = self.demand(question, model);
        let input_tokens = demand.input_tokens;
        let permit = self.line.admit(demand).await?;
        heard.forget();
        ledger.begin(model, input_tokens);
        let reply = self.provider.complete(&self.request(question, model), heard).await;
        let used = heard.with_text(|text| ledger.end(&reply, text));
        if reply.is_ok() {
            heard.forget();
        }
        self.line.settle(permit, &used);
        self.line.report(Report::Usage(used));
        reply
    }

    fn demand(&self, question: &Question<'_>, model: &str) -> CallDemand {
        CallDemand {
            task: self.assignment.task.clone(),
            attempt: self.assignment.attempt,
            provider: self.provider.name().to_owned(),
            model: model.to_owned(),
            input_tokens: ledger::tokens_in(&question.messages) + question.tool_tokens,
            output_tokens: self.call.settings.max_tokens,
        }
    }

    fn request<'b>(&'b self, question: &'b Question<'b>, model: &'b str) -> Request<'b> {
        let settings = &self.call.settings;
        Request {
            model,
            messages: &question.messages,
            schema: question.schema,
            native_schema: question.native_schema(),
            tools: question.tools,
            answered: question.answered,
            working_dir: self.call.working_dir.as_deref(),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            reasoning_effort: self.call.reasoning_effort.as_deref(),
            timeouts: Timeouts::stated(settings.request_timeout, &settings.phase_timeouts),
            step: &self.assignment.step,
            purpose: question.purpose,
            task: &self.assignment.task,
            attempt: self.assignment.attempt,
            call: question.call,
            seed: self.assignment.seed,
        }
    }
}

/// Passes reports on and keeps the text of the answer that is coming in, in case it breaks off.
pub(crate) struct Heard<'a> {
    sink: &'a dyn Sink,
    text: Mutex<String>,
}

impl<'a> Heard<'a> {
    pub fn new(sink: &'a dyn Sink) -> Heard<'a> {
        Heard { sink, text: Mutex::default() }
    }

    fn with_text<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(&self.text.lock().expect("nobody panics while holding it"))
    }

    fn forget(&self) {
        self.text.lock().expect("nobody panics while holding it").clear();
    }

    pub fn into_text(self) -> String {
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
