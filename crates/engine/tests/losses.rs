//! Attempts whose outcome is unknown, because the process that performed them is gone.

use crate::common;

use common::{drive_by, fresh, interrupt};
use convoke_agent::{EngineLink, Executor};
use convoke_engine::{Changes, Outcome, Start};
use convoke_journal::{Journal, Memory};
use convoke_model::{Assignment, AttemptEnd, Class, Event, Failure, JsonText, RunStatus, Usage, reason};
use convoke_testkit::plan_of;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

/// The first attempt of every task is lost.
struct LostAtFirst;

impl Executor for LostAtFirst {
    fn attempt(
        &self,
        assignment: Assignment,
        _line: Arc<dyn EngineLink>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let output = JsonText::of(&serde_json::json!({ "result": "done" }));
        let end = match assignment.attempt {
            1 => AttemptEnd::Lost,
            _ => AttemptEnd::Finished { output, usage: Usage::default() },
        };
        Box::pin(std::future::ready(end))
    }
}

async fn run_of(step: &str) -> (Outcome, Vec<&'static str>) {
    let plan =
        plan_of(&format!("workflow: {{name: w, entry_point: a}}\nagents: [{{name: a, {step}}}]\n"), &[]);
    let journal = Memory::new();
    let outcome = drive_by(Arc::new(LostAtFirst), &plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    let word = |event: &Event| match event {
        Event::AttemptStarted { .. } => Some("started"),
        Event::AttemptLost { .. } => Some("lost"),
        Event::AttemptFinished { .. } => Some("finished"),
        Event::GateOpened { .. } => Some("asked"),
        Event::TaskFailed { .. } => Some("failed"),
        _ => None,
    };
    let events = journal.read_all().expect("a journal");
    (outcome, events.iter().filter_map(|stamped| word(&stamped.event)).collect())
}

#[tokio::test]
async fn an_agent_is_tried_again() {
    let (outcome, words) = run_of("prompt: p").await;
    assert_eq!(outcome.status, RunStatus::Succeeded);
    assert_eq!(words, ["started", "lost", "started", "finished"]);
}

#[tokio::test]
async fn a_command_asks_a_person() {
    let (outcome, words) = run_of("type: script, command: c").await;
    assert_eq!(outcome.status, RunStatus::Parked);
    assert_eq!(words, ["started", "lost", "asked"]);
}

#[tokio::test]
async fn a_step_may_say_what_becomes_of_it() {
    let (outcome, words) = run_of("type: script, command: c, on_unknown: fail").await;
    assert_eq!((outcome.status, words), (RunStatus::Failed, vec!["started", "lost", "failed"]));
    let (outcome, words) = run_of("type: script, command: c, idempotent: true").await;
    assert_eq!(outcome.status, RunStatus::Succeeded);
    assert_eq!(words, ["started", "lost", "started", "finished"]);
}

/// The first attempt of every task is told to stop, and says so with this reason.
struct StoppedAtFirst(Option<&'static str>);

impl Executor for StoppedAtFirst {
    fn attempt(
        &self,
        assignment: Assignment,
        _line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let why = self.0;
        Box::pin(async move {
            if assignment.attempt > 1 {
                let output = JsonText::of(&serde_json::json!({ "result": "done" }));
                return AttemptEnd::Finished { output, usage: Usage::default() };
            }
            cancel.cancelled().await;
            let mut failure = Failure::new(Class::Cancelled, "cancelled");
            failure.reason = why.map(Into::into);
            AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
        })
    }
}

/// A command that was stopped is asked about; one that was told to stop before it had started is not.
#[tokio::test]
async fn what_had_not_started_when_it_was_stopped_is_not_asked_about() {
    let step = "agents: [{name: a, type: script, command: c}]\n";
    let plan = plan_of(&format!("workflow: {{name: w, entry_point: a}}\n{step}"), &[]);
    for (why, status) in [(None, RunStatus::Parked), (Some(reason::NEVER_STARTED), RunStatus::Succeeded)] {
        let (journal, executor) = (Memory::new(), Arc::new(StoppedAtFirst(why)));
        let stopped = interrupt(executor.clone(), &plan, journal.clone(), fresh(&plan)).await;
        assert_eq!(stopped.status, RunStatus::Interrupted);
        let resume = Start::Resume(Changes::None);
        let outcome = drive_by(executor, &plan, journal, resume, Duration::from_secs(1)).await;
        assert_eq!(outcome.status, status, "{why:?}");
    }
}

/// Says that an attempt has begun, and holds something for as long as the attempt goes on.
struct Endless(UnboundedSender<Receiver<()>>);

impl Executor for Endless {
    fn attempt(
        &self,
        _assignment: Assignment,
        _line: Arc<dyn EngineLink>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let (held, gone) = channel();
        self.0.send(gone).expect("the test listens");
        Box::pin(async move {
            let _held: Sender<()> = held;
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn nothing_goes_on_behind_a_run_that_is_dropped() {
    let plan = plan_of("workflow: {name: w, entry_point: a}\nagents: [{name: a, prompt: p}]\n", &[]);
    let (begun, mut attempts) = unbounded_channel();
    let driven =
        drive_by(Arc::new(Endless(begun)), &plan, Memory::new(), fresh(&plan), Duration::from_secs(1));
    let gone = tokio::select! {
        _ = driven => unreachable!("its attempt does not end"),
        gone = attempts.recv() => gone.expect("an attempt"),
    };
    assert!(gone.await.is_err(), "the attempt was dropped with the run");
}
