//! Servers of other projects. `scripts/mcp-servers DIR` installs them; without `CONVOKE_MCP_SERVERS=DIR` each test
//! says that it is skipped.

mod support;

use convoke_model::{Class, JsonText, Server, Servers, Transport};
use convoke_tools::Mcp;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::{call, find, mcp, named, names, program, said};
use tokio_util::sync::CancellationToken;

/// A server that was installed, or a line that says that it was not.
#[expect(clippy::print_stderr, reason = "what was not tried must not be overlooked")]
fn installed(name: &str, args: &[&str]) -> Option<Server> {
    let found =
        std::env::var_os("CONVOKE_MCP_SERVERS").map(|folder| Path::new(&folder).join("bin").join(name));
    match found.filter(|path| path.exists()) {
        Some(path) => Some(program(&path.display().to_string(), args)),
        None => {
            eprintln!(
                "skipped: the server {name} is not installed; scripts/mcp-servers DIR does it, CONVOKE_MCP_SERVERS=DIR names it"
            );
            None
        }
    }
}

#[tokio::test]
async fn filesystem_lists_writes_and_reads() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let Some(server) = installed("filesystem", &[root.to_str().unwrap()]) else { return };
    let (mcp, servers) = (mcp(), named("files", server));
    let tools = mcp.list(&servers).await.unwrap();
    assert!(tools.len() >= 14 && names(&tools).contains(&"files__read_text_file"), "{:?}", names(&tools));
    let path = root.join("note.txt").display().to_string();
    said(&mcp, &servers, "write_file", json!({"path": path, "content": "hello\nworld\n"})).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\nworld\n");
    assert_eq!(said(&mcp, &servers, "read_text_file", json!({"path": path})).await, "hello\nworld\n");
    let listed = said(&mcp, &servers, "list_directory", json!({"path": root})).await;
    assert_eq!(listed, "[FILE] note.txt");
    let outside = call(&mcp, &servers, "read_text_file", json!({"path": "/etc/hostname"})).await.unwrap();
    assert!(outside.failed && outside.text.contains("Access denied"), "{}", outside.text);
    assert!(find(&mcp, &servers, "read_text_file").await.repeatable);
    assert!(!find(&mcp, &servers, "edit_file").await.repeatable);
    mcp.close().await;
}

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let status = Command::new("git").arg("-C").arg(folder).args(identity).args(args).output().unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
}

#[tokio::test]
async fn git_tells_status_and_log() {
    let Some(server) = installed("git", &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(folder.path(), &["add", "a.txt"]);
    git(folder.path(), &["commit", "-q", "-m", "the first commit"]);
    std::fs::write(folder.path().join("b.txt"), "two\n").unwrap();
    let (mcp, servers) = (mcp(), named("git", server));
    assert!(mcp.list(&servers).await.unwrap().len() >= 12);
    let status = said(&mcp, &servers, "git_status", json!({"repo_path": folder.path()})).await;
    assert!(status.contains("b.txt"), "{status}");
    let log = said(&mcp, &servers, "git_log", json!({"repo_path": folder.path(), "max_count": 1})).await;
    assert!(log.contains("the first commit"), "{log}");
    mcp.close().await;
}

#[tokio::test]
async fn everything_works_as_a_process() {
    let Some(server) = installed("everything", &[]) else { return };
    let (mcp, servers) = (mcp(), named("all", server));
    tries_everything(&mcp, &servers).await;
    mcp.close().await;
}

#[tokio::test]
async fn everything_works_over_streamable_http() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    let Some(host) = installed("everything", &["streamableHttp"]) else { return };
    drop(free);
    let Transport::Stdio { command, args, .. } = host.transport else { unreachable!() };
    let mut process = Command::new(command).args(args).env("PORT", port.to_string()).spawn().unwrap();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = named(
        "all",
        Server { transport: Transport::Http { url, headers: vec![] }, timeout: None, tools: None },
    );
    let mcp = mcp();
    let begun = Instant::now();
    // It takes the service a moment to listen; each further try comes later than the one before.
    while let Err(failure) = mcp.list(&servers).await {
        assert!(failure.class == Class::Transient && begun.elapsed() < support::PATIENCE, "{failure}");
    }
    tries_everything(&mcp, &servers).await;
    mcp.close().await;
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Processes whose environment holds this text.
fn with_mark(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(mark)).count()
}

#[tokio::test]
async fn what_a_runner_of_packages_started_ends_with_it() {
    let Some(installed) = installed("everything", &[]) else { return };
    let Transport::Stdio { command, .. } = installed.transport else { unreachable!() };
    let package = Path::new(&command).parent().unwrap().with_file_name("everything");
    let server =
        program("npx", &["--prefix", package.to_str().unwrap(), "--no-install", "mcp-server-everything"]);
    let (mcp, servers) = (mcp(), named("all", server));
    let environment: Value = serde_json::from_str(&said(&mcp, &servers, "get-env", json!({})).await).unwrap();
    let mark = environment["CONVOKE_COMMAND"].as_str().unwrap().to_owned();
    assert!(with_mark(&mark) >= 2, "npx, and what it started");
    mcp.close().await;
    assert_eq!(with_mark(&mark), 0);
}

async fn tries_everything(mcp: &Mcp, servers: &Servers) {
    assert!(mcp.list(servers).await.unwrap().len() >= 12);
    assert_eq!(said(mcp, servers, "echo", json!({"message": "hé"})).await, "Echo: hé");
    assert!(said(mcp, servers, "get-sum", json!({"a": 2, "b": 40})).await.contains("42"));
    let weather = call(mcp, servers, "get-structured-content", json!({"location": "Chicago"})).await.unwrap();
    let data = weather.structured.expect("it declares data").value();
    assert!(data["temperature"].is_number() && !weather.failed, "{data}");
    let wrong = call(mcp, servers, "get-sum", json!({"a": "two"})).await.unwrap();
    assert!(wrong.failed && wrong.text.contains("/a: "), "{}", wrong.text);
    let image = said(mcp, servers, "get-tiny-image", json!({})).await;
    assert!(image.contains("[image image/png, "), "{image}");
    cancels(mcp, servers).await;
    assert_eq!(said(mcp, servers, "echo", json!({"message": "still"})).await, "Echo: still");
}

/// A long operation ends for us when it is cancelled, at once.
async fn cancels(mcp: &Mcp, servers: &Servers) {
    let tool = find(mcp, servers, "trigger-long-running-operation").await;
    let cancel = CancellationToken::new();
    let arguments = JsonText::of(&json!({"duration": 60, "steps": 60}));
    let called = mcp.call(servers, &tool, &arguments, "k", cancel.clone());
    let cancelled = async {
        // Something else is answered meanwhile, so the operation is under way.
        said(mcp, servers, "echo", json!({"message": "meanwhile"})).await;
        cancel.cancel();
        Instant::now()
    };
    let (outcome, at) = tokio::join!(called, cancelled);
    assert_eq!(outcome.unwrap_err().class, Class::Cancelled);
    assert!(at.elapsed() < Duration::from_secs(30), "the operation takes a minute");
}
