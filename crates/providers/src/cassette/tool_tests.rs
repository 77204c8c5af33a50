use super::*;
use convoke_agent::{NoTools, Provider, Providers, Tool, ToolResult, ToolSpec, Toolbox};
use convoke_model::{
    Class, Event, Failure, JsonText, ProviderSettings, Server, Servers, Stamped, TaskId, Timestamp, Transport,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

const CANARY: &str = "canary/1234567890+abcdef";

/// Tools that answer as told, in order; `None` never answers.
struct Told(Mutex<Vec<Option<Result<ToolResult, Failure>>>>);

impl Toolbox for Told {
    fn list<'a>(&'a self, _servers: &'a Servers) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(Ok(vec![tool()])))
    }

    fn call<'a>(
        &'a self,
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
    Tool { server: "s".into(), name: "t".into(), spec, output_schema: None, repeatable: true }
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
        failed: false,
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
    let tape = Tape::go_on(folder).unwrap();
    Recording::new(Arc::new(Nobody), tape, scrubber()).tools(Arc::new(Told(Mutex::new(answers))))
}

async fn ask(tools: &dyn Toolbox, arguments: Value) -> Result<ToolResult, Failure> {
    tools.call(&servers(), &tool(), &JsonText::of(&arguments), CancellationToken::new()).await
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
    assert_eq!(tools.list(&servers()).await.unwrap(), [tool()]);
    for _ in 0..3 {
        let _ = ask(&tools, json!({"n": 1})).await;
    }
    let (_, played) = replay(dir.path());
    assert_eq!(played.list(&servers()).await.unwrap(), [tool()]);
    // Where the workflow lies and in which order arguments are written makes no difference.
    assert_eq!(played.list(&servers_in("/home/two", "x")).await.unwrap(), [tool()]);
    assert_eq!(ask(&played, json!({"n": 1})).await, given("one"));
    assert_eq!(ask(&played, json!({"n": 1})).await, Err(broken));
    assert_eq!(ask(&played, json!({"n": 1})).await, given("two"));
    assert_eq!(played.list(&Servers::default()).await.unwrap(), []);
}

#[tokio::test]
async fn a_list_is_written_once_and_failures_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![]);
    for _ in 0..3 {
        tools.list(&servers()).await.unwrap();
    }
    assert_eq!(file::load(dir.path()).unwrap().tools.len(), 1);
    let failure = Failure::new(Class::Fatal, "cannot start").reason("server_unavailable");
    let lines = [Err(failure.clone()), Ok(vec![tool()])].map(|outcome| {
        tool_call::ToolLine::ToolList(tool_call::ListLine::new(&servers(), &outcome, &scrubber()))
    });
    let shelf = shelf::Shelf::new(lines.into());
    let asked = tool_call::declared(&servers(), &scrubber());
    assert_eq!(shelf.list(&asked), Ok(&tool_call::ListOutcome::Failure(failure)));
    let listed = tool_call::ListOutcome::Tools(vec![tool().into()]);
    assert_eq!((shelf.list(&asked), shelf.list(&asked)), (Ok(&listed), Ok(&listed)));
}

#[tokio::test]
async fn no_form_of_a_secret_reaches_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let all = forms::of(CANARY).join(" and ");
    let tools =
        recorder(dir.path(), vec![Some(given(&all)), Some(Err(Failure::new(Class::Fatal, all.clone())))]);
    let _ = ask(&tools, json!({"key": all})).await;
    let _ = ask(&tools, json!({"key": all})).await;
    let written = std::fs::read_to_string(dir.path().join(CASSETTE_FILE)).unwrap();
    assert!(written.lines().count() == 3 && written.contains("[secret]"));
    for form in forms::of(CANARY) {
        assert!(!written.contains(&form), "{form}");
    }
    let (_, played) = replay(dir.path());
    assert!(ask(&played, json!({"key": all})).await.unwrap().text.contains("[secret]"));
}

#[tokio::test]
async fn what_is_not_on_the_cassette_shows_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let tools = recorder(dir.path(), vec![Some(given("one"))]);
    tools.list(&servers()).await.unwrap();
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
    assert!(again.message.ends_with("it was recorded less often than it is made"), "{again}");
    let other = played.list(&servers_in("/home/one", "y")).await.unwrap_err();
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
    let mut waiting = played.call(&servers, &tool, &arguments, cancel.clone());
    assert!(waiting.as_mut().now_or_never().is_none());
    cancel.cancel();
    assert_eq!(waiting.await.unwrap_err().class, Class::Cancelled);
    // When every attempt waits and nobody cancels, it is given up.
    let mut first = played.call(&servers, &tool, &arguments, CancellationToken::new());
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
    let recording = Recording::new(Arc::new(Nobody), Tape::go_on(dir.path()).unwrap(), scrubber());
    recording.tools(Arc::new(NoTools)).list(&servers()).await.unwrap();
    let content = file::load(dir.path()).unwrap();
    assert_eq!((content.calls.len(), content.tools.len()), (0, 1));
    assert_eq!(Tape::create(dir.path()).unwrap_err().reason.as_deref(), Some("cassette_exists"));
}
