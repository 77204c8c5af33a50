//! What happens in a run as log records: which there are, where they belong, and what leaves the machine.

use crate::fixtures::receiver::{self, text};
use crate::fixtures::{called, contents, events, model_call, output, run, stamped, started_as, task, usage};
use convoke_follow::Fold;
use convoke_model::{Class, Event, Failure, reason};
use convoke_telemetry::otlp::encoded_logs;
use convoke_telemetry::records::{Record, RunRecords, Severity};
use convoke_telemetry::spans::{Contents, RunSpans, Value, names};
use std::collections::HashSet;

fn folded(events: Vec<Event>, contents: Option<Contents>) -> Vec<Record> {
    let mut fold = RunRecords::new(&run(), "no plan", contents);
    let mut records = Vec::new();
    stamped(events).iter().for_each(|event| fold.take(event, &mut records));
    records
}

fn with_contents(events: Vec<Event>) -> Vec<Record> {
    folded(events, Some(contents()))
}

fn named<'a>(records: &'a [Record], name: &str) -> Vec<&'a Record> {
    records.iter().filter(|record| record.name == name).collect()
}

#[test]
fn every_event_has_a_record_and_a_call_has_one_by_the_conventions() {
    let records = folded(events(), None);
    let names: Vec<_> = records.iter().map(|record| (record.name.as_str(), record.severity)).collect();
    use Severity::{Debug, Info, Warn};
    let wanted = [
        ("convoke.run_started", Info),
        ("convoke.task_started", Info),
        ("convoke.attempt_started", Info),
        ("gen_ai.client.inference.operation.details", Debug),
        ("convoke.attempt_failed", Warn),
        ("convoke.attempt_started", Info),
        ("convoke.tool_called", Info),
        ("gen_ai.client.inference.operation.details", Debug),
        ("convoke.attempt_finished", Info),
        ("convoke.task_succeeded", Info),
        ("convoke.run_finished", Info),
    ];
    assert_eq!(names, wanted);
    let failed = named(&records, "convoke.attempt_failed")[0];
    assert_eq!(failed.body, "attempt failed: g/a (timeout, idle)");
    assert_eq!(failed.get(names::ERROR), Some(&Value::from("timeout")));
    assert_eq!(failed.get(names::REASON), Some(&Value::from("idle")));
    let call = named(&records, "gen_ai.client.inference.operation.details")[0];
    assert_eq!(call.get(names::INPUT_TOKENS), Some(&Value::Number(10)));
    assert_eq!(call.get(names::PROVIDER), Some(&Value::from("openai")));
}

#[test]
fn a_record_belongs_to_the_span_of_what_it_tells() {
    let records = folded(events(), None);
    let mut fold = RunSpans::new(&run(), "no plan", None);
    let mut spans = Vec::new();
    stamped(events()).iter().for_each(|event| fold.take(event, &mut spans));
    let span = |name: &str, nth: usize| {
        spans.iter().filter(|span| span.name == name).nth(nth).map(|span| span.id).expect(name)
    };
    let of = |name: &str, nth: usize| named(&records, name)[nth].span;
    assert_eq!(of("convoke.run_started", 0), Some(span("invoke_workflow review", 0)));
    assert_eq!(of("convoke.run_finished", 0), Some(span("invoke_workflow review", 0)));
    assert_eq!(of("convoke.task_started", 0), Some(span("task g", 0)));
    assert_eq!(of("convoke.task_succeeded", 0), Some(span("task g", 0)));
    assert_eq!(of("convoke.attempt_started", 1), Some(span("invoke_agent g/a", 1)));
    assert_eq!(of("convoke.attempt_failed", 0), Some(span("invoke_agent g/a", 0)));
    assert_eq!(of("convoke.tool_called", 0), Some(span("invoke_agent g/a", 1)));
    assert_eq!(of("gen_ai.client.inference.operation.details", 1), Some(span("chat m", 1)));
    assert!(records.iter().all(|record| record.trace == spans[0].trace));
}

#[test]
fn no_two_records_have_one_id_and_the_same_events_give_the_same() {
    let failing = vec![
        started_as(run()),
        Event::AttemptStarted { task: task("a"), attempt: 1, lease: None },
        called("a", 1, model_call("", Some(Class::RateLimit))),
        called("a", 1, model_call("grade", None)),
        Event::AttemptFinished { task: task("a"), attempt: 1, output: output(), usage: usage(1) },
    ];
    for events in [events(), failing] {
        let records = folded(events.clone(), None);
        let ids: HashSet<_> =
            records.iter().map(|record| format!("{:?}", record.get(names::RECORD))).collect();
        assert_eq!(ids.len(), records.len());
        assert_eq!(folded(events, None), records);
    }
}

#[test]
fn nothing_that_was_said_is_in_it_unless_that_is_asked_for() {
    let mut all = events();
    all.insert(4, Event::Noted { task: None, code: "odd".into(), message: "a secret word".into() });
    let records = folded(all.clone(), None);
    assert!(!format!("{records:?}").contains("secret"), "{records:?}");
    let known: HashSet<&str> = names::ALL.iter().copied().collect();
    let other = records.iter().flat_map(|record| &record.attributes).find(|(name, _)| !known.contains(name));
    assert_eq!(other, None, "every name is in the table");
    let told = with_contents(all);
    let message = named(&told, "convoke.attempt_failed")[0].get(names::MESSAGE).cloned();
    let Some(Value::Text(message)) = message else { panic!("{told:?}") };
    assert!(message.starts_with("the model said: a "), "{message}");
    let text = format!("{told:?}");
    assert!(
        !text.contains("secret answer") && !text.contains("secret word"),
        "known keys are taken out: {text}"
    );
}

#[test]
fn a_call_that_fails_is_an_exception() {
    let records = folded(
        vec![
            started_as(run()),
            Event::AttemptStarted { task: task("a"), attempt: 1, lease: None },
            called("a", 1, model_call("", Some(Class::RateLimit))),
            Event::AttemptLost { task: task("a"), attempt: 1, usage: usage(0) },
        ],
        None,
    );
    let exception = named(&records, "gen_ai.client.operation.exception")[0];
    assert_eq!(exception.severity, Severity::Warn);
    assert_eq!(exception.get(names::EXCEPTION), Some(&Value::from("rate_limit")));
    assert_eq!(named(&records, "gen_ai.client.inference.operation.details").len(), 1);
}

#[test]
fn a_judgement_is_told_once_its_consequence_is_there() {
    let judged = |purpose: &str, next: Event| {
        let began = Event::AttemptStarted { task: task("a"), attempt: 1, lease: None };
        let all = vec![started_as(run()), began, called("a", 1, model_call(purpose, None)), next];
        let records = with_contents(all);
        let found = named(&records, "gen_ai.evaluation.result");
        let told = |name| found.first().and_then(|record| record.get(name)).cloned();
        (told(names::EVALUATION), told(names::EVALUATION_LABEL), told(names::EVALUATION_EXPLANATION))
    };
    let noted =
        |code: &str| Event::Noted { task: Some(task("a")), code: code.into(), message: "thin".into() };
    let failed = |why: &str| Event::AttemptFailed {
        task: task("a"),
        attempt: 1,
        failure: Failure::new(Class::InvalidOutput, "thin").reason(why),
        usage: usage(1),
        partial: None,
    };
    let done = || Event::AttemptFinished { task: task("a"), attempt: 1, output: output(), usage: usage(1) };
    let text = |text: &str| Some(Value::from(text));
    assert_eq!(judged("grade", done()), (text("validator"), text("pass"), None));
    let rejected = (text("validator"), text("fail"), text("thin"));
    assert_eq!(judged("grade", noted("validation_failed")), rejected);
    assert_eq!(judged("grade", noted("validator_failed")), (None, None, None), "no verdict");
    let unmet = (text("success_criteria"), text("fail"), text("thin"));
    assert_eq!(judged("verify", noted(reason::CRITERIA_UNMET)), unmet);
    assert_eq!(judged("verify", failed(reason::CRITERIA_UNMET)), unmet);
    assert_eq!(judged("verify", failed(reason::NO_VERDICT)), (None, None, None));
    assert_eq!(judged("verify", done()), (text("success_criteria"), text("pass"), None));
    assert_eq!(judged("", done()), (None, None, None), "an answer is no judgement");
}

#[test]
fn what_is_sent_is_read_by_the_official_messages() {
    let records = folded(events(), None);
    let sent = receiver::records(&encoded_logs(&records, &[("service.name".into(), "convoke".into())]));
    assert_eq!(sent.len(), records.len());
    for (sent, record) in sent.iter().zip(&records) {
        assert_eq!(sent.event_name, record.name);
        assert_eq!(sent.trace_id, record.trace.0);
        assert_eq!(sent.span_id, record.span.map(|span| span.0.to_vec()).unwrap_or_default());
        assert_eq!(
            (sent.severity_number, sent.severity_text.as_str()),
            (record.severity.number(), record.severity.word())
        );
        assert_eq!(
            (sent.time_unix_nano, sent.observed_time_unix_nano),
            (record.at.0 * 1_000, record.at.0 * 1_000)
        );
        assert_eq!(
            (text(sent.body.as_ref()), sent.attributes.len()),
            (record.body.clone(), record.attributes.len())
        );
    }
}
