//! Conversations that are written down piece by piece, broken off, and gone on with.

use crate::common;

use common::{drive_by, fresh};
use convoke_agent::{EngineLink, Executor, TurnRecord};
use convoke_engine::report::fold;
use convoke_engine::{Changes, Start};
use convoke_journal::{Journal, Memory, Message, Reply};
use convoke_model::{
    Answer, Ask, AskOption, Assignment, AttemptEnd, Class, Digest, Event, Failure, JsonText, RunStatus,
    TaskId, Timestamp, Usage, WaitsFor,
};
use convoke_testkit::plan_of;
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const ONE_AGENT: &str = "
workflow: {name: w, entry_point: a}
agents: [{name: a, prompt: go, retry: {max_attempts: 3, delay_seconds: 0, retry_on: [provider_error, timeout]}}]
";

type Heard = Mutex<Vec<(Vec<JsonText>, Option<Answer>)>>;

/// Each attempt writes one piece down and then ends as the list says.
struct Talker {
    ends: Mutex<Vec<AttemptEnd>>,
    heard: Heard,
    kept: String,
    recalled: Arc<Mutex<Vec<Option<String>>>>,
}

impl Talker {
    fn ending(ends: Vec<AttemptEnd>) -> Arc<Talker> {
        let kept = "k".repeat(10_000);
        Arc::new(Talker { ends: Mutex::new(ends), heard: Mutex::default(), kept, recalled: Arc::default() })
    }

    fn pieces_given(&self) -> Vec<usize> {
        self.heard.lock().unwrap().iter().map(|(pieces, _)| pieces.len()).collect()
    }
}

impl Executor for Talker {
    fn attempt(
        &self,
        assignment: Assignment,
        line: Arc<dyn EngineLink>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let end = self.ends.lock().unwrap().remove(0);
        self.heard.lock().unwrap().push((assignment.continues, assignment.answer));
        let kept = JsonText::of(&self.kept);
        let recalled = self.recalled.clone();
        Box::pin(async move {
            let digest = Digest::of(kept.as_str().as_bytes());
            let usage = Usage { calls: 1, input_tokens: 10, ..Usage::default() };
            let piece = JsonText::of(&json!({ "turn": assignment.attempt }));
            line.record(TurnRecord::new(piece, vec![kept], usage)).await.expect("the journal takes it");
            let text = line.recall(digest).await.map(|text| text.value().as_str().unwrap().to_owned());
            recalled.lock().unwrap().push(text);
            end
        })
    }
}

fn fails(class: Class) -> AttemptEnd {
    AttemptEnd::Failed { failure: Failure::new(class, "no"), usage: used(), partial: None }
}

fn ends_well() -> AttemptEnd {
    AttemptEnd::Finished { output: JsonText::of(&json!({ "result": "done" })), usage: used() }
}

fn used() -> Usage {
    Usage { calls: 1, ..Usage::default() }
}

#[tokio::test]
async fn a_fault_that_passes_keeps_the_conversation_and_every_call_is_counted_once() {
    let talker = Talker::ending(vec![fails(Class::Transient), fails(Class::RateLimit), ends_well()]);
    let (plan, journal) = (plan_of(ONE_AGENT, &[]), Memory::new());
    let ended = drive_by(talker.clone(), &plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    assert_eq!(talker.pieces_given(), [0, 1, 2]);
    let recalled = talker.recalled.lock().unwrap().clone();
    assert_eq!(recalled, vec![Some(talker.kept.clone()); 3], "what is recorded can be recalled at once");
    let report = fold(&journal.read_all().unwrap());
    assert_eq!(report.usage.calls, 6, "one in each piece and one in each end");
}

#[tokio::test]
async fn a_resumed_run_goes_on_with_what_was_written_down_unless_the_answer_was_no_good() {
    for (class, pieces) in [(Class::Permission, 1), (Class::InvalidOutput, 0), (Class::Fatal, 0)] {
        let talker = Talker::ending(vec![fails(class), ends_well()]);
        let (plan, journal) = (plan_of(ONE_AGENT, &[]), Memory::new());
        let failed = drive_by(talker.clone(), &plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
        assert_eq!(failed.status, RunStatus::Failed);
        let resume = Start::Resume(Changes::None);
        let ended = drive_by(talker.clone(), &plan, journal.reopen(), resume, Duration::ZERO).await;
        assert_eq!(ended.status, RunStatus::Succeeded);
        assert_eq!(talker.pieces_given(), [0, pieces], "{class}");
    }
}

#[tokio::test]
async fn a_changed_prompt_begins_the_conversation_anew() {
    let talker = Talker::ending(vec![fails(Class::Permission), ends_well()]);
    let (before, journal) = (plan_of(ONE_AGENT, &[]), Memory::new());
    drive_by(talker.clone(), &before, journal.clone(), fresh(&before), Duration::ZERO).await;
    let after = plan_of(&ONE_AGENT.replace("prompt: go", "prompt: go on"), &[]);
    let resume = Start::Resume(Changes::Accept { before });
    let ended = drive_by(talker.clone(), &after, journal.reopen(), resume, Duration::ZERO).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    assert_eq!(talker.pieces_given(), [0, 0]);
}

#[tokio::test]
async fn a_permission_request_parks_the_run_and_its_answer_reaches_the_attempt_that_goes_on() {
    let option = AskOption { label: "Yes".into(), value: "yes".into(), prompt_for: None, multiline: false };
    let ask = Ask::Choice { prompt: "May I?".into(), options: vec![option], default: None };
    let request = AttemptEnd::Suspended {
        state: JsonText::of(&json!("asked")),
        waits_for: WaitsFor::Gate(JsonText::of(&ask)),
        usage: used(),
    };
    let talker = Talker::ending(vec![request, ends_well()]);
    let (plan, journal) = (plan_of(ONE_AGENT, &[]), Memory::new());
    let parked = drive_by(talker.clone(), &plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    assert_eq!(parked.status, RunStatus::Parked);
    let opened = journal.read_all().unwrap();
    assert!(opened.iter().any(|stamped| matches!(stamped.event, Event::GateOpened { .. })));
    let answer = Answer::Choice { value: "yes".into(), input: Default::default() };
    let task = TaskId::new(None, "a", None, 1);
    let message = Message::Answer(Box::new(Reply::new(task, answer.clone(), "somebody")));
    journal.send(Timestamp(1), message);
    let resume = Start::Resume(Changes::None);
    let ended = drive_by(talker.clone(), &plan, journal.reopen(), resume, Duration::ZERO).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    let heard = talker.heard.lock().unwrap();
    assert_eq!((heard[1].0.len(), &heard[1].1), (2, &Some(answer)));
}
