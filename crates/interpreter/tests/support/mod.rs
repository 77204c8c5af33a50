//! What the tests share: a worker that is started, and short ways to run programs in it.
#![allow(dead_code)]

use convoke_interpreter::{
    Answer, Call, Ended, Failed, Interpreter, Limits, Next, Origin, Program, WorkerCommand, Workers,
};
use serde_json::Value;
use std::time::Duration;

/// Workers of this crate, asked to do `task` instead of serving if it is not empty.
pub fn workers(task: &str) -> Workers {
    let args = Some(task).filter(|task| !task.is_empty()).map(Into::into).into_iter().collect();
    Workers::new(WorkerCommand { program: env!("CARGO_BIN_EXE_interpreter-worker").into(), args })
}

/// Bounds that a hostile program meets soon, and a harmless one never.
pub fn limits() -> Limits {
    Limits { time: Duration::from_secs(2), memory_bytes: 64 << 20, ..Limits::default() }
}

/// A worker with those bounds.
pub async fn worker() -> Interpreter {
    workers("").start(limits()).await.unwrap()
}

/// A program that may call these functions.
pub fn program(text: &str, functions: &[&str]) -> Program {
    Program {
        text: text.into(),
        functions: functions.iter().map(ToString::to_string).collect(),
        ..Program::default()
    }
}

/// The same, with the variables of the program before.
pub fn next_program(text: &str, functions: &[&str]) -> Program {
    Program { origin: Origin::Kept, ..program(text, functions) }
}

/// Runs a program that calls nothing in a worker of its own.
pub async fn alone(text: &str) -> Next {
    let mut worker = worker().await;
    let next = worker.run(program(text, &[])).await.unwrap();
    worker.end().await;
    next
}

/// The value of a program that calls nothing.
pub async fn value(text: &str) -> Value {
    ended(alone(text).await).value
}

#[track_caller]
pub fn ended(next: Next) -> Ended {
    match next {
        Next::Ended(ended) => *ended,
        other => panic!("it did not end: {other:#?}"),
    }
}

#[track_caller]
pub fn failed(next: Next) -> Failed {
    match next {
        Next::Failed(failed) => *failed,
        other => panic!("it did not fail: {other:#?}"),
    }
}

#[track_caller]
pub fn called(next: Next) -> Call {
    match next {
        Next::Call(call) => *call,
        other => panic!("it did not call: {other:#?}"),
    }
}

/// The answer that gives back the first argument.
pub fn echo(call: &Call) -> Answer {
    Answer::Value(call.args.first().cloned().unwrap_or_default())
}
