use super::*;
use crate::{
    Admission, Admitted, Alone, CallDemand, CallPermit, Finish, NoPrograms, NoReply, NoTools, Provider,
    Reply, Report, Request, ScriptResult, Silent, Sink, TurnLog, TurnRecord, Unlimited,
};
use convoke_model::{
    AgentSettings, Class, Contract, Digest, Fallback, JsonText, Price, ProviderSettings, Retry, TaskId,
};
use futures::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

mod tools;
mod windows;

/// A link made of two ends, which counts what is written down.
struct Wired<'a>(&'a dyn Admission, &'a dyn Sink, Mutex<Usage>);

impl<'a> Wired<'a> {
    fn new(admission: &'a dyn Admission, sink: &'a dyn Sink) -> Wired<'a> {
        Wired(admission, sink, Mutex::default())
    }

    /// What was used in all: on records, and after the last of them.
    fn total(&self, rest: Usage) -> Usage {
        let mut total = *self.2.lock().unwrap();
        total += rest;
        total
    }
}

impl Admission for Wired<'_> {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        self.0.admit(call)
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        self.0.settle(permit, usage, failure);
    }
}

impl Sink for Wired<'_> {
    fn report(&self, report: Report) {
        self.1.report(report);
    }
}

impl TurnLog for Wired<'_> {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        *self.2.lock().unwrap() += record.usage;
        Alone.record(record)
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Alone.settle_tools(allowed)
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Alone.recall(digest)
    }
}

/// A provider that says a list of things; an entry of `None` never answers.
#[derive(Default)]
struct ScriptedModel {
    replies: Mutex<VecDeque<Option<Result<Reply, Failure>>>>,
    dropped: AtomicU32,
    models: Mutex<Vec<String>>,
    /// The model of each request and the bytes of its messages.
    sizes: Mutex<Vec<(String, usize)>>,
}

struct CountDrop<'a>(&'a AtomicU32);

impl Drop for CountDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Provider for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let guard = CountDrop(&self.dropped);
            self.models.lock().unwrap().push(request.model.to_owned());
            let size = request.messages.iter().map(|message| message.text.len()).sum();
            self.sizes.lock().unwrap().push((request.model.to_owned(), size));
            let next = self.replies.lock().unwrap().pop_front().flatten();
            let Some(reply) = next else {
                sink.report(Report::Progress { text: "so far ".into() });
                std::future::pending::<()>().await;
                unreachable!("pending");
            };
            drop(guard);
            Ok(reply?)
        })
    }
}

struct One(Arc<ScriptedModel>);

impl Providers for One {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(self.0.clone())
    }
}

struct Echo;

impl Commands for Echo {
    fn run<'a>(
        &'a self,
        call: &'a ScriptCall,
        _cancel: CancellationToken,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
        let result = match call.command.as_str() {
            "none" => Err(Failure::new(Class::Fatal, "command `none` was not found")),
            "pwd" => Ok(ScriptResult {
                stdout: call.working_dir.clone().unwrap_or_default(),
                ..ScriptResult::default()
            }),
            other => Ok(ScriptResult { stdout: other.into(), ..ScriptResult::default() }),
        };
        Box::pin(std::future::ready(result))
    }
}

fn said(text: &str) -> Option<Result<Reply, Failure>> {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Some(Ok(Reply::said(text, Finish::Stop, usage, "m")))
}

fn attempts(
    replies: impl IntoIterator<Item = Option<Result<Reply, Failure>>>,
) -> (Attempts, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel {
        replies: Mutex::new(replies.into_iter().collect()),
        ..ScriptedModel::default()
    });
    (
        Attempts::new(Arc::new(One(model.clone())), Arc::new(Echo), Arc::new(NoTools), Arc::new(NoPrograms)),
        model,
    )
}

fn agent(session_timeout: Option<Duration>) -> Assignment {
    let price = Price { input_per_mtok: 1.0, output_per_mtok: 2.0, ..Price::default() };
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: Some(serde_json::from_value(json!({"n": {"type": "number"}})).unwrap()),
        raw: false,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        phase_timeouts: Default::default(),
        session_timeout,
        parse_recovery: 1,
        validator: None,
        tools: None,
        secrets: Vec::new(),
        show_tools: false,
        approvals: Default::default(),
        servers: Arc::default(),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Arc::new(IndexMap::from([("m".to_owned(), price)]).into()),
    };
    let call = AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: None,
        prompt: "go".into(),
        reasoning_effort: None,
        working_dir: None,
        kept: Vec::new(),
    };
    assignment(Work::Agent(Box::new(call)))
}

fn script(command: &str) -> Assignment {
    let command = command.to_owned();
    let call = ScriptCall {
        command,
        args: vec![],
        env: vec![],
        working_dir: None,
        stdin: None,
        schema: None,
        key: None,
        survival: None,
        idle: None,
    };
    assignment(Work::Script(Box::new(call)))
}

fn assignment(work: Work) -> Assignment {
    Assignment {
        trace: None,
        task: TaskId("a".into()),
        key: "k".into(),
        attempt: 1,
        step: "a".into(),
        work,
        seed: 7,
        continues: vec![],
        past: vec![],
        answer: None,
        retry: Retry::agent_default(),
        failures: 0,
        cut_off: 0,
        known_results: Vec::new(),
        remembered: Vec::new(),
        guidance: Vec::new(),
        workspace: None,
        proof: None,
        contract: None,
    }
}

async fn run(attempts: &Attempts, assignment: Assignment) -> AttemptEnd {
    attempts.attempt(assignment, &Alone, CancellationToken::new()).await
}

#[tokio::test]
async fn usage_of_all_calls_is_added_up() {
    let (attempts, _) = attempts([said("prose"), said("{\"n\": 1}")]);
    let link = Wired::new(&Unlimited, &Silent);
    let end = attempts.attempt(agent(None), &link, CancellationToken::new()).await;
    let AttemptEnd::Finished { output, usage } = end else { panic!("failed") };
    assert_eq!((output.as_str(), usage.calls), ("{\"n\": 1}", 1));
    let wanted = Usage { calls: 2, input_tokens: 20, output_tokens: 10, cost_micros: 40, ..Usage::default() };
    assert_eq!(link.total(usage), wanted);
}

#[tokio::test]
async fn a_failure_keeps_the_raw_answers() {
    let (attempts, _) = attempts([said("prose"), said("more prose")]);
    let link = Wired::new(&Unlimited, &Silent);
    let end = attempts.attempt(agent(None), &link, CancellationToken::new()).await;
    let AttemptEnd::Failed { failure, partial, usage } = end else { panic!("no failure") };
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::InvalidOutput, Some("malformed")));
    assert_eq!(partial.unwrap().value(), json!({"answers": ["prose", "more prose"]}));
    assert_eq!(link.total(usage).calls, 2);
}

#[tokio::test]
async fn cancelling_drops_the_request_and_keeps_what_came() {
    let (attempts, model) = attempts([None]);
    let cancel = CancellationToken::new();
    let running = attempts.attempt(agent(None), &Alone, cancel.clone());
    let cancelling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(running, cancelling);
    let AttemptEnd::Failed { failure, partial, usage } = end else { panic!("no failure") };
    assert_eq!(failure.class, Class::Cancelled);
    assert_eq!(partial.unwrap().value(), json!({"text": "so far "}));
    assert!(usage.estimated && usage.calls == 1 && usage.output_tokens == 2, "{usage:?}");
    assert_eq!(model.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_session_ends_in_time() {
    let (attempts, _) = attempts([None]);
    let end = run(&attempts, agent(Some(Duration::from_secs(30)))).await;
    let AttemptEnd::Failed { failure, .. } = end else { panic!("no failure") };
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("session_timeout")));
}

fn with_models(mut assignment: Assignment, attempt: u32) -> Assignment {
    let Work::Agent(call) = &mut assignment.work else { panic!("an agent") };
    let fallback = Fallback { models: vec!["n".into(), "o".into()], attempts: 3 };
    Arc::make_mut(&mut call.settings).fallback = Some(fallback);
    assignment.attempt = attempt;
    assignment
}

fn failing(class: Class) -> Option<Result<Reply, Failure>> {
    Some(Err(Failure::new(class, "no")))
}

/// The models that were asked, and what was noted.
async fn asked_with_fallback(
    replies: impl IntoIterator<Item = Option<Result<Reply, Failure>>>,
    attempt: u32,
) -> (Vec<String>, Vec<String>, AttemptEnd) {
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);
    impl Sink for Notes {
        fn report(&self, report: Report) {
            if let Report::Noted { code: "model_fallback", message } = report {
                self.0.lock().unwrap().push(message);
            }
        }
    }
    let (attempts, model) = attempts(replies);
    let (assignment, notes) = (with_models(agent(None), attempt), Notes::default());
    let end = attempts.attempt(assignment, &Wired::new(&Unlimited, &notes), CancellationToken::new()).await;
    (model.models.lock().unwrap().clone(), notes.0.into_inner().unwrap(), end)
}

#[tokio::test]
async fn the_next_model_answers_for_one_that_cannot() {
    let refusal = Some(Ok(Reply::said("I will not.", Finish::Refusal, Usage::default(), "n")));
    let (models, notes, end) =
        asked_with_fallback([failing(Class::RateLimit), refusal, said("prose"), said("{\"n\": 1}")], 1).await;
    assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
    assert_eq!(models, ["m", "n", "o", "o"]);
    let wanted = [
        "step `a`: model `m` gave no answer (rate_limit: no); asking `n`",
        "step `a`: model `n` gave no answer (refused); asking `o`",
    ];
    assert_eq!(notes, wanted);
}

#[tokio::test]
async fn only_models_of_the_contract_are_asked_where_there_is_one() {
    for (others, wanted) in [(&[][..], &["m"][..]), (&["p"], &["m", "p"])] {
        let (attempts, model) = attempts([failing(Class::RateLimit), said("{\"n\": 1}")]);
        let other_models = others.iter().map(|model| model.to_string()).collect();
        let contract = Contract { model: "m".into(), other_models, ..Contract::default() };
        let assignment = Assignment { contract: Some(Box::new(contract)), ..with_models(agent(None), 1) };
        run(&attempts, assignment).await;
        assert_eq!(*model.models.lock().unwrap(), wanted);
    }
}

#[tokio::test]
async fn a_fault_that_may_pass_is_first_left_to_further_attempts() {
    let (models, _, end) = asked_with_fallback([failing(Class::Transient)], 2).await;
    assert!(models == ["m"] && matches!(end, AttemptEnd::Failed { .. }));
    let (models, _, end) = asked_with_fallback([failing(Class::Transient), said("{\"n\": 1}")], 3).await;
    assert!(models == ["m", "n"] && matches!(end, AttemptEnd::Finished { .. }), "{models:?}");
}

#[tokio::test]
async fn what_another_model_cannot_mend_is_a_failure_at_once() {
    for class in [Class::Permission, Class::Fatal, Class::Budget] {
        assert_eq!(asked_with_fallback([failing(class)], 3).await.0, ["m"]);
    }
    let all = [failing(Class::Timeout), failing(Class::Capacity), failing(Class::RateLimit)];
    let (models, notes, end) = asked_with_fallback(all, 1).await;
    let AttemptEnd::Failed { failure, usage, .. } = end else { panic!("no failure") };
    assert_eq!((models.len(), notes.len(), failure.class, usage.calls), (3, 2, Class::RateLimit, 3));
}

/// Admits a number of calls and counts what is held.
struct Few {
    left: AtomicU32,
    settled: AtomicU32,
    held: Arc<AtomicU32>,
}

struct Held(Arc<AtomicU32>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Admission for Few {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        assert_eq!((call.provider.as_str(), call.model.as_str(), call.attempt), ("scripted", "m", 1));
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        self.held.fetch_add(1, Ordering::SeqCst);
        let held = Held(self.held.clone());
        Box::pin(std::future::ready(match left {
            Ok(_) => Ok(Admitted::Go(CallPermit::holding(held))),
            Err(_) => Err(Failure::new(Class::Budget, "the budget is spent")),
        }))
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        assert!(permit.into_guard::<Held>().is_some() && usage.calls == 1 && failure.is_none());
        self.settled.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn every_call_is_admitted_and_settled() {
    let few = Few { left: 1.into(), settled: 0.into(), held: Arc::default() };
    let (attempts, _) = attempts([said("prose"), said("{\"n\": 1}")]);
    let link = Wired::new(&few, &Silent);
    let end = attempts.attempt(agent(None), &link, CancellationToken::new()).await;
    let AttemptEnd::Failed { failure, usage, .. } = end else { panic!("no failure") };
    assert_eq!((failure.class, link.total(usage).calls), (Class::Budget, 1));
    assert_eq!((few.settled.load(Ordering::SeqCst), few.held.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn commands_become_outputs_and_failures_name_the_step() {
    let (attempts, _) = attempts([]);
    let AttemptEnd::Finished { output, .. } = run(&attempts, script("hi")).await else { panic!("failed") };
    assert_eq!(output.value(), json!({"stdout": "hi", "stderr": "", "exit_code": 0}));
    let AttemptEnd::Failed { failure, .. } = run(&attempts, script("none")).await else { panic!("finished") };
    assert_eq!(failure.message, "step `a`: command `none` was not found");
}

#[test]
fn an_attempt_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (attempts, _) = attempts([]);
    is_send(&attempts.attempt(agent(None), &Alone, CancellationToken::new()));
}

#[tokio::test]
async fn a_command_runs_in_the_folder_of_its_contract() {
    let (attempts, _) = attempts([]);
    let place = |stated: Option<&str>, agreed: Option<&str>| {
        let mut assignment = script("pwd");
        let Work::Script(call) = &mut assignment.work else { panic!("a script") };
        call.working_dir = stated.map(str::to_owned);
        let contract = |folder: &str| Contract { working_dir: Some(folder.into()), ..Contract::default() };
        assignment.contract = agreed.map(|folder| Box::new(contract(folder)));
        assignment
    };
    for (stated, agreed, runs_in) in [
        (Some("in"), Some("/elsewhere/in"), "/elsewhere/in"),
        (None, Some("/work"), "/work"),
        (Some("in"), None, "in"),
        (None, None, ""),
    ] {
        let end = run(&attempts, place(stated, agreed)).await;
        let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
        assert_eq!(output.value()["stdout"], runs_in);
    }
}

/// A budget that can only pay the cheap model.
struct Poor;

impl Admission for Poor {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        match call.model.as_str() {
            "cheap" => Unlimited.admit(call),
            _ => Box::pin(std::future::ready(Ok(Admitted::Instead("cheap".into())))),
        }
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

#[tokio::test]
async fn a_budget_goes_on_with_a_cheaper_model_only_if_the_contract_names_it() {
    let contract = |cheaper: &[&str]| Contract {
        model: "m".into(),
        cheaper_models: cheaper.iter().map(|model| model.to_string()).collect(),
        ..Contract::default()
    };
    for (cheaper, asked) in [(&[][..], 0), (&["cheap"], 1)] {
        let (attempts, model) = attempts([said("{\"n\": 1}")]);
        let assignment = Assignment { contract: Some(Box::new(contract(cheaper))), ..agent(None) };
        let link = Wired::new(&Poor, &Silent);
        let end = attempts.attempt(assignment, &link, CancellationToken::new()).await;
        assert_eq!(model.models.lock().unwrap().len(), asked, "{cheaper:?}");
        match end {
            AttemptEnd::Finished { .. } => assert_eq!(*model.models.lock().unwrap(), ["cheap"]),
            AttemptEnd::Failed { failure, .. } => {
                assert_eq!(
                    (failure.class, failure.reason.as_deref()),
                    (Class::Budget, Some("model_not_allowed"))
                );
                assert!(cheaper.is_empty(), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
