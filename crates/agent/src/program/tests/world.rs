//! What an attempt that writes programs needs: a call, a model that says what it is told, a book to write in.

use super::toy::Toy;
use crate::{
    Admission, Admitted, Attempts, CallDemand, CallPermit, Commands, Finish, Message, NoReply, NoTools,
    Provider, Providers, Purpose, Reply, Report, Request, ScriptResult, Sink, Toolbox, TurnLog, TurnRecord,
    Unlimited,
};
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Digest, Failure, JsonText, Payload, ProgramAnswer,
    ProgramCall, ProgramSource, ProviderSettings, Retry, ScriptCall, SubQuery, TaskId, Usage, WaitsFor, Work,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A call over these outputs, with usual bounds.
pub(in crate::program) fn call_over(outputs: &[Value]) -> ProgramCall {
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: None,
        raw: true,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        phase_timeouts: Default::default(),
        session_timeout: None,
        parse_recovery: 1,
        validator: None,
        tools: None,
        secrets: Vec::new(),
        show_tools: false,
        approvals: Default::default(),
        servers: Default::default(),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Default::default(),
    };
    let agent = AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: Some("You are thorough.".into()),
        prompt: "Which is it?".into(),
        reasoning_effort: None,
        working_dir: None,
        kept: Vec::new(),
    };
    let source = |(at, output): (usize, &Value)| ProgramSource {
        mark: format!("S{}", at + 1),
        task: TaskId(format!("items[{at}]").into()),
        title: format!("item {at}"),
        output: JsonText::of(output),
    };
    ProgramCall {
        agent,
        sources: outputs.iter().enumerate().map(source).collect(),
        missing: Vec::new(),
        depth: 0,
        max_turns: 3,
        max_depth: 2,
        max_calls: 4,
        time_ms: 20_000,
        memory: 1 << 20,
        metadata_chars: 1_000,
        answers: Vec::new(),
    }
}

/// A model that says what it is told to, and keeps what it was asked.
#[derive(Clone, Default)]
pub(super) struct ScriptedModel {
    pub(super) replies: Arc<Mutex<VecDeque<Result<Reply, Failure>>>>,
    pub(super) asked: Arc<Mutex<Vec<Vec<Message>>>>,
}

impl Provider for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        assert!(matches!(request.purpose, Purpose::Program | Purpose::Grade | Purpose::Verify));
        self.asked.lock().unwrap().push(request.messages.to_vec());
        let reply = self.replies.lock().unwrap().pop_front().expect("a reply is left");
        Box::pin(std::future::ready(reply.map_err(NoReply::Failed)))
    }
}

impl Providers for ScriptedModel {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(self.clone()))
    }
}

struct NoCommands;

impl Commands for NoCommands {
    fn run<'a>(
        &'a self,
        _call: &'a ScriptCall,
        _cancel: CancellationToken,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
        unreachable!("nobody runs commands")
    }
}

/// What an attempt writes down.
#[derive(Default)]
pub(super) struct Book {
    pub(super) records: Mutex<Vec<JsonText>>,
    pub(super) kept: Mutex<HashMap<Digest, JsonText>>,
    pub(super) usage: Mutex<Usage>,
}

impl TurnLog for Book {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        let kept = record.kept.into_iter().map(|text| (Digest::of(text.as_str().as_bytes()), text));
        self.kept.lock().unwrap().extend(kept);
        *self.usage.lock().unwrap() += record.usage;
        self.records.lock().unwrap().push(record.piece);
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, _allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let kept = self.kept.lock().unwrap().get(&digest).cloned();
        Box::pin(std::future::ready(kept))
    }
}

impl Sink for Book {
    fn report(&self, _report: Report) {}
}

impl Admission for Book {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Unlimited.admit(call)
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

/// One task with its model, its programs and its book.
pub(super) struct World {
    pub(super) call: ProgramCall,
    pub(super) model: ScriptedModel,
    pub(super) programs: Arc<Toy>,
    pub(super) book: Book,
    pub(super) toolbox: Arc<dyn Toolbox>,
}

impl World {
    pub(super) fn new(replies: &[&str]) -> World {
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        let said = |text: &&str| Ok(Reply::said(*text, Finish::Stop, usage, "m"));
        let model = ScriptedModel::default();
        model.replies.lock().unwrap().extend(replies.iter().map(said));
        let call = call_over(&[json!({"result": "the first one"}), json!({"result": "the second one"})]);
        World { call, model, programs: Arc::default(), book: Book::default(), toolbox: Arc::new(NoTools) }
    }

    pub(super) async fn attempt(&self, answers: Vec<ProgramAnswer>) -> AttemptEnd {
        let attempts = Attempts::new(
            Arc::new(self.model.clone()),
            Arc::new(NoCommands),
            self.toolbox.clone(),
            self.programs.clone(),
        );
        let call = ProgramCall { answers, ..self.call.clone() };
        let assignment = Assignment {
            trace: None,
            task: TaskId("synthesis".into()),
            key: "k".into(),
            attempt: 1,
            step: "synthesis".into(),
            work: Work::Program(Box::new(call)),
            seed: 1,
            past: vec![],
            continues: self.book.records.lock().unwrap().clone(),
            answer: None,
            retry: Retry::once(),
            failures: 0,
            cut_off: 0,
            known_results: Vec::new(),
            remembered: Vec::new(),
            guidance: Vec::new(),
            workspace: None,
            proof: None,
            contract: None,
        };
        let end = attempts.attempt(assignment, &self.book, CancellationToken::new()).await;
        if let AttemptEnd::Suspended { state, .. } = &end {
            self.book.records.lock().unwrap().push(state.clone());
        }
        end
    }

    /// Attempts until it ends, with this answer to every question.
    pub(super) async fn finish(&self, answer: &str) -> Result<Value, Failure> {
        let mut answers = Vec::new();
        loop {
            match self.attempt(std::mem::take(&mut answers)).await {
                AttemptEnd::Finished { output, .. } => return Ok(output.value()),
                AttemptEnd::Failed { failure, .. } => return Err(failure),
                AttemptEnd::Suspended { waits_for, .. } => {
                    answers = sub_queries(&waits_for).iter().map(|_| answered(Ok(answer))).collect();
                }
                other => unreachable!("no attempt ends so: {other:?}"),
            }
        }
    }

    pub(super) fn asked(&self) -> Vec<Vec<Message>> {
        self.model.asked.lock().unwrap().clone()
    }
}

pub(super) fn program(lines: &str) -> String {
    format!("So:\n```python\n{lines}\n```\n")
}

pub(super) fn answered(answer: Result<&str, &str>) -> ProgramAnswer {
    let usage = Usage { calls: 1, input_tokens: 100, ..Usage::default() };
    ProgramAnswer { answer: answer.map(JsonText::of).map_err(str::to_owned), usage }
}

pub(super) fn sub_queries(waits: &WaitsFor) -> Vec<SubQuery> {
    let WaitsFor::Children(Payload::Inline(sub_queries)) = waits else { panic!("{waits:?}") };
    serde_json::from_str(sub_queries.as_str()).unwrap()
}

pub(super) fn suspended(end: AttemptEnd) -> Vec<SubQuery> {
    match end {
        AttemptEnd::Suspended { waits_for, .. } => sub_queries(&waits_for),
        other => panic!("{other:?}"),
    }
}
