//! What driving an agent over its protocol must do, with a small agent in a process of its own.
#![allow(missing_docs, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod fake;

use common::{Asked, Heard, cut_off, is_gone};
use convoke_agent::{
    Answered, Asks, Finish, Message, Provider, Providers, Reply, Report, Request, Role, Sink,
};
use convoke_model::{Answer, Ask, Class, Contract, Failure, Permissions, Program, ProviderSettings, TaskId};
use convoke_providers::{Options, Registry};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Is the agent where it is started as one, and nothing otherwise.
#[tokio::test]
async fn the_fake_agent() {
    if std::env::var("FAKE_AGENT").is_ok() {
        fake::serve().await;
    }
}

/// Is an engine where it is started as one: its agent works until it is killed.
#[tokio::test]
async fn the_engine() {
    if std::env::var("FAKE_ENGINE").is_ok() {
        let (asked, sink) = (asked(&["ignore"]), Announcing);
        let _ = agent(Permissions::Ask).complete(&asked.request(), &sink).await;
    }
}

/// Writes down the agent's process id.
struct Announcing;

impl Sink for Announcing {
    fn report(&self, report: Report) {
        if let Report::ProcessStarted { pid, .. } = report {
            eprintln!("agent {pid}");
        }
    }
}

fn program(permissions: Permissions) -> Program {
    let args = ["the_fake_agent", "--exact", "--nocapture"].map(str::to_owned).to_vec();
    let command = std::env::current_exe().unwrap().display().to_string();
    let env = vec![("FAKE_AGENT".into(), "1".into()), ("GIVEN_KEY".into(), "${KEY_OF_MINE}".into())];
    Program { command, args, env, permissions }
}

/// An agent of a new engine.
fn provider(program: Program) -> Arc<dyn Provider> {
    made(program).unwrap()
}

fn made(program: Program) -> Result<Arc<dyn Provider>, Failure> {
    let settings = ProviderSettings {
        name: "acp".into(),
        program: Some(Box::new(program)),
        ..ProviderSettings::default()
    };
    let path = std::env::var_os("PATH").unwrap();
    let lookup = Arc::new(|name: &str| (name == "KEY_OF_MINE").then(|| "sk-given-by-name".to_owned()));
    let registry =
        Registry::new(Options::default(), lookup).with_child_environment(vec![("PATH".into(), path)]);
    registry.get(&settings)
}

fn agent(permissions: Permissions) -> Arc<dyn Provider> {
    provider(program(permissions))
}

/// The same agent, with a variable that changes it.
fn agent_with(variable: &str) -> Arc<dyn Provider> {
    let mut program = program(Permissions::Ask);
    program.env.push((variable.into(), "1".into()));
    provider(program)
}

fn asked(orders: &[&str]) -> Asked {
    Asked { messages: vec![Message::new(Role::User, orders.join("\n"))], ..Asked::default() }
}

async fn said(provider: &dyn Provider, orders: &[&str]) -> Result<Reply, Failure> {
    asked(orders).of(provider).await
}

fn permission_of(reply: Reply) -> Asks {
    *reply.asks.expect("the agent asks")
}

fn prompt_of(asks: &Asks) -> &str {
    let Ask::Choice { prompt, .. } = &asks.ask else { panic!("{:?}", asks.ask) };
    prompt
}

fn answered(asks: Asks, value: &str) -> Option<Answered> {
    let answer = Answer::Choice { value: value.into(), input: Default::default() };
    assert_eq!(answer.refusal(&asks.ask), None);
    Some(Answered { state: asks.state, answer })
}

#[tokio::test]
async fn a_turn_becomes_a_reply() {
    let provider = agent(Permissions::Allow);
    let (asked, heard) =
        (asked(&["think Hm.", "say I will see.", "permission look", "odd", "say drei"]), Heard::default());
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    // What was said before the tool was used is not the answer.
    assert_eq!((reply.text.as_str(), reply.finish), ("did look,drei", Finish::Stop));
    assert!(reply.usage.estimated && reply.usage.calls == 1 && reply.asks.is_none());
    assert_eq!(heard.text(), "Hm.I will see.\n[look]\ndid look,drei");
    let reports = heard.0.into_inner().unwrap();
    let called = |report: &&Report| matches!(report, Report::ToolCalled { tool, failed: false, .. } if tool == "execute");
    assert_eq!(reports.iter().filter(called).count(), 1);
    let started = |report: &&Report| matches!(report, Report::ProcessStarted { start: 1.., .. });
    assert_eq!(reports.iter().filter(started).count(), 1);
}

#[tokio::test]
async fn a_person_decides_and_the_same_process_goes_on() {
    let provider = agent(Permissions::Ask);
    let mut asked = asked(&["pid", "permission build", "permission test", "pid"]);
    let asks = permission_of(asked.of(&*provider).await.unwrap());
    assert_eq!(prompt_of(&asks), "`counter` asks for permission to run: build\n  command: make build");
    assert!(asks.state.as_str().len() < 1000, "{}", asks.state.as_str());
    asked.answered = answered(asks, "yes");
    let asks = permission_of(asked.of(&*provider).await.unwrap());
    assert!(prompt_of(&asks).contains("run: test"), "{}", prompt_of(&asks));
    asked.answered = answered(asks, "yes");
    let heard = Heard::default();
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    let (done, pid) = reply.text.trim_end_matches(',').split_once(',').unwrap();
    let reports = heard.0.into_inner().unwrap();
    assert!(matches!(reports[0], Report::ProcessStarted { pid: told, .. } if told.to_string() == pid));
    assert_eq!(done, "did test");
}

#[tokio::test]
async fn decisions_hold_in_a_new_process_for_the_same_wishes() {
    let orders = ["permission build", "permission test", "permission publish"];
    let mut asked = asked(&orders);
    let first = agent(Permissions::Ask);
    for _ in 0..2 {
        let asks = permission_of(asked.of(&*first).await.unwrap());
        asked.answered = answered(asks, "yes");
    }
    // The engine that has the open question is gone; the answer to `test` comes to another one.
    drop(first);
    let asks = permission_of(asked.of(&*agent(Permissions::Ask)).await.unwrap());
    assert!(prompt_of(&asks).contains("run: publish"), "{}", prompt_of(&asks));
    asked.answered = answered(asks, "yes");
    let reply = asked.of(&*agent(Permissions::Ask)).await.unwrap();
    assert_eq!(reply.text, "did publish,");
}

#[tokio::test]
async fn a_decision_is_none_about_something_else_of_the_same_title() {
    let mut asked = asked(&["permission build"]);
    let asks = permission_of(asked.of(&*agent(Permissions::Ask)).await.unwrap());
    asked.answered = answered(asks, "yes");
    let elsewhere = agent_with("FAKE_PLACE");
    let asks = permission_of(asked.of(&*elsewhere).await.unwrap());
    assert!(prompt_of(&asks).contains("run: build"), "{}", prompt_of(&asks));
    asked.answered = answered(asks, "yes");
    assert_eq!(asked.of(&*elsewhere).await.unwrap().text, "did build,");
}

#[tokio::test]
async fn a_session_that_can_be_loaded_goes_on() {
    let mut asked = asked(&["permission build", "permission build", "say end"]);
    let asks = permission_of(asked.of(&*agent_with("FAKE_LOADS")).await.unwrap());
    asked.answered = answered(asks, "yes");
    let second = agent_with("FAKE_LOADS");
    let heard = Heard::default();
    let asks = permission_of(second.complete(&asked.request(), &heard).await.unwrap());
    // What was said before the interruption is not said again, and a decision is used once.
    assert!(heard.text().starts_with("loaded,"), "{}", heard.text());
    asked.answered = answered(asks, "yes");
    assert_eq!(asked.of(&*second).await.unwrap().text, "did build,end");
}

#[tokio::test]
async fn the_next_question_goes_to_the_session_that_knows_the_first() {
    for (variable, wanted) in [("FAKE_LOADS", "loaded,two"), ("FAKE_FORGETS", "onetwo")] {
        let provider = agent_with(variable);
        let mut asked = asked(&["say one"]);
        let reply = asked.of(&*provider).await.unwrap();
        asked.messages.extend([Message::of_reply(&reply), Message::new(Role::User, "say two")]);
        assert_eq!(asked.of(&*provider).await.unwrap().text, wanted);
        // Another conversation of the same task begins with nothing.
        asked.messages.truncate(1);
        assert_eq!(asked.of(&*provider).await.unwrap().text, "one");
    }
}

#[tokio::test]
async fn only_so_many_wait_and_the_rest_begin_anew() {
    let provider = agent(Permissions::Ask);
    let mut waiting = Vec::new();
    for number in 0..33 {
        let mut asked = Asked {
            task: TaskId(format!("counter[{number}]").into()),
            ..asked(&["pid", "permission build", "pid"])
        };
        let heard = Heard::default();
        let asks = permission_of(provider.complete(&asked.request(), &heard).await.unwrap());
        let Some(Report::ProcessStarted { pid, .. }) = heard.0.lock().unwrap().first().cloned() else {
            panic!()
        };
        asked.answered = answered(asks, "yes");
        waiting.push((asked, pid));
    }
    assert!(is_gone(waiting[0].1, Duration::from_secs(30)).await);
    for (number, is_same) in [(0, false), (1, true)] {
        let (asked, pid) = &waiting[number];
        let reply = asked.of(&*provider).await.unwrap();
        assert_eq!(reply.text.ends_with(&format!("did build,{pid},")), is_same, "{}", reply.text);
    }
}

#[tokio::test]
async fn what_is_denied_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = asked(&["write new", "permission build", "say no"]);
    asked.working_dir = Some(folder.path().display().to_string());
    let heard = Heard::default();
    let failure =
        agent(Permissions::Deny).complete(&asked.request(), &heard).await.unwrap_err().into_failure();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Permission, Some("permission_denied")));
    let noted = |report: &Report| matches!(report, Report::Noted { code: "permission_denied", message } if message.ends_with("may not run: build"));
    assert!(heard.0.lock().unwrap().iter().any(noted));
    assert!(failure.message.ends_with("stopped, because it may not run: build"), "{failure}");
    assert!(!folder.path().join("new").exists());
    let provider = agent(Permissions::Ask);
    let asks = permission_of(asked.of(&*provider).await.unwrap());
    asked.answered = answered(asks, "no");
    assert_eq!(asked.of(&*provider).await.unwrap_err().class, Class::Permission);
}

fn contract(allowed: Option<&[&str]>, banned: &[&str]) -> Contract {
    Contract {
        phase: "code".into(),
        persona: Some("coder".into()),
        allowed_tools: allowed.map(|names| names.iter().map(|name| name.to_string()).collect()),
        banned_tools: banned.iter().map(|name| name.to_string()).collect(),
        ..Contract::default()
    }
}

#[tokio::test]
async fn a_request_for_what_a_contract_bans_is_refused_whatever_is_permitted_otherwise() {
    /// What is allowed, what is banned, and whether the permission is refused.
    type Case = (Option<&'static [&'static str]>, &'static [&'static str], bool);
    let cases: [Case; 5] = [
        (None, &["EXECUTE"], true),
        (None, &["bui*"], true),
        (Some(&["read"]), &[], true),
        (Some(&["execute"]), &[], false),
        (None, &["read"], false),
    ];
    for (allowed, banned, is_refused) in cases {
        let asked = Asked { contract: Some(contract(allowed, banned)), ..asked(&["permission build"]) };
        for permissions in [Permissions::Allow, Permissions::Ask] {
            let heard = Heard::default();
            let reply = agent(permissions).complete(&asked.request(), &heard).await;
            let denied = |report: &Report| matches!(report, Report::Noted { code: "permission_denied", .. });
            assert_eq!(heard.0.lock().unwrap().iter().any(denied), is_refused, "{allowed:?} {banned:?}");
            assert_eq!(reply.is_err(), is_refused, "{allowed:?} {banned:?}");
        }
    }
}

#[tokio::test]
async fn files_are_read_and_written_only_where_the_contract_has_room_for_it() {
    /// What is allowed, what is banned, and what becomes of reading and of writing.
    type Case = (Option<&'static [&'static str]>, &'static [&'static str], &'static str);
    let cases: [Case; 6] = [
        (None, &[], "old,written,"),
        (Some(&[]), &[], "refused,refused,"),
        (Some(&["read"]), &[], "old,refused,"),
        (Some(&["read_file", "write_file"]), &[], "old,written,"),
        (None, &["read"], "refused,written,"),
        (None, &["Write"], "old,refused,"),
    ];
    for (allowed, banned, becomes) in cases {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "old,").unwrap();
        let mut asked = asked(&["read file", "write new"]);
        asked.contract = Some(contract(allowed, banned));
        asked.working_dir = Some(place.path().display().to_string());
        let reply = asked.of(&*agent(Permissions::Allow)).await.unwrap();
        assert_eq!(reply.text, becomes, "{allowed:?} {banned:?}");
        assert_eq!(
            place.path().join("new").exists(),
            becomes.ends_with("written,"),
            "{allowed:?} {banned:?}"
        );
    }
}

#[tokio::test]
async fn files_outside_the_folder_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(place.path().join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(place.path(), folder.join("up")).unwrap();
    let orders = ["read ../secret", "read up/secret", "write up/new", "write new", "read new"];
    let mut asked = asked(&orders);
    asked.working_dir = Some(folder.display().to_string());
    let reply = asked.of(&*agent(Permissions::Ask)).await.unwrap();
    assert_eq!(reply.text, "refused,refused,refused,written,written");
    assert!(!place.path().join("new").exists());
}

#[tokio::test]
async fn an_agent_that_dies_says_why() {
    let failure = said(&*agent(Permissions::Ask), &["say half", "die"]).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("agent_died")));
    assert!(
        failure.message.contains("exit status: 3") && failure.message.ends_with("last words ***"),
        "{failure}"
    );
}

#[tokio::test]
async fn an_agent_that_is_not_there_or_locked_is_told_apart() {
    let missing = Program { command: "no-such-agent".into(), ..Program::default() };
    let failure = said(&*provider(missing), &[]).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("not_found")));
    assert!(failure.hint.unwrap().contains("`no-such-agent`"));
    let failure = said(&*agent_with("FAKE_LOCKED"), &[]).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Permission, Some("auth_required")));
    assert!(failure.hint.unwrap().contains("a fake key (`fake-key`)"));
}

#[tokio::test]
async fn a_key_that_was_given_opens_the_door() {
    let mut program = program(Permissions::Ask);
    program.env.extend([("FAKE_LOCKED".into(), "1".into()), ("FAKE_KEY".into(), "${KEY_OF_MINE}".into())]);
    assert_eq!(said(&*provider(program), &["say in"]).await.unwrap().text, "in");
}

#[tokio::test]
async fn the_model_is_chosen_where_there_is_a_choice() {
    let (asked, heard) = (asked(&["model"]), Heard::default());
    let reply = agent(Permissions::Ask).complete(&asked.request(), &heard).await.unwrap();
    assert_eq!(reply.text, "m-1");
    let request = Request { model: "m-9", reasoning_effort: Some("high"), ..asked.request() };
    assert_eq!(agent(Permissions::Ask).complete(&request, &heard).await.unwrap().text, "");
    let reports = heard.0.into_inner().unwrap();
    let noted = |report: &&Report| matches!(report, Report::Noted { code: "not_offered", .. });
    assert_eq!(reports.iter().filter(noted).count(), 2);
}

#[tokio::test]
async fn an_agent_lists_its_models() {
    assert_eq!(agent(Permissions::Ask).models().await.unwrap(), ["m-0", "m-1"]);
    let failure = agent_with("FAKE_LOCKED").models().await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("auth_required"));
}

#[tokio::test]
async fn the_end_of_a_turn_says_what_it_was() {
    let provider = agent(Permissions::Ask);
    for (reason, finish) in [("max_tokens", Finish::Length), ("refusal", Finish::Refusal)] {
        let reply = said(&*provider, &["say half", &format!("stop {reason}")]).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("half", finish));
    }
    for (reason, class) in [("cancelled", Class::Cancelled), ("max_turn_requests", Class::Budget)] {
        assert_eq!(said(&*provider, &[&format!("stop {reason}")]).await.unwrap_err().class, class);
    }
}

#[tokio::test]
async fn an_agent_sees_what_it_is_given_and_nothing_else() {
    let reply = said(&*agent(Permissions::Ask), &["variable GIVEN_KEY", "variable HOME"]).await.unwrap();
    assert_eq!(reply.text, "Some(\"sk-given-by-name\")None");
    let mut program = program(Permissions::Ask);
    program.env.push(("OTHER".into(), "${NOT_SET}".into()));
    let failure = made(program).err().expect("nothing starts without it");
    assert_eq!(failure.message, "provider acp has no value for `OTHER`: variable `NOT_SET` is not set");
}

#[tokio::test]
async fn every_phase_has_its_time() {
    let silent = Program { command: "sleep".into(), args: vec!["1000".into()], ..Program::default() };
    let short = Duration::from_millis(80);
    let mut asked = asked(&["say half", "ignore"]);
    asked.timeouts.connect = short;
    let failure = asked.of(&*provider(silent)).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("connect_timeout")));
    asked.timeouts.connect = Duration::from_secs(30);
    asked.timeouts.idle = short;
    let failure = asked.of(&*agent(Permissions::Ask)).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("idle_timeout")));
    asked.timeouts.idle = Duration::from_secs(30);
    asked.timeouts.total = Duration::from_millis(500);
    let failure = asked.of(&*agent(Permissions::Ask)).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("request_timeout")));
}

#[tokio::test]
async fn a_dropped_request_cancels_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = asked(&["child", "hang"]);
    asked.working_dir = Some(folder.path().display().to_string());
    let [agent, child] = cut_off(&*agent(Permissions::Ask), &asked).await;
    assert!(is_gone(agent, Duration::from_secs(30)).await, "the agent still runs");
    assert!(is_gone(child, Duration::from_secs(30)).await, "what it started still runs");
    assert!(folder.path().join("cancelled").exists(), "it was not told");
}

#[tokio::test]
async fn an_agent_that_does_not_listen_is_ended_too() {
    let asked = asked(&["child", "ignore"]);
    let [agent, child] = cut_off(&*agent(Permissions::Ask), &asked).await;
    assert!(is_gone(agent, Duration::from_secs(30)).await && is_gone(child, Duration::from_secs(30)).await);
}

#[tokio::test]
async fn an_agent_dies_with_its_engine() {
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["the_engine", "--exact", "--nocapture"])
        .env("FAKE_ENGINE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(engine.stderr.take().unwrap()).lines();
    let agent = told.map_while(Result::ok).find_map(|line| line.strip_prefix("agent ")?.parse().ok());
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert!(is_gone(agent.expect("the agent was started"), Duration::from_secs(30)).await);
}
