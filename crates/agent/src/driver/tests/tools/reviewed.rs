//! Answers that a second model looks at, when that one is not there.

use super::*;
use convoke_model::{SuccessCriteria, Validator};

/// An agent with a validator, after so many attempts that failed.
fn graded(replies: impl IntoIterator<Item = Result<Reply, Failure>>, failures: u32) -> Scene {
    let mut scene = Scene::new(replies);
    scene.settings(|settings| {
        settings.servers = Arc::default();
        let criteria = "must rhyme".to_owned();
        settings.validator = Some(Validator { criteria, model: Some("judge".into()), max_retries: 1 });
    });
    scene.assignment.failures = failures;
    scene.assignment.attempt = failures + 1;
    scene
}

fn busy() -> Result<Reply, Failure> {
    let mut failure = Failure::new(Class::RateLimit, "too many requests");
    failure.retry_after_ms = Some(3000);
    Err(failure)
}

#[tokio::test]
async fn a_validator_that_is_busy_is_asked_again_in_another_attempt() {
    let first = graded([answers("a rhyme"), busy()], 0);
    let AttemptEnd::Failed { failure, .. } = first.run().await else { panic!("no failure") };
    assert_eq!((failure.class, failure.retry_after_ms), (Class::RateLimit, Some(3000)));
    assert_eq!(failure.message, "step `a`: the validator gave no verdict: too many requests");
    assert_eq!(first.engine.noted("validator_failed"), [""; 0]);

    let mut second = graded([answers("{\"passed\": true}")], 1);
    second.assignment.continues = first.engine.pieces();
    assert_eq!(finished(second.run().await), "a rhyme");
    assert_eq!(second.model.asked.lock().unwrap().len(), 1, "the answer is not paid for twice");
}

#[tokio::test]
async fn after_the_last_attempt_the_answer_passes_without_its_validator() {
    let last = graded([answers("a rhyme"), busy()], 7);
    assert_eq!(finished(last.run().await), "a rhyme");
    assert_eq!(last.engine.noted("validator_failed").len(), 1);
    let mut once = graded([answers("a rhyme"), busy()], 0);
    once.assignment.retry = Retry::once();
    assert_eq!(finished(once.run().await), "a rhyme");
}

#[tokio::test]
async fn a_validator_that_cannot_be_asked_at_all_is_not_waited_for() {
    let wrong = graded([answers("a rhyme"), Err(Failure::new(Class::Fatal, "there is no such model"))], 0);
    assert_eq!(finished(wrong.run().await), "a rhyme");
    assert_eq!(wrong.engine.noted("validator_failed").len(), 1);
}

/// The engine, which governs capacity, learns from every call: a model that another one stood in for, a validator that let the
/// answer pass, a repair and a verdict.
#[tokio::test]
async fn the_link_is_told_how_each_call_fared() {
    let failed = |class: Class| Err(Failure::new(class, "no"));
    let replies = [
        failed(Class::RateLimit),
        answers("prose"),
        answers("{\"n\": 1}"),
        failed(Class::RateLimit),
        failed(Class::Capacity),
    ];
    let mut scene = graded(replies, 7);
    scene.settings(|settings| {
        settings.schema = Some(serde_json::from_value(json!({"n": {"type": "number"}})).unwrap());
        settings.parse_recovery = 0;
        settings.repair_model = Some("fixer".into());
        settings.fallback = Some(Fallback { models: vec!["second".into()], attempts: 3 });
        let criteria = "must be odd".to_owned();
        settings.success_criteria =
            Some(SuccessCriteria { criteria, model: Some("verifier".into()), max_retries: 0 });
    });
    assert!(matches!(scene.run().await, AttemptEnd::Failed { .. }));
    let calls = scene.engine.calls.lock().unwrap().clone();
    let wanted = [
        ("m", Some(Class::RateLimit)),
        ("second", None),
        ("fixer", None),
        ("judge", Some(Class::RateLimit)),
        ("verifier", Some(Class::Capacity)),
    ];
    assert_eq!(calls, wanted.map(|(model, class)| (model.to_owned(), class)));
}
