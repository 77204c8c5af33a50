//! What becomes of a program that does not fit, of a place that is not safe, of several troubles at once, and of a host
//! function that is slow or broken (PE-17 to PE-20; see the design note on programs of models).

use crate::support;

use convoke_interpreter::{Answer, Cause, Error, Kind, MODULES};
use convoke_model::{Class, Failure};
use serde_json::json;
use std::time::Duration;
use support::*;

/// PE-17: there is one kind of sandbox. A program that it can run is run, host calls and classes included; one that
/// needs more fails with the reason and what to use instead. Nothing weaker or stronger is tried in its place.
#[tokio::test]
async fn one_sandbox_runs_what_it_can_and_says_what_it_cannot() {
    assert_eq!(value("sum([1, 2])").await, json!(3));
    assert_eq!(value("class A:\n  def f(self): return 1\nA().f()").await, json!(1));
    let both = "class A:\n  def f(self): return llm('x')\nA().f()";
    assert_eq!(called(worker().await.run(program(both, &["llm"])).await.unwrap()).function, "llm");
    for text in
        ["import pandas as pd", "from requests import get", "class A(B): pass", "match x:\n  case 1: pass"]
    {
        let failure = failed(alone(text).await);
        assert_eq!(failure.kind, Kind::Unsupported, "{text}");
        let hint = failure.hint.clone().unwrap();
        assert!(MODULES.iter().all(|module| hint.contains(module)), "{hint}");
        let failure = failure.failure();
        assert_eq!((failure.class, failure.hint), (Class::InvalidOutput, Some(hint)));
    }
    let failure = failed(alone("x = (").await);
    assert_eq!((failure.kind, failure.line), (Kind::Syntax, Some(1)));
}

/// PE-18: without isolation nothing runs. The refusals themselves are shown in `confinement.rs`.
#[tokio::test]
async fn a_place_that_is_not_safe_is_refused_for_good() {
    let refused = workers("without-seccomp").start(limits()).await.err().unwrap();
    assert_eq!(Failure::from(refused).class, Class::Fatal);
}

/// PE-19: the gravest of several troubles decides.
#[test]
fn the_gravest_cause_decides() {
    use Cause::*;
    assert_eq!(Cause::gravest([Unknown, HostTimeout, SandboxFatal]), SandboxFatal);
    assert_eq!(Cause::gravest([BadProgram, Unknown]), BadProgram);
    assert_eq!(Cause::gravest([]), Unknown);
    let words = [SandboxFatal, ProgramTimeout, HostTimeout, BadProgram, Rejected, Unknown].map(Cause::word);
    assert_eq!(
        words,
        [
            "sandbox_fatal",
            "sandbox_exec_timeout",
            "host_tool_timeout",
            "model_generated_bad_code",
            "evaluator_reject",
            "unknown"
        ]
    );
}

#[tokio::test]
async fn a_failed_program_has_a_cause() {
    for (text, cause) in [
        ("1 / 0", Cause::BadProgram),
        ("import numpy", Cause::BadProgram),
        ("open('x')", Cause::BadProgram),
        ("'x' * 10 ** 12", Cause::BadProgram),
        ("while True: pass", Cause::ProgramTimeout),
    ] {
        assert_eq!(Cause::from(&failed(alone(text).await)), cause, "{text}");
    }
}

/// PE-20: a slow host function is an exception that the program may catch.
#[tokio::test]
async fn a_slow_host_function_is_an_exception_in_the_program() {
    let text = "try:\n  f()\nexcept TimeoutError as error:\n  answer = str(error)\nanswer";
    let mut worker = worker().await;
    let call = called(worker.run(program(text, &["f"])).await.unwrap());
    let slow = std::future::pending::<Result<Answer, Failure>>();
    let next = worker.answer_within(call.number, Duration::from_millis(1), slow).await.unwrap();
    assert_eq!(ended(next).value, json!("no answer within 1ms"));
}

/// PE-20: a host function that fails for good is none of the program's business.
#[tokio::test]
async fn a_fatal_failure_of_a_host_function_is_given_back() {
    let text = "try:\n  f()\nexcept BaseException:\n  pass\n'hidden'";
    let mut worker = worker().await;
    called(worker.run(program(text, &["f"])).await.unwrap());
    let fatal = Failure::new(Class::Fatal, "sandbox: gone").reason("sandbox_fatal");
    let failing = std::future::ready(Err(fatal.clone()));
    let error = worker.answer_within(1, Duration::from_secs(180), failing).await.unwrap_err();
    assert!(matches!(error, Error::Host(_)));
    assert_eq!(Failure::from(error), fatal);
    assert!(!worker.is_alive());
}
