//! What other processes say to a run, while nobody drives it.

use convoke_agent::{Admission, Sink};
use convoke_engine::{Changes, Clock, Executor, Options, Outcome, Setup, Start, prepare};
use convoke_journal::{Memory, Message};
use convoke_model::{
    Answer, Assignment, AttemptEnd, JsonText, Payload, RunId, RunStarted, RunStatus, TaskId, Timestamp,
};
use convoke_plan::Plan;
use convoke_testkit::plan_of;
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const GATED: &str = "
workflow: {name: gated, entry_point: ask}
agents:
  - name: ask
    type: human_gate
    prompt: 'go on?'
    options: [{label: Yes, value: y, route: $end}, {label: No, value: n, route: $end}]
output: {said: '{{ ask.output.selected }}'}
";

/// The workflows here have nothing to attempt.
struct Nobody;

impl Executor for Nobody {
    fn attempt(
        &self,
        assignment: Assignment,
        _admission: Arc<dyn Admission>,
        _sink: Arc<dyn Sink>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        panic!("{} was attempted", assignment.task)
    }
}

fn fresh(plan: &Plan) -> Start {
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

async fn drive(plan: &Arc<Plan>, journal: Memory, start: Start) -> Outcome {
    let setup = Setup {
        plan: plan.clone(),
        journal: Box::new(journal),
        executor: Arc::new(Nobody),
        start,
        options: Options { max_concurrency: 1, interactive: false, pid: 1, host: "here".into() },
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::system(),
    };
    let (run, _handle, _watch) = prepare(setup).expect("a run that can be driven");
    run.drive().await.expect("a journal that can be written")
}

#[tokio::test]
async fn an_answer_given_while_nobody_drove_the_run_is_taken_when_it_is_resumed() {
    let plan = plan_of(GATED, &[]);
    let journal = Memory::new();
    let parked = drive(&plan, journal.clone(), fresh(&plan)).await;
    assert_eq!(parked.status, RunStatus::Parked);
    let answer = Answer::Choice { value: "n".into(), input: Default::default() };
    let task = TaskId::new(None, "ask", None, 1);
    journal.send(Timestamp(1), Message::Answer { task, answer, by: "somebody".into() });
    let ended = drive(&plan, journal.reopen(), Start::Resume(Changes::None)).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    assert_eq!(ended.output.as_ref().map(|text| text.as_str()), Some(r#"{"said":"n"}"#));
}
