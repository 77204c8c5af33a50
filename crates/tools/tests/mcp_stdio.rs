//! Servers that run as processes: one start for all, checked calls, limits, cancellation, death, and clean ends.

mod support;

use convoke_model::{Class, JsonText, Servers, Transport};
use convoke_tools::Limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use support::{call, find, mcp, mcp_with, named, names, patient, program, said, test_server, with_env};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

fn servers() -> Servers {
    named("t", test_server())
}

#[tokio::test]
async fn all_pages_are_listed_in_order_and_named_for_models() {
    let mcp = mcp();
    let tools = mcp.list(&servers()).await.unwrap();
    let expected = [
        "t__echo",
        "t__add",
        "t__wrong",
        "t__big",
        "t__wait",
        "t__die",
        "t__variable",
        "t__processes",
        "t__fail",
        "t__refuse",
        "t__grow",
    ];
    assert_eq!(names(&tools), expected);
    assert_eq!((tools[0].server.as_str(), tools[0].name.as_str()), ("t", "echo"));
    assert_eq!(tools[0].spec.description, "Says it again.");
    assert_eq!(tools[0].spec.input_schema["required"], json!(["text"]));
    assert_eq!(tools.iter().filter(|tool| tool.repeatable).count(), 2);
    assert!(tools[1].output_schema.is_some());
}

#[tokio::test]
async fn tools_of_several_servers_come_in_the_order_of_the_file_and_only_the_allowed_ones() {
    let mcp = mcp();
    let mut second = with_env(test_server(), "OTHER", "1");
    second.tools = Some(vec!["add".into(), "echo".into(), "nothing".into()]);
    let servers = Servers::from_iter([("b".to_owned(), second), ("a".to_owned(), test_server())]);
    let tools = mcp.list(&servers).await.unwrap();
    assert_eq!(names(&tools)[..3], ["b__echo", "b__add", "a__echo"]);
    let mut forbidden = find(&mcp, &servers, "die").await;
    forbidden.server = "b".into();
    let result = mcp
        .call(&servers, &forbidden, &JsonText::of(&json!({})), "k", CancellationToken::new())
        .await
        .unwrap();
    assert!(result.failed && result.text == "there is no tool `die`; there are echo, add", "{}", result.text);
}

#[tokio::test]
async fn a_call_gives_words_and_data() {
    let (mcp, servers) = (mcp(), servers());
    assert_eq!(said(&mcp, &servers, "echo", json!({"text": "héllo\n"})).await, "héllo\n");
    let sum = call(&mcp, &servers, "add", json!({"a": 2, "b": 3})).await.unwrap();
    assert_eq!(sum.structured.unwrap().value(), json!({"sum": 5.0}));
}

/// A server that keeps what it has done by key notices a repetition.
#[tokio::test]
async fn a_server_is_told_the_idempotency_key_of_a_call() {
    let (mcp, servers) = (mcp(), servers());
    let meta = said(&mcp, &servers, "variable", json!({"name": "_meta"})).await;
    assert!(meta.contains(r#""convoke/idempotency-key":"k""#), "{meta}");
}

#[tokio::test]
async fn what_does_not_fit_is_a_result_that_says_so() {
    let (mcp, servers) = (mcp(), servers());
    for (tool, arguments, expected) in [
        (
            "add",
            json!({"a": 1, "b": "two"}),
            "the arguments do not fit: /b: \"two\" is not of type \"number\" (type)",
        ),
        ("wrong", json!({}), "what the tool gave does not fit its own schema: /sum: \"many\" is not of type"),
        ("fail", json!({}), "that did not work"),
        ("refuse", json!({}), "not like this"),
    ] {
        let result = call(&mcp, &servers, tool, arguments).await.unwrap();
        assert!(result.failed && result.text.starts_with(expected), "{tool}: {}", result.text);
    }
}

#[tokio::test]
async fn a_large_result_passes_untouched() {
    let text = said(&mcp(), &servers(), "big", json!({"bytes": 2 << 20})).await;
    assert!(text.len() == 2 << 20 && text.bytes().all(|byte| byte == b'x'));
}

#[tokio::test]
async fn tools_that_come_later_are_seen() {
    let (mcp, servers) = (mcp(), servers());
    let before = mcp.list(&servers).await.unwrap().len();
    said(&mcp, &servers, "grow", json!({})).await;
    // The notification is written before the answer, and read before it.
    assert_eq!(mcp.list(&servers).await.unwrap().len(), before + 1);
    assert_eq!(said(&mcp, &servers, "late", json!({})).await, "late, but here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_at_the_same_time_shares_one_start() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let server = with_env(test_server(), "STARTS", &starts.display().to_string());
    let mcp = mcp();
    let askers = (0..20).map(|n| {
        // Equal settings under another name are the same server.
        let servers = named(&format!("name{}", n % 2), server.clone());
        let mcp = &mcp;
        async move { said(mcp, &servers, "echo", json!({"text": "x"})).await }
    });
    assert!(futures::future::join_all(askers).await.iter().all(|text| text == "x"));
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\n");
}

#[tokio::test]
async fn many_calls_are_under_way_at_once_and_each_gets_its_own_answer() {
    let (mcp, servers) = (mcp(), servers());
    let tool = find(&mcp, &servers, "echo").await;
    let calls = (0..300).map(|n| {
        let (mcp, servers, tool) = (&mcp, &servers, &tool);
        async move {
            let arguments = JsonText::of(&json!({"text": format!("number {n}")}));
            let result = mcp.call(servers, tool, &arguments, "k", CancellationToken::new()).await.unwrap();
            assert_eq!(result.text, format!("number {n}"));
        }
    });
    futures::future::join_all(calls).await;
}

#[tokio::test]
async fn what_a_server_says_beside_the_protocol_is_ignored() {
    let path = support::test_server_path().display().to_string();
    let script = "echo 'Starting up...'; echo '{\"level\": 30}'; echo; exec \"$0\"";
    let servers = named("t", program("sh", &["-c", script, &path]));
    assert_eq!(said(&mcp(), &servers, "echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn a_start_goes_on_when_the_first_asker_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let servers = named("t", with_env(test_server(), "STARTS", &starts.display().to_string()));
    let mcp = mcp();
    let first = mcp.list(&servers);
    assert!(futures::FutureExt::now_or_never(first).is_none());
    assert!(!mcp.list(&servers).await.unwrap().is_empty());
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\n");
}

#[tokio::test]
async fn a_call_ends_by_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut server = test_server();
    // Long enough for a slow machine to begin the call.
    server.timeout = Some(Duration::from_secs(3));
    let (mcp, servers) = (mcp(), named("t", server));
    let failure = call(&mcp, &servers, "wait", json!({"port": port})).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("tool_timeout")));
    assert!(failure.message.ends_with("`wait` gave no result within 3 s"), "{failure}");
    assert_eq!(heard(&listener).await, ["begun", "cancelled"]);
    assert_eq!(said(&mcp, &servers, "echo", json!({"text": "still here"})).await, "still here");
}

/// Everything that a waiting tool tells.
async fn heard(listener: &TcpListener) -> Vec<String> {
    let (witness, _) = listener.accept().await.unwrap();
    let mut lines = BufReader::new(witness).lines();
    let mut heard = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        heard.push(line);
    }
    heard
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (mcp, servers) = (mcp(), servers());
    let tool = find(&mcp, &servers, "wait").await;
    let cancel = CancellationToken::new();
    let arguments = JsonText::of(&json!({"port": port}));
    let watched = async {
        let (witness, _) = listener.accept().await.unwrap();
        let mut lines = BufReader::new(witness).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "begun");
        cancel.cancel();
        (Instant::now(), lines)
    };
    let called = async {
        let failure = mcp.call(&servers, &tool, &arguments, "k", cancel.clone()).await.unwrap_err();
        (failure, Instant::now())
    };
    let ((failure, ended), (cancelled, mut lines)) = tokio::join!(called, watched);
    assert_eq!(failure.class, Class::Cancelled);
    // A call that is not cancelled ends by its limit of a minute.
    assert!(ended - cancelled < Duration::from_secs(30), "{:?}", ended - cancelled);
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "cancelled");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (mcp, servers) = (mcp(), servers());
    let mut lines = tokio::select! {
        _ = call(&mcp, &servers, "wait", json!({"port": port})) => panic!("it never answers"),
        accepted = listener.accept() => BufReader::new(accepted.unwrap().0).lines(),
    };
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "begun");
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "cancelled");
}

#[tokio::test]
async fn a_server_that_dies_fails_its_call_and_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let server = with_env(test_server(), "STARTS", &starts.display().to_string());
    let server = with_env(server, "GIVEN", "${CANARY}");
    let mcp = mcp_with(&[], &[("CANARY", "canary-1234567890")], patient());
    let servers = named("t", server);
    let failure = call(&mcp, &servers, "die", json!({})).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("server_died")));
    let expected = "went away while `die` was under way: it ended with exit code 7; \
                    it said: these are my last words, key [secret]";
    assert!(failure.message.ends_with(expected), "{failure}");
    assert!(failure.message.starts_with("server `t` (`"), "{failure}");
    assert_eq!(said(&mcp, &servers, "echo", json!({"text": "back"})).await, "back");
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\nstarted\n");
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let mcp = mcp();
    for (server, expected) in [
        (
            program("no-such-command-here", &[]),
            "(`no-such-command-here`) cannot start: command `no-such-command-here` was not found",
        ),
        (
            program("sh", &["-c", "echo oops >&2; exit 3"]),
            "cannot start: it ended with exit code 3; it said: oops: ",
        ),
        (program("sh", &["-c", "kill -9 $$"]), "cannot start: it was ended by signal 9: "),
    ] {
        let failure = mcp.list(&named("x", server)).await.unwrap_err();
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("server_unavailable")));
        assert!(
            failure.message.starts_with("server `x` ") && failure.message.contains(expected),
            "{failure}"
        );
        assert!(failure.hint.is_some());
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let limits = Limits { start: Duration::from_secs(3), ..patient() };
    let mcp = mcp_with(&[], &[], limits);
    let failure = mcp.list(&named("x", program("sh", &["-c", "echo busy >&2; cat"]))).await.unwrap_err();
    assert!(
        failure.message.ends_with("cannot start: it was not ready within 3 s; it said: busy"),
        "{failure}"
    );
}

#[tokio::test]
async fn only_named_variables_reach_the_server() {
    let server = with_env(test_server(), "GIVEN", "key=${CANARY}");
    let server = with_env(server, "DEFAULTED", "${NOT_SET:-fallback}");
    let inherited = [("CANARY_TOKEN", "c"), ("PLAIN", "p")];
    let mcp = mcp_with(&inherited, &[("CANARY", "canary-1")], patient());
    let servers = named("t", server);
    for (name, value) in [
        ("GIVEN", "key=canary-1"),
        ("DEFAULTED", "fallback"),
        ("PLAIN", "p"),
        ("CANARY", "unset"),
        ("CANARY_TOKEN", "unset"),
        ("CARGO_MANIFEST_DIR", "unset"),
    ] {
        assert_eq!(said(&mcp, &servers, "variable", json!({"name": name})).await, value, "{name}");
    }
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named() {
    let failure =
        mcp().list(&named("t", with_env(program("true", &[]), "KEY", "${GONE}"))).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Permission, Some("no_credentials")));
    assert!(failure.message.contains("server `t`") && failure.message.contains("`GONE`"), "{failure}");
}

#[tokio::test]
async fn a_server_runs_where_its_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = test_server();
    if let Transport::Stdio { working_dir, env, .. } = &mut server.transport {
        *working_dir = Some(folder.path().display().to_string());
        env.push(("STARTS".into(), "here".into()));
    }
    mcp().list(&named("t", server)).await.unwrap();
    assert!(folder.path().join("here").exists());
}

/// Handles on the server's processes, which stay theirs whatever becomes of the ids.
async fn handles(mcp: &convoke_tools::Mcp, servers: &Servers) -> Vec<OwnedFd> {
    let given = call(mcp, servers, "processes", json!({})).await.unwrap().structured.unwrap().value();
    let ids = given["ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap() as i32);
    ids.map(|id| pidfd_open(Pid::from_raw(id).unwrap(), PidfdFlags::empty()).unwrap()).collect()
}

/// Waits until all have ended; what is merely told to end takes the kernel a moment.
async fn all_end(processes: &[OwnedFd]) {
    for process in processes {
        let process = process.try_clone().unwrap();
        let waited = tokio::task::spawn_blocking(move || ends_within(&process, 5000));
        assert!(waited.await.unwrap(), "a process is still alive");
    }
}

fn ends_within(process: &OwnedFd, milliseconds: i64) -> bool {
    let limit = Timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)).unwrap() > 0
}

#[tokio::test]
async fn nothing_survives_a_close() {
    let (mcp, servers) = (mcp(), servers());
    let processes = handles(&mcp, &servers).await;
    assert!(!processes.iter().any(|process| ends_within(process, 0)));
    mcp.close().await;
    all_end(&processes).await;
    let failure = mcp.list(&servers).await.unwrap_err();
    assert_eq!(failure.class, Class::Cancelled);
}

#[tokio::test]
async fn a_server_that_does_not_want_to_end_is_made_to() {
    let mcp = mcp();
    let path = support::test_server_path().display().to_string();
    // The shell outlives the server's input and hears no signal but the last.
    let servers = named("t", program("sh", &["-c", "trap '' TERM; \"$0\"; sleep 1000", &path]));
    let processes = handles(&mcp, &servers).await;
    mcp.close().await;
    all_end(&processes).await;
}

#[tokio::test]
async fn a_close_during_a_start_ends_it() {
    let mcp = mcp();
    let servers = named("t", program("sh", &["-c", "exec sleep 1000"]));
    let listing = mcp.list(&servers);
    let (listed, ()) = tokio::join!(listing, mcp.close());
    assert_eq!(listed.unwrap_err().class, Class::Cancelled);
}

#[tokio::test]
async fn servers_end_with_their_owner() {
    let (mcp, servers) = (mcp(), servers());
    let processes = handles(&mcp, &servers).await;
    drop(mcp);
    all_end(&processes).await;
}

/// A server in a shell: it greets, lists its tools with these words for each page, and does as it is told when one is called.
fn shell(list: &str, called: &str) -> Servers {
    let script = format!(
        r#"n=0
while IFS= read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
  case "$line" in
    *'"initialize"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}' ;;
    *'"tools/list"'*) n=$((n+1)); {list} ;;
    *'"tools/call"'*) {called} ;;
  esac
done"#
    );
    named("s", program("sh", &["-c", &script]))
}

/// A page of the list with this cursor for the next one.
fn page(cursor: &str) -> String {
    format!(
        r#"echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":[{{"name":"t'$n'","inputSchema":{{"type":"object"}}}}]{cursor}}}}}'"#
    )
}

#[tokio::test]
async fn a_list_of_tools_that_does_not_end_is_refused_and_says_why() {
    for (cursor, words) in [
        (r#","nextCursor":"again""#, "the cursor \"again\" came twice"),
        (r#","nextCursor":"'$n'""#, "more than 1000 pages"),
    ] {
        let failure = mcp().list(&shell(&page(cursor), ":")).await.map(drop).unwrap_err();
        assert_eq!(failure.class, Class::Fatal, "{failure}");
        assert!(
            failure.message.contains("its list of tools does not end") && failure.message.contains(words),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn a_flood_of_notifications_does_not_keep_an_answer_away() {
    let flood = r#"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'; done; echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"after the flood"}]}}'"#;
    let servers = shell(&page(""), flood);
    assert_eq!(said(&mcp(), &servers, "t1", json!({})).await, "after the flood");
}
