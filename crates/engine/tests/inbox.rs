//! What other processes say to a run, while no process drives it.

use crate::common;

use common::{drive, fresh};
use convoke_engine::{Changes, Start};
use convoke_journal::{Memory, Message, Reply};
use convoke_model::{Answer, RunStatus, TaskId, Timestamp};
use convoke_testkit::plan_of;
use std::time::Duration;

const GATED: &str = "
workflow: {name: gated, entry_point: ask}
agents:
  - name: ask
    type: human_gate
    prompt: 'go on?'
    options: [{label: Yes, value: y, route: $end}, {label: No, value: n, route: $end}]
output: {said: '{{ ask.output.selected }}'}
";

#[tokio::test]
async fn an_answer_given_while_nobody_drove_the_run_is_taken_when_it_is_resumed() {
    let plan = plan_of(GATED, &[]);
    let journal = Memory::new();
    let parked = drive(&plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    assert_eq!(parked.status, RunStatus::Parked);
    let answer = Answer::Choice { value: "n".into(), input: Default::default() };
    let task = TaskId::new(None, "ask", None, 1);
    journal.send(Timestamp(1), Message::Answer(Box::new(Reply::new(task, answer, "somebody"))));
    let ended = drive(&plan, journal.reopen(), Start::Resume(Changes::None), Duration::ZERO).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    assert_eq!(ended.output.as_ref().map(|text| text.as_str()), Some(r#"{"said":"n"}"#));
}
