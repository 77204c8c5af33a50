//! Limits of time, across owners of a run.

use crate::common;

use common::{drive, fresh};
use convoke_engine::{Changes, Start};
use convoke_journal::{Memory, Message, Reply};
use convoke_model::{Answer, JsonText, RunStatus, TaskId, Timestamp};
use convoke_plan::Plan;
use convoke_testkit::plan_of;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn gated(limits: &str, gate: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: gated, entry_point: ask, limits: {{{limits}}}}}
agents:
  - name: ask
    type: human_gate
    prompt: 'go on?'
    {gate}
    options: [{{label: Yes, value: y, route: $end}}, {{label: No, value: n, route: $end}}]
output: {{said: '{{{{ ask.output.selected }}}}'}}
"
    );
    plan_of(&text, &[])
}

/// How a run ends that is resumed an hour after it parked, with an answer that was left so long after the question.
async fn answered_after(plan: &Arc<Plan>, left: Duration) -> (RunStatus, Option<JsonText>) {
    let journal = Memory::new();
    let parked = drive(plan, journal.clone(), fresh(plan), Duration::ZERO).await;
    assert_eq!(parked.status, RunStatus::Parked);
    let answer = Answer::Choice { value: "y".into(), input: Default::default() };
    let task = TaskId::new(None, "ask", None, 1);
    journal.send(Timestamp(2) + left, Message::Answer(Box::new(Reply::new(task, answer, "somebody"))));
    let ended = drive(plan, journal.reopen(), Start::Resume(Changes::None), HOUR).await;
    (ended.status, ended.output)
}

#[tokio::test]
async fn time_that_nobody_drove_the_run_is_not_the_workflows() {
    let (status, _) = answered_after(&gated("timeout_seconds: 60", ""), HOUR).await;
    assert_eq!(status, RunStatus::Succeeded);
}

/// The time to answer is wall time, whether or not a process drives the run: what counts is when the answer was on disk.
#[tokio::test]
async fn an_answer_that_was_left_in_time_counts_and_a_later_one_does_not() {
    let gate = gated("max_iterations: 5", "timeout: 60s");
    assert_eq!(answered_after(&gate, Duration::from_secs(59)).await.0, RunStatus::Succeeded);
    assert_eq!(answered_after(&gate, Duration::from_secs(61)).await.0, RunStatus::Failed);
}

#[tokio::test]
async fn a_default_stands_for_a_late_answer_only() {
    let gate = gated("max_iterations: 5", "timeout: 60s\n    default: n");
    let said = |word: &str| Some(JsonText::of(&serde_json::json!({ "said": word })));
    assert_eq!(answered_after(&gate, Duration::from_secs(59)).await, (RunStatus::Succeeded, said("y")));
    assert_eq!(answered_after(&gate, Duration::from_secs(61)).await, (RunStatus::Succeeded, said("n")));
}

async fn resumed_after_its_time_was_over(text: &str) {
    let plan = plan_of(text, &[]);
    let journal = Memory::new();
    let failed = drive(&plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    assert_eq!(failed.status, RunStatus::Failed, "{text}");
    let ended = drive(&plan, journal.reopen(), Start::Resume(Changes::None), HOUR).await;
    assert_eq!((ended.status, ended.failure), (RunStatus::Succeeded, None), "{text}");
}

#[tokio::test]
async fn a_run_whose_time_was_over_has_it_again_when_it_is_resumed() {
    resumed_after_its_time_was_over(
        "
workflow: {name: w, entry_point: a, limits: {timeout_seconds: 1}}
agents:
  - {name: a, prompt: x}
",
    )
    .await;
}

#[tokio::test]
async fn a_step_or_group_whose_time_was_over_has_it_again_when_it_is_resumed() {
    resumed_after_its_time_was_over(
        "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, timeout: 3s}
",
    )
    .await;
    resumed_after_its_time_was_over(
        "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b], timeout: 3s}
agents:
  - {name: a, prompt: x}
  - {name: b, type: set, value: '1'}
",
    )
    .await;
}
