//! Agents with tools, from the entry point that the engine calls.

use super::*;
use crate::{Answered, Asker, Asks, Message, NoPrograms, Review, Tool, ToolCall, ToolResult, ToolSpec};
use convoke_model::{Answer, Ask, Server, Servers, Transport, WaitsFor};
use std::sync::atomic::AtomicBool;

mod approvals;
mod contracts;
mod effects;
mod reviewed;

/// A provider that plays a list of replies and keeps what it was asked.
#[derive(Default)]
struct Model {
    replies: Mutex<VecDeque<Result<Reply, Failure>>>,
    asked: Mutex<Vec<Asked>>,
}

/// The messages, the names of the tools, and what a person answered.
type Asked = (Vec<Message>, Vec<String>, Option<Answered>);

impl Provider for Model {
    fn name(&self) -> &str {
        "model"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        self.asked.lock().unwrap().push((request.messages.to_vec(), tools, request.answered.cloned()));
        let reply = self.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| Err(Failure::new(Class::Fatal, "no more replies")));
        Box::pin(std::future::ready(reply.map_err(NoReply::Failed)))
    }
}

impl Providers for Arc<Model> {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::clone(self) as Arc<dyn Provider>)
    }
}

/// Tools that count how they are used: `look`, `act` (which must not be repeated), `lost`, `slow` and `long`.
#[derive(Default)]
struct Bench {
    lists: AtomicU32,
    /// What further tools there are.
    more: Vec<&'static str>,
    /// Its servers do not start.
    hangs: bool,
    /// What is thought of every call.
    review: Review,
    /// What the tools are for.
    description: &'static str,
    called: Mutex<Vec<String>>,
    at_once: AtomicU32,
    most_at_once: AtomicU32,
    told_to_stop: AtomicBool,
}

impl Toolbox for Bench {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        if self.hangs {
            return Box::pin(std::future::pending());
        }
        let tool = |name: &str| {
            let spec = ToolSpec {
                name: format!("s__{name}"),
                description: self.description.into(),
                input_schema: json!({}),
            };
            Tool {
                server: "s".into(),
                name: name.into(),
                spec,
                output_schema: None,
                repeatable: name != "act",
                read_only: name != "act",
                destructive: name == "tidy",
            }
        };
        let names = ["look", "act", "lost", "slow", "long"].iter().chain(&self.more);
        Box::pin(std::future::ready(Ok(names.map(|name| tool(name)).collect())))
    }

    fn call<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(async move {
            self.called.lock().unwrap().push(tool.name.clone());
            let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            let text = match tool.name.as_str() {
                "lost" => return Err(Failure::new(Class::Transient, "server `s` is gone")),
                "slow" => {
                    cancel.cancelled().await;
                    self.told_to_stop.store(true, Ordering::SeqCst);
                    return Err(Failure::new(Class::Cancelled, "stopped"));
                }
                "long" => "0123456789".repeat(10_000),
                _ => format!("{} {}", tool.name, arguments.as_str()),
            };
            Ok(ToolResult { text, ..ToolResult::default() })
        })
    }

    fn review<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        _tool: &'a Tool,
        _arguments: &'a JsonText,
    ) -> BoxFuture<'a, Review> {
        Box::pin(std::future::ready(self.review.clone()))
    }
}

/// A link that keeps everything.
#[derive(Default)]
struct FakeEngine {
    records: Mutex<Vec<TurnRecord>>,
    reports: Mutex<Vec<Report>>,
    /// The model of each call that was admitted, and how it fared.
    calls: Mutex<Vec<(String, Option<Class>)>>,
    /// What was settled, each time.
    settled: Mutex<Vec<Vec<String>>>,
    is_full: bool,
}

impl FakeEngine {
    fn pieces(&self) -> Vec<JsonText> {
        self.records.lock().unwrap().iter().map(|record| record.piece.clone()).collect()
    }

    fn noted(&self, wanted: &str) -> Vec<String> {
        let reports = self.reports.lock().unwrap();
        let noted = reports.iter().filter_map(|report| match report {
            Report::Noted { code, message } if *code == wanted => Some(message.clone()),
            _ => None,
        });
        noted.collect()
    }
}

impl Admission for FakeEngine {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        let permit = CallPermit::holding(call.model);
        Box::pin(std::future::ready(Ok(Admitted::Go(permit))))
    }

    fn settle(&self, permit: CallPermit, _usage: &Usage, failure: Option<&Failure>) {
        let model = *permit.into_guard::<String>().expect("the permit that was given");
        self.calls.lock().unwrap().push((model, failure.map(|failure| failure.class)));
    }
}

impl Sink for FakeEngine {
    fn report(&self, report: Report) {
        self.reports.lock().unwrap().push(report);
    }
}

impl TurnLog for FakeEngine {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        if self.is_full {
            return Box::pin(std::future::ready(Err(Failure::new(Class::Fatal, "the disk is full"))));
        }
        self.records.lock().unwrap().push(record);
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        if self.is_full {
            return Box::pin(std::future::ready(Err(Failure::new(Class::Fatal, "the disk is full"))));
        }
        self.settled.lock().unwrap().push(allowed);
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let records = self.records.lock().unwrap();
        let mut kept = records.iter().flat_map(|record| &record.kept);
        let found = kept.find(|value| Digest::of(value.as_str().as_bytes()) == digest).cloned();
        Box::pin(std::future::ready(found))
    }
}

/// Everything that one test needs.
struct Scene {
    model: Arc<Model>,
    bench: Arc<Bench>,
    engine: FakeEngine,
    assignment: Assignment,
}

impl Scene {
    fn new(replies: impl IntoIterator<Item = Result<Reply, Failure>>) -> Scene {
        let model = Model { replies: Mutex::new(replies.into_iter().collect()), ..Model::default() };
        let mut scene = Scene {
            model: Arc::new(model),
            bench: Arc::default(),
            engine: FakeEngine::default(),
            assignment: agent(None),
        };
        let transport = Transport::Http { url: "http://localhost".into(), headers: vec![] };
        let server = Server { transport, timeout: None, tools: None };
        scene.settings(|settings| {
            settings.schema = None;
            settings.servers = Arc::new([("s".to_owned(), server)].into());
        });
        scene
    }

    fn settings(&mut self, change: impl FnOnce(&mut AgentSettings)) {
        let Work::Agent(call) = &mut self.assignment.work else { panic!("an agent") };
        change(Arc::make_mut(&mut call.settings));
    }

    async fn run(&self) -> AttemptEnd {
        self.run_until(CancellationToken::new()).await
    }

    async fn run_until(&self, cancel: CancellationToken) -> AttemptEnd {
        let attempts = Attempts::new(
            Arc::new(self.model.clone()),
            Arc::new(Echo),
            self.bench.clone(),
            Arc::new(NoPrograms),
        );
        attempts.attempt(self.assignment.clone(), &self.engine, cancel).await
    }

    /// The texts of the messages of a request, the opening left out.
    fn texts(&self, request: usize) -> Vec<String> {
        self.model.asked.lock().unwrap()[request].0[1..].iter().map(|message| message.text.clone()).collect()
    }

    fn called(&self) -> Vec<String> {
        self.bench.called.lock().unwrap().clone()
    }
}

fn wants(calls: &[(&str, &str)]) -> Result<Reply, Failure> {
    let calls = calls.iter().enumerate();
    let tool_calls =
        calls.map(|(at, (name, arguments))| ToolCall::new(format!("c{at}"), *name, arguments)).collect();
    Ok(Reply { tool_calls, ..answers("").unwrap() })
}

fn answers(text: &str) -> Result<Reply, Failure> {
    said(text).expect("it says something")
}

fn finished(end: AttemptEnd) -> String {
    match end {
        AttemptEnd::Finished { output, .. } => output.value()["result"].as_str().unwrap().to_owned(),
        other => panic!("not finished: {other:?}"),
    }
}

#[tokio::test]
async fn tools_are_called_and_their_results_come_back_in_order() {
    let calls = [("s__look", "{\"n\":1}"), ("nope", "{}"), ("s__lost", "{}"), ("s__act", "{}")];
    let scene = Scene::new([wants(&calls), answers("done")]);
    assert_eq!(finished(scene.run().await), "done");
    let texts = scene.texts(1);
    assert_eq!((texts[1].as_str(), texts[4].as_str()), ("look {\"n\":1}", "act {}"));
    assert_eq!(texts[2], "there is no tool `nope`; the tools are s__look, s__act, s__lost, s__slow, s__long");
    assert_eq!(texts[3], "the call failed: server `s` is gone");
    let reports = scene.engine.reports.lock().unwrap();
    let called = reports.iter().filter(|report| matches!(report, Report::ToolCalled { .. })).count();
    assert_eq!(called, 4);
}

#[tokio::test]
async fn an_agent_without_tools_asks_nobody_for_any() {
    let mut scene = Scene::new([answers("done")]);
    scene.settings(|settings| settings.tools = Some(vec![]));
    assert_eq!(finished(scene.run().await), "done");
    assert_eq!((scene.bench.lists.load(Ordering::SeqCst), scene.engine.pieces().len()), (0, 0));
}

#[tokio::test]
async fn what_is_not_allowed_is_not_seen() {
    let mut scene = Scene::new([wants(&[("s__act", "{}")]), answers("done")]);
    scene.settings(|settings| settings.tools = Some(vec!["s__l*".into(), "web".into()]));
    finished(scene.run().await);
    assert_eq!(scene.model.asked.lock().unwrap()[0].1, ["s__look", "s__lost", "s__long"]);
    assert_eq!(scene.called(), [""; 0]);
    assert_eq!(scene.engine.noted("tool_missing"), ["step `a`: no server has a tool `web`"]);
}

#[tokio::test]
async fn only_so_many_tools_run_at_once() {
    let mut scene = Scene::new([wants(&[("s__look", "{}"); 9]), answers("done")]);
    scene.settings(|settings| {
        settings.capabilities.parallel_tools = 4;
        settings.capabilities.stuck_loop = None;
    });
    finished(scene.run().await);
    assert_eq!(scene.bench.most_at_once.load(Ordering::SeqCst), 4);
    assert_eq!(scene.called().len(), 9);
}

#[tokio::test]
async fn a_turn_is_one_page_and_two_where_a_call_may_not_be_repeated() {
    let look = Scene::new([wants(&[("s__look", "{}")]), answers("done")]);
    finished(look.run().await);
    assert_eq!(look.engine.pieces().len(), 1);
    let act = Scene::new([wants(&[("s__look", "{}"), ("s__act", "{}")]), answers("done")]);
    let AttemptEnd::Finished { usage, .. } = act.run().await else { panic!("not finished") };
    let records = act.engine.records.lock().unwrap();
    let calls: Vec<u64> = records.iter().map(|record| record.usage.calls).chain([usage.calls]).collect();
    assert_eq!(calls, [1, 0, 1]);
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let mut scene = Scene::new([wants(&[("s__act", "{}")]), answers("done")]);
    scene.engine.is_full = true;
    let AttemptEnd::Failed { failure, usage, .. } = scene.run().await else { panic!("not failed") };
    assert_eq!((failure.message.as_str(), usage.calls, scene.called().len()), ("the disk is full", 1, 0));
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_repeated_only_where_it_may_be() {
    let first = Scene::new([wants(&[("s__look", "{}"), ("s__act", "{}")]), answers("done")]);
    finished(first.run().await);
    let mut again = Scene::new([answers("done")]);
    again.assignment.continues = first.engine.pieces()[..1].to_vec();
    finished(again.run().await);
    assert_eq!(again.called(), ["look"]);
    let texts = again.texts(0);
    assert!(texts[1] == "look {}" && texts[2].contains("unknown: the engine was stopped"), "{texts:?}");
    let mut later = Scene::new([answers("done")]);
    later.assignment.continues = first.engine.pieces();
    finished(later.run().await);
    assert_eq!((later.called().len(), later.texts(0)), (0, first.texts(1)));
}

#[tokio::test]
async fn eight_calls_of_unknown_outcome_are_no_stuck_loop() {
    let numbers: Vec<String> = (0..8).map(|n| format!("{{\"n\": {n}}}")).collect();
    let calls: Vec<(&str, &str)> = numbers.iter().map(|number| ("s__act", number.as_str())).collect();
    let first = Scene::new([wants(&calls), answers("done")]);
    finished(first.run().await);
    let mut again = Scene::new([answers("done")]);
    again.assignment.continues = first.engine.pieces()[..1].to_vec();
    assert_eq!(finished(again.run().await), "done");
    assert_eq!((again.called().len(), again.texts(0).len()), (0, 9));
    assert!(again.texts(0)[1..].iter().all(|text| text.contains("is unknown")), "{:?}", again.texts(0));
}

/// The first conversation cannot go on: its model failed for good. What it did is not done again unknowingly.
#[tokio::test]
async fn a_new_beginning_is_told_what_may_not_be_repeated() {
    let calls = wants(&[("s__act", "{\"n\":7}"), ("s__look", "{}")]);
    let first = Scene::new([calls, Err(Failure::new(Class::Fatal, "no"))]);
    assert!(matches!(first.run().await, AttemptEnd::Failed { .. }));
    let mut anew = Scene::new([wants(&[("s__look", "{}")]), answers("done")]);
    anew.assignment.past = first.engine.pieces();
    finished(anew.run().await);
    let opening =
        |scene: &Scene, request: usize| scene.model.asked.lock().unwrap()[request].0[0].text.clone();
    let told = opening(&anew, 0);
    assert!(told.contains("s__act {\"n\":7}: it gave: act"), "{told}");
    assert!(told.starts_with(&opening(&first, 0)) && !told.contains("s__look"), "{told}");
    let mut later = Scene::new([answers("done")]);
    (later.assignment.past, later.assignment.continues) = (first.engine.pieces(), anew.engine.pieces());
    finished(later.run().await);
    assert_eq!(opening(&later, 0), told, "the conversation that goes on is the same");
    let mut cut = Scene::new([answers("done")]);
    cut.assignment.past = first.engine.pieces()[..1].to_vec();
    finished(cut.run().await);
    assert!(opening(&cut, 0).contains("s__act {\"n\":7}: its outcome is unknown"), "{}", opening(&cut, 0));
}

#[tokio::test]
async fn a_passing_failure_leaves_the_conversation_to_the_next_attempt() {
    let transient = Err(Failure::new(Class::Transient, "gone"));
    let first = Scene::new([wants(&[("s__act", "{}")]), transient]);
    assert!(matches!(first.run().await, AttemptEnd::Failed { .. }));
    let mut second = Scene::new([answers("done")]);
    second.assignment.continues = first.engine.pieces();
    assert_eq!(finished(second.run().await), "done");
    assert_eq!((second.called().len(), second.texts(0)), (0, first.texts(1)));
}

#[tokio::test]
async fn what_was_cut_can_be_read_back() {
    let read = wants(&[("read_result", "{\"name\": \"r1\", \"from\": 50000, \"length\": 12}")]);
    let unknown = wants(&[("read_result", "{\"name\": \"r9\"}")]);
    let scene = Scene::new([wants(&[("s__long", "{}")]), read, unknown, answers("done")]);
    finished(scene.run().await);
    assert!(scene.texts(1)[1].contains("`r1`"));
    assert_eq!(scene.texts(2)[3], "r1, characters 50000 to 50012 of 100000:\n012345678901");
    assert_eq!(scene.texts(3)[5], "nothing is kept as `r9`");
    let asked = scene.model.asked.lock().unwrap();
    assert!(
        !asked[0].1.contains(&"read_result".to_owned()) && asked[1].1.contains(&"read_result".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn tools_are_told_to_stop() {
    let scene = Scene::new([wants(&[("s__slow", "{}")])]);
    let cancel = CancellationToken::new();
    let cancelling = async {
        while scene.called().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(scene.run_until(cancel.clone()), cancelling);
    assert!(matches!(end, AttemptEnd::Failed { failure, .. } if failure.class == Class::Cancelled));
    assert!(scene.bench.told_to_stop.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_among_tools_too() {
    let mut scene = Scene::new([wants(&[("s__slow", "{}")])]);
    scene.settings(|settings| settings.session_timeout = Some(Duration::from_secs(9)));
    let end = scene.run().await;
    assert!(
        matches!(end, AttemptEnd::Failed { failure, .. } if failure.reason.as_deref() == Some("session_timeout"))
    );
    assert!(scene.bench.told_to_stop.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_permission_request_suspends_and_goes_on_with_its_answer() {
    let ask = Ask::Unknown { prompt: "may I?".into() };
    let asks = Some(Box::new(Asks { ask: ask.clone(), state: JsonText::of("session 7") }));
    let first = Scene::new([Ok(Reply { asks, ..answers("").unwrap() })]);
    let AttemptEnd::Suspended { state, waits_for, usage } = first.run().await else {
        panic!("not suspended")
    };
    assert_eq!((waits_for, usage.calls), (WaitsFor::Gate(JsonText::of(&ask)), 1));
    let mut second = Scene::new([answers("done")]);
    second.assignment.continues = vec![state];
    second.assignment.answer = Some(Answer::Retry);
    assert_eq!(finished(second.run().await), "done");
    let answered = second.model.asked.lock().unwrap()[0].2.clone();
    assert_eq!(answered, Some(Answered { state: JsonText::of("session 7"), answer: Answer::Retry }));
}

#[tokio::test(start_paused = true)]
async fn servers_that_do_not_start_hold_up_neither_a_cancellation_nor_a_session() {
    let hanging = || Scene { bench: Arc::new(Bench { hangs: true, ..Bench::default() }), ..Scene::new([]) };
    let cancel = CancellationToken::new();
    let scene = hanging();
    let begun = tokio::time::Instant::now();
    let cancelling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(scene.run_until(cancel.clone()), cancelling);
    let AttemptEnd::Failed { failure, .. } = end else { panic!("no failure") };
    assert_eq!((failure.class, begun.elapsed()), (Class::Cancelled, Duration::ZERO));
    let mut scene = hanging();
    scene.settings(|settings| settings.session_timeout = Some(Duration::from_secs(30)));
    let AttemptEnd::Failed { failure, .. } = scene.run().await else { panic!("no failure") };
    assert_eq!((failure.class, begun.elapsed()), (Class::Timeout, Duration::from_secs(30)));
}
