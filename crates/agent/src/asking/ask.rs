//! One question to a model, from admission to settlement.
//!
//! Each request has a permit of its own, also one that is sent again because the service refused an optional parameter of the
//! first: what a service refuses is remembered (`refusals`) and left out from then on. Whatever cuts a request off, it is
//! dropped, which closes its connection, and what it used is accounted for.

use super::most::most_tokens;
use crate::asking::model_call::model_call;
use crate::calls::violation;
use crate::fallback::Models;
use crate::ledger::{self, Ledger};
use crate::talk::Talk;
use crate::window::window_of;
use crate::{Admitted, CallDemand, CallPermit, NoReply, Question, Reply, Report, Request, Sink, Timeouts};
use convoke_failpoint::failpoint;
use convoke_model::{Class, Contract, Failure, reason};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub use convoke_model::MAX_TOKENS;

/// What came of one request.
enum Outcome {
    /// It was the last one for its question.
    Ended(Result<Reply, Failure>),
    /// The same request is sent without a parameter that the service refused.
    AskAgain,
}

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
                Some(note) => self.link.report(note),
                None => return reply,
            }
        }
    }

    /// Asks a model, again where it refuses an optional parameter.
    async fn ask(
        &self,
        question: &Question<'_>,
        model: &str,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Reply, Failure> {
        self.require_named(model)?;
        self.require_fit(question, model)?;
        loop {
            match self.request_once(question, model, ledger, heard).await? {
                Outcome::Ended(reply) => return reply,
                Outcome::AskAgain => {}
            }
        }
    }

    /// One request under one permit.
    async fn request_once(
        &self,
        question: &Question<'_>,
        meant: &str,
        ledger: &mut Ledger<'_>,
        heard: &Heard<'_>,
    ) -> Result<Outcome, Failure> {
        let (permit, input_tokens, model) = self.admit(question, meant).await?;
        heard.forget();
        let left_out = self.refusals.of(&self.call.settings.provider, &model);
        let request = Request { meant, left_out: &left_out, ..self.request(question, &model) };
        let answers = self.provider.stand_in(&request);
        ledger.begin(answers.as_deref().unwrap_or(&model), input_tokens);
        failpoint!("agent.ask.admitted");
        let watch = self.assignment.trace.as_ref().map(|_| heard.time());
        let (reply, refused) = match self.provider.complete(&request, heard).await {
            Ok(reply) => (Ok(reply), None),
            Err(NoReply::Refused { parameter, failure }) => (Err(failure), Some(parameter)),
            Err(NoReply::Failed(failure)) => (Err(failure), None),
        };
        failpoint!("agent.ask.answered");
        let used = heard.with_text(|text| ledger.end(&reply, text));
        if reply.is_ok() {
            heard.forget();
        }
        self.link.settle(permit, &used, reply.as_ref().err());
        self.link.report(Report::Usage(used));
        if let Some(begun) = watch {
            let call = model_call(self.provider.name(), &request, &reply, used, heard.timed(begun));
            self.link.report(Report::ModelCalled(Box::new(call)));
        }
        failpoint!("agent.ask.settled");
        if let Some(violation) = heard.take_barred() {
            return Err(self.violated(violation));
        }
        match refused.filter(|parameter| self.learn(&model, parameter, &left_out)) {
            Some(_) => Ok(Outcome::AskAgain),
            None => Ok(Outcome::Ended(reply)),
        }
    }

    /// Remembers a refused parameter; says whether the request is sent again without it.
    fn learn(&self, model: &str, parameter: &'static str, left_out: &[&str]) -> bool {
        let learned = self.refusals.learn(&self.call.settings.provider, model, parameter, left_out);
        if learned {
            let name = self.provider.name();
            let message = format!("{name}: model `{model}` does not take `{parameter}`; it is sent without");
            self.link.report(Report::Noted { code: "parameter_left_out", message });
        }
        learned
    }

    /// A coding agent says that it has used what it may not.
    fn violated(&self, violation: Failure) -> Failure {
        self.link.report(Report::Noted { code: "security_violation", message: violation.message.clone() });
        self.named(violation)
    }

    /// Waits until the call may be made: with the model that is meant, or with a cheaper one where a budget says so.
    async fn admit<'b>(
        &self,
        question: &Question<'_>,
        model: &'b str,
    ) -> Result<(CallPermit, u64, Cow<'b, str>), Failure> {
        let mut model = Cow::Borrowed(model);
        let mut refused = Vec::new();
        loop {
            let demand = CallDemand { refused: refused.clone(), ..self.demand(question, &model) };
            let input_tokens = demand.input_tokens;
            match self.link.admit(demand).await? {
                Admitted::Go(permit) => return Ok((permit, input_tokens, model)),
                Admitted::Instead(cheaper) => {
                    self.require_cheaper(&model, &cheaper)?;
                    self.require_fit(question, &cheaper)?;
                    self.link.report(degraded(&self.assignment.step, &model, &cheaper));
                    refused.push(model.into_owned());
                    model = Cow::Owned(cheaper);
                }
            }
        }
    }

    /// Whatever led to it, a model that the contract does not name is not asked.
    fn require_named(&self, model: &str) -> Result<(), Failure> {
        if self.contract.is_none_or(|contract| contract.admits_model(model)) {
            return Ok(());
        }
        let message = format!("the model `{model}` may not answer: the contract does not name it");
        Err(self.named(Failure::new(Class::Security, message).reason(reason::MODEL_NOT_ALLOWED)))
    }

    /// What cannot fit into a window that is known is not sent: a service would refuse it, or leave out a part unsaid.
    fn require_fit(&self, question: &Question<'_>, model: &str) -> Result<(), Failure> {
        let (input, window) = (input_tokens(question), window_of(self.call, model).unwrap_or(u64::MAX));
        if input <= window {
            return Ok(());
        }
        let message = format!(
            "the request takes about {input} tokens, and the window of model `{model}` is {window} (context_window)"
        );
        let hint = "shorten the prompt, set `context.max_tokens`, or name a model with a larger window";
        Err(self.named(Failure::new(Class::Fatal, message).reason(reason::CONTEXT_OVERFLOW).hint(hint)))
    }

    /// The same where a budget wants a cheaper one: then there is none that it can pay.
    fn require_cheaper(&self, model: &str, cheaper: &str) -> Result<(), Failure> {
        if self.contract.is_none_or(|contract| contract.admits_model(cheaper)) {
            return Ok(());
        }
        let message = format!(
            "the budget cannot pay model `{model}` any more, and `{cheaper}` may not answer in its place: the contract \
             does not name it"
        );
        let failure = Failure::new(Class::Budget, message).reason(reason::MODEL_NOT_ALLOWED);
        Err(self.named(
            failure.hint(
                "`modelConstraint` of the persona and `degrade_to` of the budget name different models",
            ),
        ))
    }

    fn demand(&self, question: &Question<'_>, model: &str) -> CallDemand {
        let settings = &self.call.settings;
        let input_tokens = input_tokens(question);
        let output_tokens = self.answer_tokens(question, model);
        let most_input_tokens = most_tokens(question);
        CallDemand {
            task: self.assignment.task.clone(),
            attempt: self.assignment.attempt,
            provider: self.provider.name().to_owned(),
            model: model.to_owned(),
            input_tokens,
            most_input_tokens,
            output_tokens,
            cost_micros: settings
                .pricing
                .get(model)
                .map(|price| price.worst_case(most_input_tokens, output_tokens)),
            refused: Vec::new(),
        }
    }

    fn max_tokens(&self) -> u64 {
        let agreed = self.contract.and_then(|contract| contract.max_tokens);
        agreed.or(self.call.settings.max_tokens).unwrap_or(MAX_TOKENS)
    }

    /// The most tokens of an answer: what is stated, as far as the request leaves room for it.
    fn answer_tokens(&self, question: &Question<'_>, model: &str) -> u64 {
        let window = window_of(self.call, model);
        let left = window.map_or(u64::MAX, |window| window.saturating_sub(input_tokens(question)));
        self.max_tokens().min(left.max(1))
    }

    fn working_dir(&self) -> Option<&str> {
        let agreed = self.contract.and_then(|contract| contract.working_dir.as_deref());
        agreed.or(self.call.working_dir.as_deref())
    }

    fn request<'b>(&'b self, question: &'b Question<'b>, model: &'b str) -> Request<'b> {
        let settings = &self.call.settings;
        Request {
            model,
            meant: model,
            messages: &question.messages,
            schema: question.schema,
            native_schema: question.native_schema(),
            tools: question.tools,
            answered: question.answered,
            working_dir: self.working_dir(),
            contract: self.contract,
            secrets: self.contract.map_or(&self.call.settings.secrets, |contract| &contract.secrets),
            mask: None,
            temperature: settings.temperature,
            max_tokens: Some(self.answer_tokens(question, model)),
            reasoning_effort: self.call.reasoning_effort.as_deref(),
            left_out: &[],
            timeouts: Timeouts::stated(settings.request_timeout, &settings.phase_timeouts),
            trace: self.assignment.trace.as_deref(),
            step: &self.assignment.step,
            purpose: question.purpose,
            task: &self.assignment.task,
            attempt: self.assignment.attempt,
            cut_off: self.assignment.cut_off,
            call: question.call,
            seed: self.assignment.seed,
        }
    }
}

fn input_tokens(question: &Question<'_>) -> u64 {
    ledger::tokens_in(&question.messages) + question.tool_tokens
}

fn degraded(step: &str, from: &str, to: &str) -> Report {
    let message = format!("step `{step}`: the budget cannot pay model `{from}` any more; asking `{to}`");
    Report::Noted { code: "model_degraded", message }
}

/// Passes reports on and keeps the text of the answer that is coming in, in case it breaks off. Listens for tools that may
/// not be used: those of a coding agent are known only by what it tells of them.
pub(crate) struct Heard<'a> {
    sink: &'a dyn Sink,
    contract: Option<&'a Contract>,
    text: Mutex<String>,
    /// When the first piece of the answer was heard.
    first: Mutex<Option<Instant>>,
    barred: Mutex<Option<Failure>>,
    /// Tools that a coding agent says it has used.
    called: Mutex<BTreeSet<String>>,
}

impl<'a> Heard<'a> {
    pub fn new(sink: &'a dyn Sink, contract: Option<&'a Contract>) -> Heard<'a> {
        Heard {
            sink,
            contract,
            text: Mutex::default(),
            first: Mutex::default(),
            barred: Mutex::default(),
            called: Mutex::default(),
        }
    }

    /// Begins to take the time of a call.
    fn time(&self) -> Instant {
        *self.first.lock().expect("a panic poisoned this lock") = None;
        Instant::now()
    }

    /// How long it took, and how long until the first piece of the answer.
    fn timed(&self, begun: Instant) -> (Duration, Option<Duration>) {
        let first = *self.first.lock().expect("a panic poisoned this lock");
        (begun.elapsed(), first.map(|first| first.saturating_duration_since(begun)))
    }

    pub(crate) fn take_barred(&self) -> Option<Failure> {
        self.barred.lock().expect("a panic poisoned this lock").take()
    }

    /// The tools that were used since this was last asked.
    pub(crate) fn take_called(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.called.lock().expect("a panic poisoned this lock"))
    }

    fn inspect_tool(&self, tool: &str) {
        self.called.lock().expect("a panic poisoned this lock").insert(tool.to_owned());
        let persona =
            self.contract.filter(|contract| contract.bans(tool)).and_then(|it| it.persona.as_deref());
        if let Some(persona) = persona {
            let mut barred = self.barred.lock().expect("a panic poisoned this lock");
            barred.get_or_insert_with(|| violation(persona, tool));
        }
    }

    fn with_text<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(&self.text.lock().expect("a panic poisoned this lock"))
    }

    fn forget(&self) {
        self.text.lock().expect("a panic poisoned this lock").clear();
    }

    pub fn into_text(self) -> String {
        self.text.into_inner().expect("a panic poisoned this lock")
    }
}

impl Sink for Heard<'_> {
    fn report(&self, report: Report) {
        match &report {
            Report::Progress { text } => {
                let mut heard = self.text.lock().expect("a panic poisoned this lock");
                if heard.is_empty() {
                    *self.first.lock().expect("a panic poisoned this lock") = Some(Instant::now());
                }
                heard.push_str(text);
            }
            // A call that failed was refused, or came to nothing.
            Report::ToolCalled { tool, failed: false, .. } => self.inspect_tool(tool),
            _ => {}
        }
        self.sink.report(report);
    }

    fn starts_until(&self) -> Option<std::time::Instant> {
        self.sink.starts_until()
    }
}
