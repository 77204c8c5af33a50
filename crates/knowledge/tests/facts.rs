//! Single facts of a journal, as the graph has them.

use crate::kit::WORKFLOWS;
use convoke_knowledge::project::{Beside, Change, NothingBeside, Projector, Telling};
use convoke_model::{
    Digest, Event, JsonText, LimitAdapted, LimitReason, LimitSetting, Payload, RunId, Stamped, TaskId,
    Timestamp,
};
use convoke_plan::Plan;
use convoke_testkit::events::started;
use convoke_testkit::plan_of;
use serde_json::json;

/// The quads that these events add, as text.
fn told(events: Vec<Event>, beside: &dyn Beside) -> Vec<String> {
    let run = RunId("r".into());
    let mut projector = Projector::new(&run, (*plan_of(WORKFLOWS[0], &[])).clone(), Telling::default());
    let stamped = events.into_iter().enumerate();
    let changes = stamped.flat_map(|(seq, event)| {
        projector.take(&Stamped { seq: seq as u64 + 1, at: Timestamp(1), event }, beside)
    });
    let added = changes.filter_map(|change| match change {
        Change::Add(quads) => Some(quads),
        _ => None,
    });
    added.flatten().map(|quad| quad.to_string()).collect()
}

fn says(quads: &[String], words: &[&str]) -> bool {
    quads.iter().any(|quad| words.iter().all(|word| quad.contains(word)))
}

#[test]
fn a_breaker_that_opens_is_a_failure_gap_and_one_that_closes_is_none() {
    let adapted = |reason| {
        Event::LimitAdapted(LimitAdapted {
            resource: "model:openai/gpt".into(),
            setting: LimitSetting::Limit,
            from: 4,
            to: 0,
            reason,
            origin: None,
        })
    };
    let quads = told(vec![started(), adapted(LimitReason::BreakerOpened)], &NothingBeside);
    assert!(says(&quads, &["gap:2", "convoke#FailureGap"]), "{quads:#?}");
    assert!(
        says(&quads, &["gap:2", "convoke#resource", "urn:convoke:resource:model%3Aopenai/gpt"]),
        "{quads:#?}"
    );
    let closed = told(vec![started(), adapted(LimitReason::BreakerClosed)], &NothingBeside);
    assert!(!says(&closed, &["FailureGap"]), "{closed:#?}");
}

/// An output that is too long for its event lies beside it.
struct OneContent(JsonText);

impl Beside for OneContent {
    fn plan(&self, _: &Digest) -> Option<Plan> {
        None
    }

    fn content(&self, digest: &Digest) -> Option<JsonText> {
        (Digest::of(self.0.as_str().as_bytes()) == *digest).then(|| self.0.clone())
    }
}

#[test]
fn citations_of_a_long_report_are_told_by_digests_and_sources_by_their_tasks() {
    let long = "canary words that are quoted at such a length that nobody could guess them by trying";
    let excerpt = Digest::of(long.as_bytes());
    let report = JsonText::of(&json!({
        "result": "canary", "sources": [{"task": "a"}, {"task": "c"}],
        "citations": [
            {"marks": ["S2"], "sources": [1], "claim": long, "quote": long, "excerpt": excerpt, "verdict": "quote_found"},
            {"marks": ["S9"], "sources": [], "claim": "canary", "verdict": "unknown_source"},
        ],
    }));
    let (digest, size) = (Digest::of(report.as_str().as_bytes()), report.as_str().len() as u64);
    let task = TaskId("synthesis".into());
    let output = Payload::Blob { digest, size };
    let quads = told(vec![started(), Event::TaskSucceeded { task, output }], &OneContent(report));
    assert!(says(&quads, &["citation:1", "convoke#cites", "task:c:result"]), "{quads:#?}");
    assert!(says(&quads, &["citation:1", "convoke#excerpt", &excerpt.to_string()]), "{quads:#?}");
    assert!(says(&quads, &["citation:1", "convoke#claim>", &excerpt.to_string()]), "{quads:#?}");
    assert!(says(&quads, &["citation:2", "convoke#verdict", "UnknownSource"]), "{quads:#?}");
    // A short claim could be guessed from its digest.
    assert!(!says(&quads, &["citation:2", "convoke#claim"]), "{quads:#?}");
    assert!(!says(&quads, &["canary"]), "{quads:#?}");
}
