//! A run in memory, driven by whoever comes.

use convoke_agent::{Admission, Sink};
use convoke_engine::{Clock, Executor, Options, Outcome, Setup, Start, prepare};
use convoke_journal::Memory;
use convoke_model::{
    Assignment, AttemptEnd, Class, Failure, JsonText, Payload, RunId, RunStarted, Timestamp, Usage,
};
use convoke_plan::Plan;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The first attempt of a task hangs until it is told to stop, every further one ends well.
struct SlowAtFirst;

impl Executor for SlowAtFirst {
    fn attempt(
        &self,
        assignment: Assignment,
        _admission: Arc<dyn Admission>,
        _sink: Arc<dyn Sink>,
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
    }))
}

/// Drives a run, beginning so long after its first moment.
pub async fn drive(plan: &Arc<Plan>, journal: Memory, start: Start, after: Duration) -> Outcome {
    let setup = Setup {
        plan: plan.clone(),
        journal: Box::new(journal),
        executor: Arc::new(SlowAtFirst),
        start,
        options: Options { max_concurrency: 1, interactive: false, pid: 1, host: "here".into() },
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::starting_at(Timestamp(1) + after),
    };
    let (run, _handle, _watch) = prepare(setup).expect("a run that can be driven");
    run.drive().await.expect("a journal that can be written")
}
