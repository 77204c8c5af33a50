//! A worker can do nothing but compute, and runs nothing where that cannot be made sure.

use crate::support;

use convoke_interpreter::{Error, Limits, Next, Sandbox, WorkerCommand, Workers};
use convoke_model::{Class, Failure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::*;

/// Confines a worker, lets it end, and has it try what it must not do: what it enforced, and how each attempt went.
fn attempts(task: &str) -> (Sandbox, BTreeMap<String, String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interpreter-worker"))
        .arg(task)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({"hello": {"version": 3, "limits": limits(), "allow_unsandboxed": true}}).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&(hello.len() as u32).to_le_bytes()).unwrap();
    stdin.write_all(&[0; 4]).unwrap();
    stdin.write_all(hello.as_bytes()).unwrap();
    drop(stdin);
    let (mut said, mut tried) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut tried).unwrap();
    child.wait().unwrap();
    let ready: Value = serde_json::from_slice(&said[8..]).unwrap();
    let tried = tried.lines().filter_map(|line| line.split_once(' '));
    (
        serde_json::from_value(ready["ready"]["sandbox"].clone()).unwrap(),
        tried.map(|(name, outcome)| (name.to_string(), outcome.to_string())).collect(),
    )
}

#[test]
fn nothing_can_be_opened_started_or_reached() {
    let (sandbox, tried) = attempts("then-try");
    assert!(sandbox.holds(), "{sandbox:?}");
    assert_eq!(tried.len(), 17, "{tried:?}");
    for (name, outcome) in tried {
        assert_eq!(outcome, libc::EPERM.to_string(), "{name}");
    }
}

#[test]
fn landlock_is_a_second_wall() {
    let (sandbox, tried) = attempts("without-seccomp-and-limits");
    if sandbox.landlock.is_none() {
        // A kernel without it: the report says so, and there is nothing to try.
        assert!(sandbox.missing.iter().any(|it| it.starts_with("Landlock")), "{sandbox:?}");
        return;
    }
    for name in ["read_file", "list_folder"] {
        assert_eq!(tried[name], libc::EACCES.to_string(), "{name}");
    }
    if sandbox.landlock >= Some(4) {
        assert_eq!(tried["tcp"], libc::EACCES.to_string());
    }
}

#[test]
fn without_landlock_the_first_wall_holds_and_the_gap_is_said() {
    let (sandbox, tried) = attempts("without-landlock");
    assert_eq!((sandbox.landlock, sandbox.holds()), (None, true));
    assert!(sandbox.missing.iter().any(|it| it.starts_with("Landlock: ")), "{sandbox:?}");
    assert!(tried.values().all(|outcome| *outcome == libc::EPERM.to_string()), "{tried:?}");
}

#[tokio::test]
async fn a_worker_has_limits_no_environment_and_no_descriptors() {
    let worker = workers("").start(Limits { cpu_seconds: 77, ..limits() }).await.unwrap();
    let read = |name: &str| std::fs::read(format!("/proc/{}/{name}", worker.pid().unwrap())).unwrap();
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    let limits = text("limits");
    let bound = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().take(2).map(|it| it.parse().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(bound("Max cpu time"), [77, 78]);
    for none in ["Max core file size", "Max file size", "Max open files", "Max processes"] {
        assert_eq!(bound(none), [0, 0], "{none}");
    }
    assert!(bound("Max address space")[1] < 2 << 30, "{limits}");
    let status = text("status");
    assert!(status.contains("NoNewPrivs:\t1\n") && status.contains("Seccomp:\t2\n"), "{status}");
    let variables = read("environ");
    let variables: Vec<_> = variables.split(|byte| *byte == 0).filter(|it| !it.is_empty()).collect();
    assert!(variables.iter().all(|it| it.starts_with(b"CONVOKE_COMMAND=")), "{variables:?}");
    // The three, and the one by which it measures its memory.
    let open = std::fs::read_dir(format!("/proc/{}/fd", worker.pid().unwrap())).unwrap().count();
    assert_eq!(open, 4);
}

#[tokio::test]
async fn where_it_cannot_be_confined_nothing_runs() {
    for task in ["without-seccomp", "without-limits"] {
        let refused = workers(task).start(limits()).await.err().unwrap();
        let Error::Sandbox(sandbox) = &refused else { panic!("{refused}") };
        assert!(!sandbox.missing.is_empty());
        let failure = Failure::from(refused);
        assert_eq!(
            (failure.class, failure.reason.as_deref()),
            (Class::Fatal, Some("sandbox_fatal")),
            "{task}"
        );
        assert!(failure.hint.is_some());
    }
}

#[tokio::test]
async fn only_whoever_asks_for_it_gets_an_unconfined_worker() {
    let mut worker = workers("without-seccomp").allow_unsandboxed().start(limits()).await.unwrap();
    assert!(!worker.sandbox().holds());
    assert_eq!(ended(worker.run(program("1 + 1", &[])).await.unwrap()).value, json!(2));
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error() {
    let missing = Workers::new(WorkerCommand { program: "/nonexistent".into(), args: vec![] });
    assert!(matches!(missing.start(limits()).await, Err(Error::Start(_))));
    let other = Workers::new(WorkerCommand { program: "/bin/true".into(), args: vec![] });
    assert!(matches!(other.start(limits()).await, Err(Error::Start(_))));
    assert!(matches!(workers("nonsense").start(limits()).await, Err(Error::Nonsense(_))));
}

#[tokio::test]
async fn a_worker_that_was_taken_over_calls_nothing_that_its_program_was_not_given() {
    let mut worker = workers("liar").start(limits()).await.unwrap();
    let outcome = worker.run(program("1", &["f"])).await;
    assert!(matches!(outcome, Err(Error::Nonsense(_))), "{outcome:?}");
    assert!(!worker.is_alive());
}

#[tokio::test]
#[ignore = "a measurement"]
async fn a_worker_is_up_in_milliseconds() {
    let workers = workers("");
    let mut quickest = Duration::MAX;
    for _ in 0..10 {
        let began = std::time::Instant::now();
        let worker = workers.start(limits()).await.unwrap();
        quickest = quickest.min(began.elapsed());
        worker.end().await;
    }
    assert!(quickest < Duration::from_millis(100), "{quickest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_never_greets_is_given_up() {
    assert!(matches!(workers("silent").start(limits()).await, Err(Error::Start(_))));
}

#[tokio::test]
async fn a_worker_dies_with_its_interpreter() {
    let mut worker = worker().await;
    let pid = worker.pid().unwrap();
    assert!(matches!(worker.run(program("f()", &["f"])).await.unwrap(), Next::Call(_)));
    drop(worker);
    let gone = async {
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
}

#[tokio::test]
async fn a_step_that_is_given_up_takes_the_worker_with_it() {
    let mut worker = worker().await;
    let step = worker.run(program("while True: pass", &[]));
    assert!(tokio::time::timeout(Duration::from_millis(20), step).await.is_err());
    assert!(!worker.is_alive());
    assert!(matches!(worker.run(program("1", &[])).await, Err(Error::Gone)));
}
