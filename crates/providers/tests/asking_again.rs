//! A service that refuses an optional parameter is asked again without it: by the driver, each request under a permit of its own.
#![allow(missing_docs)]

mod common;
mod voices;

use common::*;
use convoke_agent::redaction::Scrubber;
use convoke_agent::{
    Admission, Admitted, Alone, Attempts, CallDemand, CallPermit, Commands, NoPrograms, NoTools, Providers,
    Report, ScriptResult, Sink, TurnLog, TurnRecord,
};
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Digest, Failure, JsonText, ProviderSettings, Retry,
    ScriptCall, TaskId, Usage, Work,
};
use convoke_providers::{Options, Recording, Registry, Replay, Tape};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use voices::{Chat, End, Gemini, Messages, Responses, Voice};

/// An engine that grants everything and counts.
#[derive(Default)]
struct Counting {
    admitted: Mutex<Vec<CallDemand>>,
    /// What each permit was settled with.
    settled: Mutex<Vec<Usage>>,
    reports: Mutex<Vec<Report>>,
}

impl Counting {
    fn permits(&self) -> (usize, usize) {
        (self.admitted.lock().unwrap().len(), self.settled.lock().unwrap().len())
    }

    fn left_out(&self) -> Vec<String> {
        let noted = |report: &Report| match report {
            Report::Noted { code: "parameter_left_out", message } => Some(message.clone()),
            _ => None,
        };
        self.reports.lock().unwrap().iter().filter_map(noted).collect()
    }
}

impl Admission for Counting {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        self.admitted.lock().unwrap().push(call);
        Box::pin(std::future::ready(Ok(Admitted::Go(CallPermit::free()))))
    }

    fn settle(&self, _permit: CallPermit, usage: &Usage, _failure: Option<&Failure>) {
        self.settled.lock().unwrap().push(*usage);
    }
}

impl Sink for Counting {
    fn report(&self, report: Report) {
        self.reports.lock().unwrap().push(report);
    }
}

impl TurnLog for Counting {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        Alone.record(record)
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Alone.settle_tools(allowed)
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Alone.recall(digest)
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

fn registry() -> Arc<dyn Providers> {
    let lookup = Arc::new(|name: &str| (name == "MOCK_KEY").then(|| KEY.to_owned()));
    Arc::new(Registry::new(Options::default(), lookup))
}

fn attempts(providers: Arc<dyn Providers>) -> Attempts {
    Attempts::new(providers, Arc::new(NoCommands), Arc::new(NoTools), Arc::new(NoPrograms))
}

/// An agent that is to answer with a number.
fn assignment(provider: &str, url: &str) -> Assignment {
    let provider = ProviderSettings {
        name: provider.into(),
        base_url: Some(url.into()),
        api_key: Some("${MOCK_KEY}".into()),
        ..ProviderSettings::default()
    };
    let settings = AgentSettings {
        provider,
        schema: serde_json::from_value(json!({"n": {"type": "number"}})).unwrap(),
        raw: false,
        temperature: Some(0.5),
        max_tokens: Some(50),
        request_timeout: Duration::from_secs(30),
        phase_timeouts: Default::default(),
        session_timeout: None,
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
        pricing: Arc::default(),
    };
    let call = AgentCall {
        settings: Arc::new(settings),
        model: "m-1".into(),
        system: None,
        prompt: "How many?".into(),
        reasoning_effort: Some("low".into()),
        working_dir: None,
        kept: Vec::new(),
    };
    Assignment {
        trace: None,
        task: TaskId("counter".into()),
        key: "k".into(),
        attempt: 1,
        step: "counter".into(),
        work: Work::Agent(Box::new(call)),
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

fn said<V: Voice>(number: u64) -> Vec<Act> {
    let events = V::structured(&format!("{{\"n\": {number}}}"));
    let all = V::opening() + &events.concat() + &V::closing(End::Stop, &events);
    vec![stream_head(), chunk(&all), end()]
}

fn no(words: &str) -> Vec<Act> {
    plain("400 Bad Request", "", &json!({"error": {"message": words, "type": "invalid_request_error"}}))
}

async fn attempt(attempts: &Attempts, assignment: Assignment, engine: &Counting) -> (Value, Usage) {
    match attempts.attempt(assignment, engine, CancellationToken::new()).await {
        AttemptEnd::Finished { output, usage } => (output.value(), usage),
        other => panic!("{other:?}"),
    }
}

/// Refuses some parameters one by one, then answers; then answers another attempt at once.
async fn every_request_has_a_permit<V: Voice>(refused: &[&str]) -> Vec<Value> {
    let refusals = refused.iter().map(|words| no(words));
    let server = Server::start(refusals.chain([said::<V>(1), said::<V>(2)]).collect()).await;
    let (engine, attempts) = (Counting::default(), attempts(registry()));
    let (output, usage) = attempt(&attempts, assignment(V::NAME, &server.url), &engine).await;
    let sent = refused.len() + 1;
    assert_eq!(output, json!({"n": 1}));
    assert_eq!((server.bodies().len(), engine.permits()), (sent, (sent, sent)), "{}", V::NAME);
    assert_eq!((usage.calls, engine.left_out().len()), (sent as u64, refused.len()), "{}", V::NAME);
    let mut used = Usage::default();
    engine.settled.lock().unwrap().iter().for_each(|usage| used += *usage);
    assert_eq!(used, usage, "what is settled is what is used");
    // What is refused once is not sent again, and takes no further permit.
    let (output, usage) = attempt(&attempts, assignment(V::NAME, &server.url), &engine).await;
    assert_eq!((output, usage.calls), (json!({"n": 2}), 1));
    assert_eq!((server.bodies().len(), engine.permits()), (sent + 1, (sent + 1, sent + 1)), "{}", V::NAME);
    server.bodies()
}

#[tokio::test]
async fn an_imitation_is_asked_for_the_shape_until_it_refuses() {
    let refused = ["This response_format type is unavailable now", "Unknown parameter: stream_options"];
    let bodies = every_request_has_a_permit::<Chat>(&refused).await;
    let has = |body: &Value| (body.get("response_format").is_some(), body.get("stream_options").is_some());
    let sent: Vec<_> = bodies.iter().map(has).collect();
    assert_eq!(sent, [(true, true), (false, true), (false, false), (false, false)]);
}

#[tokio::test]
async fn the_limit_of_tokens_has_two_names() {
    let refused = ["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."];
    let bodies = every_request_has_a_permit::<Chat>(&refused).await;
    let sent: Vec<_> =
        bodies.iter().map(|body| (&body["max_tokens"], &body["max_completion_tokens"])).collect();
    let (none, fifty) = (Value::Null, json!(50));
    assert_eq!(sent, [(&fifty, &none), (&none, &fifty), (&none, &fifty)]);
}

#[tokio::test]
async fn a_model_that_takes_no_budget_for_thinking_thinks_as_it_likes() {
    let bodies = every_request_has_a_permit::<Messages>(&["thinking.type: no budget"]).await;
    let kinds: Vec<_> = bodies.iter().map(|body| body["thinking"]["type"].clone()).collect();
    assert_eq!(kinds, ["enabled", "adaptive", "adaptive"]);
    assert_eq!(bodies[2]["output_config"], json!({"effort": "low"}));
}

#[tokio::test]
async fn responses_are_asked_for_without_what_is_refused() {
    let bodies =
        every_request_has_a_permit::<Responses>(&["Unsupported: temperature", "no text.format"]).await;
    let has = |body: &Value| (body.get("temperature").is_some(), body.get("text").is_some());
    let sent: Vec<_> = bodies.iter().map(has).collect();
    assert_eq!(sent, [(true, true), (false, true), (false, false), (false, false)]);
}

#[tokio::test]
async fn gemini_is_asked_without_what_it_refuses() {
    let bodies = every_request_has_a_permit::<Gemini>(&["Invalid value at response_schema"]).await;
    let has = |body: &Value| body["generationConfig"].get("responseSchema").is_some();
    assert_eq!(bodies.iter().map(has).collect::<Vec<_>>(), [true, false, false]);
}

#[tokio::test]
async fn a_service_that_is_never_content_is_not_asked_for_ever() {
    let answers = ["max_tokens", "max_completion_tokens"].repeat(3);
    let server = Server::start(answers.into_iter().map(no).collect()).await;
    let (engine, attempts) = (Counting::default(), attempts(registry()));
    let end = attempts.attempt(assignment("openai", &server.url), &engine, CancellationToken::new()).await;
    let AttemptEnd::Failed { failure, usage, .. } = end else { panic!("{end:?}") };
    assert_eq!((failure.reason.as_deref(), usage.calls), (Some("bad_request"), 2));
    assert_eq!((server.bodies().len(), engine.permits()), (2, (2, 2)));
}

#[tokio::test]
async fn a_fault_that_names_no_parameter_is_not_asked_about_again() {
    let server = Server::start(vec![no("that is nonsense")]).await;
    let (engine, attempts) = (Counting::default(), attempts(registry()));
    let end = attempts.attempt(assignment("openai", &server.url), &engine, CancellationToken::new()).await;
    assert!(matches!(end, AttemptEnd::Failed { .. }), "{end:?}");
    assert_eq!((server.bodies().len(), engine.permits(), engine.left_out().len()), (1, (1, 1), 0));
}

/// What a service refused is no part of a cassette: a replay gives the answer to the first request.
#[tokio::test]
async fn a_cassette_has_the_answer_and_not_the_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![no("no temperature"), said::<Chat>(1)]).await;
    let asked = assignment("openai", &server.url);
    let recording = Recording::new(registry(), Tape::resume(folder.path()).unwrap(), Scrubber::new([]));
    let (engine, recorder) = (Counting::default(), attempts(Arc::new(recording)));
    let (recorded, _) = attempt(&recorder, asked.clone(), &engine).await;
    assert_eq!((server.bodies().len(), engine.permits()), (2, (2, 2)));
    let replay = Replay::load(folder.path(), Scrubber::new([])).unwrap();
    let (engine, player) = (Counting::default(), attempts(Arc::new(replay)));
    let (replayed, usage) = attempt(&player, asked, &engine).await;
    assert_eq!((replayed, usage.calls, engine.permits()), (recorded, 1, (1, 1)));
}
