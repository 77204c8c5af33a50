use super::tool_call::{ListLine, ListOutcome};
use super::*;
use convoke_agent::redaction::{Scrubber, encodings_of};
use convoke_agent::{Asker, NoTools, Provider, Providers, Tool, ToolResult, ToolSpec, Toolbox};
use convoke_model::{
    Class, Event, Failure, JsonText, ProviderSettings, Server, Servers, Stamped, TaskId, Timestamp,
    Transport, Usage,
};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

const CANARY: &str = "canary/1234567890+abcdef";

/// Tools that answer as told, in order; `None` never answers.
struct FakeTools(Mutex<Vec<Option<Result<ToolResult, Failure>>>>);

impl Toolbox for FakeTools {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(Ok(vec![tool()])))
    }

    fn call<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        _tool: &'a Tool,
        _arguments: &'a JsonText,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let answer = self.0.lock().unwrap().remove(0);
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

fn tool() -> Tool {
    let spec = ToolSpec {
        name: "s__t".into(),
        description: "does it".into(),
        input_schema: json!({"type": "object"}),
    };
    Tool {
        server: "s".into(),
        name: "t".into(),
        spec,
        output_schema: None,
        repeatable: true,
        read_only: true,
        destructive: false,
    }
}

fn servers_in(folder: &str, argument: &str) -> Servers {
    let transport = Transport::Stdio {
        command: "server".into(),
        args: vec![argument.into()],
        env: vec![("KEY".into(), "${KEY}".into())],
        working_dir: Some(folder.into()),
    };
    Servers::from_iter([("s".to_owned(), Server { transport, timeout: None, tools: None })])
}

fn servers() -> Servers {
    servers_in("/home/one", "x")
}

fn given(text: &str) -> Result<ToolResult, Failure> {
    Ok(ToolResult {
        text: text.into(),
        structured: Some(JsonText::of(&json!({"said": text}))),
        ..ToolResult::default()
    })
}

fn scrubber() -> Scrubber {
    Scrubber::new([CANARY.to_owned()])
}

/// No providers: only tools are asked here.
struct Nobody;

impl Providers for Nobody {
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Err(Failure::new(Class::Fatal, format!("there is no provider {}", settings.name)))
    }
}

fn recorder(folder: &Path, answers: Vec<Option<Result<ToolResult, Failure>>>) -> RecordingTools {
    let tape = Tape::resume(folder).unwrap();
    Recording::new(Arc::new(Nobody), tape, scrubber()).tools(Arc::new(FakeTools(Mutex::new(answers))))
}

async fn ask(tools: &dyn Toolbox, arguments: Value) -> Result<ToolResult, Failure> {
    ask_as(tools, &task("tool"), arguments).await
}

async fn ask_as(tools: &dyn Toolbox, task: &TaskId, arguments: Value) -> Result<ToolResult, Failure> {
    let arguments = JsonText::of(&arguments);
    tools.call(by(task), &servers(), &tool(), &arguments, CancellationToken::new()).await
}

async fn list(tools: &dyn Toolbox, servers: &Servers) -> Result<Vec<Tool>, Failure> {
    tools.list(by(&task("tool")), servers).await
}

fn task(name: &str) -> TaskId {
    TaskId(name.into())
}

fn by(task: &TaskId) -> Asker<'_> {
    Asker { task, attempt: 1, key: "k", trace: None, folder: None, step: "s", contract: None }
}

fn replay(folder: &Path) -> (Replay, ReplayTools) {
    let replay = Replay::load(folder, scrubber()).unwrap();
    let tools = replay.tools();
    (replay, tools)
}

fn started(task: &str) -> Stamped {
    let event = Event::AttemptStarted { task: TaskId(task.into()), attempt: 1, lease: None };
    Stamped { seq: 1, at: Timestamp(0), event }
}

#[tokio::test]
async fn what_was_recorded_is_played_back_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let broken = Failure::new(Class::Transient, "it went away").reason("server_died");
    let answers = vec![Some(given("one")), Some(Err(broken.clone())), Some(given("two"))];
    let tools = recorder(dir.path(), answers);
    assert_eq!(list(&tools, &servers()).await.unwrap(), [tool()]);
    for _ in 0..3 {
        let _ = ask(&tools, json!({"n": 1})).await;
    }
    let (_, played) = replay(dir.path());
    assert_eq!(list(&played, &servers()).await.unwrap(), [tool()]);
    // Where the workflow lies and in which order arguments are written makes no difference.
    assert_eq!(list(&played, &servers_in("/home/two", "x")).await.unwrap(), [tool()]);
    assert_eq!(ask(&played, json!({"n": 1})).await, given("one"));
    assert_eq!(ask(&played, json!({"n": 1})).await, Err(broken));
    assert_eq!(ask(&played, json!({"n": 1})).await, given("two"));
    assert_eq!(list(&played, &Servers::default()).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_in_a_list_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![]);
    for _ in 0..3 {
        list(&tools, &servers()).await.unwrap();
    }
    let lists = file::load(dir.path()).unwrap().lists;
    let same = lists.iter().filter(|line| line.outcome == ListOutcome::Same);
    assert_eq!((lists.len(), same.count()), (3, 2));
    assert_eq!(list(&replay(dir.path()).1, &servers()).await.unwrap(), [tool()]);
}

fn unavailable() -> Failure {
    Failure::new(Class::Fatal, "cannot start").reason("server_unavailable")
}

fn listed(of: Option<&str>, outcome: ListOutcome) -> ListLine {
    ListLine { task: of.map(task), servers: tool_call::declared(&servers(), &scrubber()), outcome }
}

#[test]
fn a_task_gets_its_own_lists_one_after_the_other() {
    let first = ListOutcome::Tools(vec![tool().into()]);
    let second = ListOutcome::Tools(vec![tool().into(), tool().into()]);
    let failed = ListOutcome::Failure(unavailable());
    let shelf = shelf::Shelf::new(vec![
        listed(Some("a"), first.clone()),
        listed(Some("b"), failed.clone()),
        listed(Some("b"), ListOutcome::Same),
        listed(Some("a"), second.clone()),
        listed(Some("b"), ListOutcome::Same),
    ]);
    let asked = tool_call::declared(&servers(), &scrubber());
    let given = |name: &str, times: usize| -> Vec<ListOutcome> {
        (0..times).map(|_| shelf.list(&asked, &task(name)).unwrap().clone()).collect()
    };
    assert_eq!(given("b", 4), [failed, first.clone(), second.clone(), second.clone()]);
    assert_eq!(given("a", 3), [first.clone(), second.clone(), second]);
    assert_eq!(given("new", 2), [first.clone(), first]);
}

#[test]
fn lists_of_nobody_are_failures_once_each_then_the_list() {
    let tools = ListOutcome::Tools(vec![tool().into()]);
    let failed = ListOutcome::Failure(unavailable());
    let shelf = shelf::Shelf::new(vec![listed(None, failed.clone()), listed(None, tools.clone())]);
    let asked = tool_call::declared(&servers(), &scrubber());
    let given = ["a", "a", "b"].map(|name| shelf.list(&asked, &task(name)).unwrap().clone());
    assert_eq!(given, [failed, tools.clone(), tools]);
}

#[tokio::test]
async fn no_form_of_a_secret_reaches_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let all = encodings_of(CANARY).join(" and ");
    let tools =
        recorder(dir.path(), vec![Some(given(&all)), Some(Err(Failure::new(Class::Fatal, all.clone())))]);
    let _ = ask(&tools, json!({"key": all})).await;
    let _ = ask(&tools, json!({"key": all})).await;
    let written = std::fs::read_to_string(dir.path().join(CASSETTE_FILE)).unwrap();
    assert!(written.lines().count() == 3 && written.contains("[secret]"));
    for form in encodings_of(CANARY) {
        assert!(!written.contains(&form), "{form}");
    }
    let (_, played) = replay(dir.path());
    assert!(ask(&played, json!({"key": all})).await.unwrap().text.contains("[secret]"));
}

#[tokio::test]
async fn what_is_not_on_the_cassette_shows_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![Some(given("one"))]);
    list(&tools, &servers()).await.unwrap();
    ask(&tools, json!({"path": "a.txt"})).await.unwrap();
    let (_, played) = replay(dir.path());
    let failure = ask(&played, json!({"path": "b.txt"})).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("not_on_cassette")));
    let expected = "the nearest is call 1 of a tool, of `t`, which differs at arguments.path: \
                    recorded \"a.txt\", asked \"b.txt\"";
    assert!(
        failure.message.contains("this call of `s__t`") && failure.message.ends_with(expected),
        "{failure}"
    );
    ask(&played, json!({"path": "a.txt"})).await.unwrap();
    let again = ask(&played, json!({"path": "a.txt"})).await.unwrap_err();
    assert!(again.message.ends_with("it was recorded once and is asked for again"), "{again}");
    let other = list(&played, &servers_in("/home/one", "y")).await.unwrap_err();
    assert!(other.message.contains("the tools of s are not on the cassette"), "{other}");
    assert!(other.message.ends_with("args[0]: recorded \"x\", asked \"y\""), "{other}");
}

#[tokio::test]
async fn what_was_cut_off_waits_until_it_is_cut_off_again() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![None, Some(Err(Failure::new(Class::Cancelled, "stopped")))]);
    assert!(ask(&tools, json!({"n": 1})).now_or_never().is_none());
    ask(&tools, json!({"n": 1})).await.unwrap_err();
    let (replay, played) = replay(dir.path());
    replay.observe(&[started("tool"), started("busy")]);
    let cancel = CancellationToken::new();
    let (servers, tool, arguments) = (servers(), tool(), JsonText::of(&json!({"n": 1})));
    let asker = task("tool");
    let mut waiting = played.call(by(&asker), &servers, &tool, &arguments, cancel.clone());
    assert!(waiting.as_mut().now_or_never().is_none());
    cancel.cancel();
    assert_eq!(waiting.await.unwrap_err().class, Class::Cancelled);
    // When every attempt waits and none is cancelled, it is given up.
    let mut first = played.call(by(&asker), &servers, &tool, &arguments, CancellationToken::new());
    assert!(first.as_mut().now_or_never().is_none());
    let event = Event::AttemptLost { task: TaskId("busy".into()), attempt: 1, usage: Usage::default() };
    replay.observe(&[Stamped { seq: 2, at: Timestamp(0), event }]);
    assert_eq!(first.await.unwrap_err().reason.as_deref(), Some("cut_off"));
}

#[tokio::test]
async fn one_that_was_answered_later_goes_before_one_that_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![None, Some(given("one"))]);
    assert!(ask(&tools, json!({"n": 1})).now_or_never().is_none());
    ask(&tools, json!({"n": 1})).await.unwrap();
    let (_, played) = replay(dir.path());
    assert_eq!(ask(&played, json!({"n": 1})).await, given("one"));
}

#[tokio::test]
async fn calls_of_models_and_tools_share_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::new(Arc::new(Nobody), Tape::resume(dir.path()).unwrap(), scrubber());
    list(&recording.tools(Arc::new(NoTools)), &servers()).await.unwrap();
    let content = file::load(dir.path()).unwrap();
    assert_eq!((content.order.len(), content.lists.len()), (0, 1));
    assert_eq!(Tape::create(dir.path()).unwrap_err().reason.as_deref(), Some("cassette_exists"));
}

#[tokio::test]
async fn lines_of_an_old_cassette_are_anybodys() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![Some(given("one")), Some(given("two"))]);
    for _ in 0..2 {
        ask(&tools, json!({"n": 1})).await.unwrap();
    }
    let path = dir.path().join(CASSETTE_FILE);
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written.contains("\"task\":\"tool\","));
    std::fs::write(&path, written.replace("\"task\":\"tool\",", "")).unwrap();
    let (replay, played) = replay(dir.path());
    for (name, expected) in [("x", "one"), ("y", "two")] {
        assert_eq!(ask_as(&played, &task(name), json!({"n": 1})).await, given(expected));
        replay.observe(&[ended(name)]);
    }
}

/// Equal calls that an agent makes at once: the second is answered first, and each keeps its own.
#[tokio::test]
async fn equal_calls_at_once_get_the_results_they_got() {
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::new(Arc::new(Nobody), Tape::resume(dir.path()).unwrap(), scrubber());
    let (first, later) = tokio::sync::oneshot::channel();
    let tools = recording.tools(Arc::new(Waits(Mutex::new(vec![Some(later), None]))));
    let second = async {
        let given = ask(&tools, json!({})).await;
        first.send(()).unwrap();
        given
    };
    let (one, two) = tokio::join!(ask(&tools, json!({})), second);
    assert_eq!((&one, &two), (&given("late"), &given("soon")));
    let (replay, played) = replay(dir.path());
    replay.observe(&[started("tool")]);
    assert_eq!(tokio::join!(ask(&played, json!({})), ask(&played, json!({}))), (one, two));
}

/// Tools whose calls wait, or do not.
struct Waits(Mutex<Vec<Option<tokio::sync::oneshot::Receiver<()>>>>);

impl Toolbox for Waits {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(Ok(vec![tool()])))
    }

    fn call<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        _tool: &'a Tool,
        _arguments: &'a JsonText,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let wait = self.0.lock().unwrap().remove(0);
        Box::pin(async move {
            match wait {
                Some(signal) => signal.await.map_or(given("lost"), |()| given("late")),
                None => given("soon"),
            }
        })
    }
}

fn ended(name: &str) -> Stamped {
    Stamped {
        seq: 1,
        at: Timestamp(0),
        event: Event::AttemptLost { task: task(name), attempt: 1, usage: Usage::default() },
    }
}

/// The tasks that make a call, one after the other.
fn interleaving() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..3_usize, 1..12)
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What each task was told, in its order.
async fn record(folder: &Path, order: &[usize]) -> Vec<Vec<Result<ToolResult, Failure>>> {
    let answers = (0..order.len()).map(|number| Some(given(&number.to_string()))).collect();
    let tools = recorder(folder, answers);
    let mut told = vec![Vec::new(); NAMES.len()];
    for who in order {
        told[*who].push(ask_as(&tools, &task(NAMES[*who]), json!({"n": 1})).await);
    }
    told
}

/// Makes a task's calls, each after so many turns of the others.
async fn play(
    tools: &ReplayTools,
    replay: &Replay,
    who: usize,
    calls: usize,
    pauses: &[usize],
) -> Vec<Result<ToolResult, Failure>> {
    let mut told = Vec::new();
    for call in 0..calls {
        for _ in 0..pauses[(who + call) % pauses.len()] {
            tokio::task::yield_now().await;
        }
        told.push(ask_as(tools, &task(NAMES[who]), json!({"n": 1})).await);
    }
    replay.observe(&[ended(NAMES[who])]);
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Equal calls of several tasks, with other results: each task gets its own, whichever is faster today.
    #[test]
    fn tasks_get_their_own_results_in_any_interleaving(
        order in interleaving(),
        pauses in prop::collection::vec(0..4_usize, 1..9),
        polled in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let recorded = record(dir.path(), &order).await;
            let (replay, tools) = replay(dir.path());
            replay.observe(&NAMES.map(started));
            let plays = polled.iter().map(|who| play(&tools, &replay, *who, recorded[*who].len(), &pauses));
            for (who, told) in polled.iter().zip(join_all(plays).await) {
                prop_assert_eq!(&told, &recorded[*who], "task {}", NAMES[*who]);
            }
            Ok(())
        })?;
    }
}
