//! A run in memory, with executors to drive it.
#![allow(dead_code, reason = "each test file uses what it needs")]

use convoke_agent::{EngineLink, Executor};
use convoke_engine::{Clock, Limits, Options, Outcome, Setup, Start, prepare};
use convoke_journal::Memory;
use convoke_model::{
    Assignment, AttemptEnd, Class, Failure, JsonText, Payload, RunId, RunStarted, Timestamp, Usage,
};
use convoke_plan::Plan;
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The first attempt of a task hangs until it is told to stop, every further one ends well.
struct SlowAtFirst;

impl Executor for SlowAtFirst {
    fn attempt(
        &self,
        assignment: Assignment,
        _line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        Box::pin(async move {
            if assignment.attempt == 1 {
                cancel.cancelled().await;
                let failure = Failure::new(Class::Cancelled, "cancelled");
                return AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
            }
            let output = JsonText::of(&serde_json::json!({ "result": "done" }));
            AttemptEnd::Finished { output, usage: Usage::default() }
        })
    }
}

/// Some tasks fail at their first attempt; it counts which tasks were attempted, and how many at once.
pub struct FailsAtFirst {
    failing: Vec<&'static str>,
    attempts: Mutex<Vec<(String, u32)>>,
    running: Arc<AtomicUsize>,
    peak: AtomicUsize,
}

impl FailsAtFirst {
    /// These tasks fail.
    pub fn of(failing: &[&'static str]) -> FailsAtFirst {
        FailsAtFirst {
            failing: failing.to_vec(),
            attempts: Mutex::default(),
            running: Arc::default(),
            peak: AtomicUsize::default(),
        }
    }

    /// Every attempt so far.
    pub fn attempts(&self) -> Vec<(String, u32)> {
        self.attempts.lock().expect("a panic poisoned this lock").clone()
    }

    /// The most attempts at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

impl Executor for FailsAtFirst {
    fn attempt(
        &self,
        assignment: Assignment,
        _line: Arc<dyn EngineLink>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let task = assignment.task.to_string();
        let fails = assignment.attempt == 1 && self.failing.contains(&task.as_str());
        self.attempts.lock().expect("a panic poisoned this lock").push((task, assignment.attempt));
        let running = self.running.clone();
        self.peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Box::pin(async move {
            // Other attempts that may start do so meanwhile.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            if fails {
                let failure = Failure::new(Class::Fatal, "it fails at first");
                return AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
            }
            let output = JsonText::of(&serde_json::json!({ "result": "done" }));
            AttemptEnd::Finished { output, usage: Usage::default() }
        })
    }
}

/// A new run of a plan.
pub fn fresh(plan: &Plan) -> Start {
    Start::Fresh(Box::new(RunStarted {
        run: RunId("run".into()),
        workflow: plan.root().name.to_string(),
        file: plan.root().file.clone(),
        folder: ".".into(),
        plan: plan.digest(),
        inputs: Payload::Inline(JsonText::of(&serde_json::json!({}))),
        seed: 1,
        skip_gates: false,
        version: "test".into(),
        metadata: Default::default(),
        configuration: Default::default(),
        base: None,
    }))
}

/// Drives a run, beginning so long after its first moment.
pub async fn drive(plan: &Arc<Plan>, journal: Memory, start: Start, after: Duration) -> Outcome {
    drive_by(Arc::new(SlowAtFirst), plan, journal, start, after).await
}

/// Drives a run whose attempts the given executor performs.
pub async fn drive_by(
    executor: Arc<dyn Executor>,
    plan: &Arc<Plan>,
    journal: Memory,
    start: Start,
    after: Duration,
) -> Outcome {
    let setup = setup(executor, plan, journal, start, after);
    let (run, _handle, _watch) = prepare(setup).expect("a run that can be driven");
    run.drive().await.expect("a journal that can be written")
}

/// Drives a run by this clock; it is let go of after so long, if it has not ended by then.
pub async fn drive_on(
    clock: Clock,
    plan: &Arc<Plan>,
    journal: Memory,
    start: Start,
    let_go_after: Option<Duration>,
) -> Outcome {
    let executor = Arc::new(FailsAtFirst::of(&[]));
    let setup = Setup { clock, ..setup(executor, plan, journal, start, Duration::ZERO) };
    let (run, handle, _watch) = prepare(setup).expect("a run that can be driven");
    let driven = run.drive();
    tokio::pin!(driven);
    // A timer far away would be due as soon as the run waits for its journal's thread.
    let Some(time) = let_go_after else { return driven.await.expect("a journal that can be written") };
    let outcome = match tokio::time::timeout(time, &mut driven).await {
        Ok(outcome) => outcome,
        Err(_) => {
            handle.interrupt(false, "test");
            driven.await
        }
    };
    outcome.expect("a journal that can be written")
}

/// Drives a run that is let go of as soon as its first attempts have begun.
pub async fn interrupt(
    executor: Arc<dyn Executor>,
    plan: &Arc<Plan>,
    journal: Memory,
    start: Start,
) -> Outcome {
    let setup = setup(executor, plan, journal, start, Duration::ZERO);
    let (run, handle, _watch) = prepare(setup).expect("a run that can be driven");
    handle.interrupt(true, "test");
    run.drive().await.expect("a journal that can be written")
}

fn setup(
    executor: Arc<dyn Executor>,
    plan: &Arc<Plan>,
    journal: Memory,
    start: Start,
    after: Duration,
) -> Setup {
    Setup {
        plan: plan.clone(),
        journal: Box::new(journal),
        executor,
        start,
        options: Options {
            max_concurrency: 8,
            interactive: false,
            patience: Duration::ZERO,
            pid: 1,
            host: "here".into(),
            limits: Limits::default(),
        },
        capacity: None,
        projects: Vec::new(),
        reusable: None,
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::starting_at(Timestamp(1) + after),
    }
}
