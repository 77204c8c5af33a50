//! Programs that mean harm end themselves, or at worst their worker. The host goes on.

use crate::support;

use convoke_interpreter::{Answer, Failed, Kind, Limits, Next, Origin, Program};
use convoke_model::Class;
use serde_json::json;
use std::time::Duration;
use support::*;

/// Little time for what never ends, and enough for a slow machine to do the rest in.
fn tight() -> Limits {
    Limits { time: Duration::from_secs(1), grace: Duration::from_secs(2), ..limits() }
}

/// How a program fails that must not succeed.
async fn harm(text: &str) -> Failed {
    harm_within(text, tight()).await
}

async fn harm_within(text: &str, limits: Limits) -> Failed {
    let mut worker = workers("").start(limits).await.unwrap();
    let failure = failed(worker.run(program(text, &["f"])).await.unwrap());
    assert_eq!(worker.is_alive(), !failure.is_death());
    if worker.is_alive() {
        // The worker is as good as new for the next program.
        let next = worker.run(program("1 + 1", &[])).await.unwrap();
        assert_eq!(ended(next).value, json!(2), "after {text}");
    }
    failure
}

async fn each_is(kinds: &[Kind], texts: &[&str]) {
    // Only what never ends is to run out of time.
    let ample = Limits { time: Duration::from_secs(30), grace: Duration::from_secs(30), ..limits() };
    let limits = if kinds.contains(&Kind::Time) { tight() } else { ample };
    for text in texts {
        let failure = harm_within(text, limits.clone()).await;
        assert!(kinds.contains(&failure.kind), "{text}: {failure:#?}");
    }
}

#[tokio::test]
async fn loops_without_end_run_out_of_time() {
    let texts = [
        "while True: pass",
        "try:\n  while True: pass\nexcept BaseException: pass",
        "import itertools\nfor x in itertools.count(): pass",
        "sum(range(10 ** 12))",
        "max(iter(int, 1))",
        "while True:\n  try:\n    nothing()\n  except NameError: pass",
        "while True:\n  try:\n    f(f)\n  except TypeError: pass",
        "while True:\n  try:\n    1 / 0\n  except ZeroDivisionError: pass",
    ];
    each_is(&[Kind::Time], &texts).await;
}

#[tokio::test]
async fn what_does_not_look_at_the_clock_is_ended_by_the_host() {
    let failure = harm("pow(3, 10 ** 30000, 10 ** 30000 + 1)").await;
    let death = failure.death.unwrap();
    assert_eq!((failure.kind, death.by_host, death.signal), (Kind::Time, true, Some(libc::SIGKILL)));
    assert_eq!(failure.failure().class, Class::Timeout);
}

#[tokio::test]
async fn memory_that_is_not_there_is_refused_before_it_is_taken() {
    let texts = [
        "'x' * 160_000_000_000",
        "[0] * 10 ** 11",
        "bytes(10 ** 11)",
        "'a'.ljust(10 ** 11)",
        "10 ** (10 ** 9)",
        "2 ** (2 ** 40)",
        "1 << (1 << 40)",
        "('x' * 5_000_000).replace('x', 'y' * 100)",
    ];
    each_is(&[Kind::Memory], &texts).await;
}

#[tokio::test]
async fn memory_that_grows_ends_the_program_or_its_worker() {
    let limits = Limits { time: Duration::from_secs(60), memory_bytes: 16 << 20, ..limits() };
    for text in [
        "a = []\nwhile True: a.append('x' * 1000 + str(len(a)))",
        "s = 'x'\nwhile True: s += s",
        "d = {}\nwhile True: d[len(d)] = [1]",
        "list(range(10 ** 10))",
        "f'{1:>100000000000}'",
        "a = []\nfor i in range(10 ** 9): a = [a]",
        "{i: [i] * 10 for i in range(10 ** 9)}",
        "import itertools\nlist(itertools.repeat('x'))",
        "a = [0]\nfor i in range(60): a = [a, a]\na",
        "a = [0]\nfor i in range(60): a = [a, a]\nprint(a)",
    ] {
        let mut worker = workers("").start(limits.clone()).await.unwrap();
        let failure = failed(worker.run(program(text, &[])).await.unwrap());
        assert!(matches!(failure.kind, Kind::Memory | Kind::Died), "{text}: {failure:#?}");
        assert_eq!(failure.failure().class, Class::InvalidOutput);
        assert!(failure.hint.is_some());
    }
}

#[tokio::test]
async fn variables_that_fill_the_memory_are_let_go_and_others_are_not() {
    let mut worker = worker().await;
    ended(worker.run(program("x = 1", &[])).await.unwrap());
    let failure = failed(worker.run(next_program("y = 'x' * 160_000_000_000", &[])).await.unwrap());
    assert!(failure.kept && failure.session.is_some());
    assert_eq!(ended(worker.run(next_program("x", &[])).await.unwrap()).value, json!(1));
    let failure =
        failed(worker.run(next_program("a = []\nwhile True: a.append('x' * 1000)", &[])).await.unwrap());
    assert_eq!((failure.kept, failure.session), (false, None));
    assert_eq!(ended(worker.run(next_program("1", &[])).await.unwrap()).value, json!(1));
}

#[tokio::test]
async fn recursion_has_a_depth() {
    let texts = [
        "def f(n): return f(n + 1)\nf(0)",
        "f = lambda x: f(x)\nf(1)",
        "class A:\n  def __repr__(self): return repr(self)\nrepr(A())",
        "class A:\n  def __eq__(self, other): return self == other\nA() == A()",
        "def g(n): return sorted([1, 2], key=lambda x: g(x))\ng(0)",
        "def g(n): return list(map(g, [1]))\ng(0)",
    ];
    each_is(&[Kind::Recursion], &texts).await;
}

#[tokio::test]
async fn structures_that_are_nested_without_end_do_no_harm() {
    let deep = "a = []\nfor i in range(100_000): a = [a]\n";
    for end in [
        "a",
        "print(a)",
        "import json\njson.dumps(a)",
        "f(a)",
        "a == [a]",
        "hash((a,))",
        "b = a\na = 0\nb = 0",
    ] {
        let mut worker = worker().await;
        let next = worker.run(program(&format!("{deep}{end}"), &["f"])).await.unwrap();
        assert!(!matches!(next, Next::Call(_)), "{end}");
    }
}

#[tokio::test]
async fn the_operating_system_is_out_of_reach() {
    let refused = [
        "open('/etc/passwd')",
        "open('/tmp/x', 'w').write('x')",
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "from pathlib import Path\nlist(Path('/').iterdir())",
        "import os\nos.environ['PATH']",
        "import os\nos.getenv('PATH')",
        "from datetime import datetime\ndatetime.now()",
    ];
    each_is(&[Kind::RefusedOsCall], &refused).await;
    let absent = [
        "import socket",
        "import subprocess",
        "import ctypes",
        "import urllib.request",
        "import sys, signal",
    ];
    each_is(&[Kind::Unsupported], &absent).await;
    let unknown =
        ["import os\nos.system('ls')", "import os\nos.fork()", "__builtins__", "().__class__.__bases__[0]"];
    each_is(&[Kind::Exception], &unknown).await;
}

#[tokio::test]
async fn what_sleeps_does_not_sleep_long() {
    each_is(&[Kind::Unsupported], &["import time\ntime.sleep(1000)"]).await;
    each_is(&[Kind::Exception], &["import asyncio\nasyncio.run(asyncio.sleep(1000))"]).await;
}

#[tokio::test]
async fn prints_without_end_are_cut() {
    let failure = harm("while True: print('x' * 1000)").await;
    assert_eq!(failure.kind, Kind::Time);
    assert_eq!(failure.printed.text.len() as u64, tight().printed_bytes);
    assert!(failure.printed.cut > 1_000_000, "{}", failure.printed.cut);
}

#[tokio::test]
async fn a_value_that_is_too_large_is_measured_and_not_given() {
    let limits = Limits { message_bytes: 1_000_000, ..limits() };
    let mut worker = workers("").start(limits).await.unwrap();
    let end = ended(worker.run(program("'x' * 5_000_000", &[])).await.unwrap());
    assert_eq!((end.value, end.cut_value), (json!(null), Some(5_000_002)));
    let text = "try:\n  f('x' * 5_000_000)\nexcept ValueError as error:\n  print(error)";
    let end = ended(worker.run(program(text, &["f"])).await.unwrap());
    assert_eq!(end.printed.text, "f(): 5000009 bytes of arguments, at most 1000000\n");
    // The other way as well.
    let text = "try:\n  f()\nexcept ValueError as error:\n  print(error)";
    called(worker.run(program(text, &["f"])).await.unwrap());
    let end = ended(worker.answer(1, Answer::Value(json!("x".repeat(1_000_000)))).await.unwrap());
    assert_eq!(
        end.printed.text,
        "the answer has 1000002 bytes, and at most 1000000 fit: ask for a part of it\n"
    );
    called(worker.run(program(text, &["f"])).await.unwrap());
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let end = ended(worker.answer(1, Answer::Value(deep)).await.unwrap());
    assert_eq!(end.printed.text, "the answer is nested too deep\n");
}

#[tokio::test]
async fn an_exception_that_says_too_much_is_cut() {
    let failure = harm("raise ValueError('x' * 10_000_000)").await;
    assert!(failure.message.len() < 3_000 && failure.traceback.len() < 9_000);
    assert!(failure.traceback.contains("line 1, in <module>"), "{}", failure.traceback);
}

#[tokio::test]
async fn texts_that_are_too_long_are_not_even_sent() {
    let mut worker = workers("").start(Limits { message_bytes: 1 << 20, ..limits() }).await.unwrap();
    let failure = failed(worker.run(program(&"x = 1\n".repeat(100_000), &[])).await.unwrap());
    assert_eq!((failure.kind, failure.kept), (Kind::TooLarge, true));
    let inputs = json!({"x": "y".repeat(2 << 20)}).as_object().unwrap().clone();
    let failure = failed(worker.run(Program { inputs, ..program("1", &[]) }).await.unwrap());
    assert_eq!(failure.kind, Kind::TooLarge);
    assert!(worker.is_alive());
}

#[tokio::test]
async fn texts_that_are_nested_too_deep_are_no_python() {
    let texts = [
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1", "-".repeat(100_000)),
        format!("{}1", "not ".repeat(50_000)),
        format!("{}1", "1+".repeat(100_000)),
        format!("{}1", "lambda:".repeat(30_000)),
        format!("{}1", "a if b else ".repeat(20_000)),
        format!("a{}", ".b".repeat(100_000)),
        format!("a{}", "()".repeat(100_000)),
        format!("x = {}1{}", "f'{".repeat(300), "}'".repeat(300)),
        format!("x = {}", "9".repeat(200_000)),
        "'''".into(),
        "\u{0}".into(),
        "\\".into(),
    ];
    for text in texts {
        assert_eq!(harm(&text).await.kind, Kind::Syntax, "{}", &text[..text.len().min(40)]);
    }
}

#[tokio::test]
async fn a_worker_that_is_killed_is_a_failed_program() {
    let mut worker = worker().await;
    called(worker.run(program("f()", &["f"])).await.unwrap());
    let pid = rustix::process::Pid::from_raw(worker.pid().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let failure = failed(worker.answer(1, Answer::Value(json!(1))).await.unwrap());
    assert_eq!((failure.kind, failure.death.unwrap().signal), (Kind::Died, Some(libc::SIGKILL)));
    // Nothing that a program does sends that signal: another attempt may work.
    assert_eq!(failure.failure().class, Class::Transient);
    assert!(!worker.is_alive());
}

#[tokio::test]
async fn processor_time_of_the_worker_has_an_end_of_its_own() {
    let limits = Limits { cpu_seconds: 1, time: Duration::from_secs(60), ..limits() };
    let mut worker = workers("").start(limits).await.unwrap();
    let failure = failed(worker.run(program("while True: pass", &[])).await.unwrap());
    assert_eq!((failure.kind, failure.death.unwrap().signal), (Kind::Time, Some(libc::SIGXCPU)));
}

#[tokio::test]
async fn damaged_variables_are_said_to_be() {
    for bytes in [b"x".to_vec(), b"MONTY\0\xff\xff".to_vec(), b"MONTY\0\x08\0garbage".to_vec()] {
        let origin = Origin::Saved(convoke_interpreter::Session(bytes));
        let outcome = worker().await.run(Program { origin, ..program("1", &[]) }).await;
        assert!(matches!(outcome, Err(convoke_interpreter::Error::Unusable(_))), "{outcome:?}");
    }
}
