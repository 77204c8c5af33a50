//! A run as a trace: which spans there are, how they hang together, and what leaves the machine.

use crate::fixtures::{contents, events, output, run, stamped, task, usage};
use convoke_follow::Fold;
use convoke_model::{Event, RunReopened, RunStatus, Stamped, Timestamp};
use convoke_telemetry::otlp::encoded_spans;
use convoke_telemetry::spans::{RunSpans, Span, SpanId, Value, names, traceparent};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

fn folded(events: Vec<Event>) -> Vec<Span> {
    let mut fold = RunSpans::new(&run(), "no plan", None);
    let mut spans = Vec::new();
    stamped(events).iter().for_each(|event| fold.take(event, &mut spans));
    spans
}

fn by_name(spans: &[Span]) -> BTreeMap<String, Vec<&Span>> {
    let mut all: BTreeMap<String, Vec<&Span>> = BTreeMap::new();
    spans.iter().for_each(|span| all.entry(span.name.clone()).or_default().push(span));
    all
}

#[test]
fn a_run_is_one_tree_of_spans_by_the_names_of_the_conventions() {
    let spans = folded(events());
    let all = by_name(&spans);
    let names: Vec<_> = all.iter().map(|(name, spans)| (name.as_str(), spans.len())).collect();
    let wanted = [
        ("chat m", 2),
        ("execute_tool files__read", 1),
        ("invoke_agent g/a", 2),
        ("invoke_workflow review", 1),
        ("task g", 1),
    ];
    assert_eq!(names, wanted);
    let root = all["invoke_workflow review"][0];
    let group = all["task g"][0];
    let [first, second] = all["invoke_agent g/a"][..] else { panic!() };
    assert_eq!((root.parent, group.parent), (None, Some(root.id)));
    assert_eq!((first.parent, second.parent), (Some(group.id), Some(group.id)));
    let calls: HashSet<_> = all["chat m"].iter().map(|span| span.parent).collect();
    assert_eq!(calls, HashSet::from([Some(first.id), Some(second.id)]));
    assert_eq!(
        second.links.iter().map(|link| (link.span, link.why)).collect::<Vec<_>>(),
        [(first.id, "retry")]
    );
    assert_eq!(first.get(names::ERROR), Some(&Value::from("timeout")));
    let ids: HashSet<SpanId> = spans.iter().map(|span| span.id).collect();
    assert_eq!(ids.len(), spans.len(), "no two spans have one id");
    assert!(spans.iter().all(|span| span.start <= span.end));
}

#[test]
fn tokens_and_cost_are_on_the_calls_and_counted_once() {
    let spans = folded(events());
    let sum = |name: &str| -> f64 {
        let value = |span: &Span| match span.get(name) {
            Some(Value::Number(number)) => *number as f64,
            Some(Value::Fraction(number)) => *number,
            _ => 0.0,
        };
        spans.iter().map(value).sum()
    };
    assert_eq!((sum(names::INPUT_TOKENS), sum(names::OUTPUT_TOKENS), sum(names::COST)), (20.0, 8.0, 0.001));
    let untold: Vec<_> =
        events().into_iter().filter(|event| !matches!(event, Event::ModelCalled { .. })).collect();
    let spans = folded(untold);
    let agents = by_name(&spans)["invoke_agent g/a"].clone();
    assert!(
        agents.iter().all(|span| span.get(names::INPUT_TOKENS) == Some(&Value::Number(10))),
        "of an old run"
    );
}

#[test]
fn the_same_events_give_the_same_spans_and_the_one_that_was_handed_out() {
    let spans = folded(events());
    let key = |spans: Vec<Span>| {
        let mut texts: Vec<_> = spans.into_iter().map(|span| format!("{span:?}")).collect();
        texts.sort();
        texts
    };
    assert_eq!(key(folded(events())), key(spans.clone()));
    let second = by_name(&spans)["invoke_agent g/a"][1];
    let id: String = second.id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(traceparent(&run(), &task("g/a"), 2).contains(&id));
}

#[test]
fn a_run_that_is_opened_again_goes_on_in_the_same_trace_with_ids_of_its_own() {
    let again = vec![
        Event::RunReopened(RunReopened { tasks: vec![task("g/a")], ..RunReopened::default() }),
        Event::AttemptStarted { task: task("g/a"), attempt: 1, lease: None },
        Event::AttemptFinished { task: task("g/a"), attempt: 1, output: output(), usage: usage(1) },
        Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None },
    ];
    let spans = folded(events().into_iter().chain(again).collect());
    let ids: HashSet<SpanId> = spans.iter().map(|span| span.id).collect();
    assert_eq!(ids.len(), spans.len());
    let roots = by_name(&spans)["invoke_workflow review"].clone();
    assert_eq!(
        roots[1].links.iter().map(|link| (link.span, link.why)).collect::<Vec<_>>(),
        [(roots[0].id, "reopened")]
    );
    assert_eq!(spans.iter().map(|span| span.trace).collect::<HashSet<_>>().len(), 1);
}

#[test]
fn nothing_that_was_said_is_in_it_unless_that_is_asked_for() {
    let spans = folded(events());
    let text = format!("{spans:?}");
    assert!(!text.contains("secret answer"), "{text}");
    assert!(spans.iter().all(|span| names::CONTENTS.iter().all(|name| span.get(name).is_none())));
    let known: HashSet<&str> = names::ALL.iter().copied().collect();
    let other: Vec<_> =
        spans.iter().flat_map(|span| &span.attributes).filter(|(name, _)| !known.contains(name)).collect();
    assert!(other.is_empty(), "every name is in the table: {other:?}");
}

#[test]
fn words_of_a_failure_are_told_without_known_keys() {
    let mut fold = RunSpans::new(&run(), "no plan", Some(contents()));
    let mut spans = Vec::new();
    stamped(events()).iter().for_each(|event| fold.take(event, &mut spans));
    let failed = spans.iter().find(|span| span.error.is_some()).expect("an attempt fails");
    assert_eq!(failed.error.as_deref(), Some("the model said: a [secret]"));
    assert!(!format!("{spans:?}").contains("secret answer"), "{spans:?}");
}

#[test]
fn what_is_sent_is_read_by_the_official_messages() {
    let spans = folded(events());
    let body = encoded_spans(&spans, &[("service.name".into(), "convoke".into())]);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*body).read_to_end(&mut bytes).unwrap();
    let request: ExportTraceServiceRequest = prost::Message::decode(&*bytes).unwrap();
    let sent = &request.resource_spans[0].scope_spans[0].spans;
    assert_eq!(sent.len(), spans.len());
    for (sent, span) in sent.iter().zip(&spans) {
        assert_eq!((sent.trace_id.as_slice(), sent.span_id.as_slice()), (&span.trace.0[..], &span.id.0[..]));
        assert_eq!(sent.parent_span_id, span.parent.map(|id| id.0.to_vec()).unwrap_or_default());
        assert_eq!((sent.name.as_str(), sent.attributes.len()), (span.name.as_str(), span.attributes.len()));
        assert_eq!(sent.end_time_unix_nano, span.end.0 * 1_000);
        assert_eq!(sent.status.as_ref().map(|status| status.code), span.error.as_ref().map(|_| 2));
        assert_eq!(sent.links.len(), span.links.len());
    }
    let chat = sent.iter().find(|span| span.name == "chat m").unwrap();
    assert_eq!(chat.kind, 3, "it asks a service");
    let reasons = chat.attributes.iter().find(|pair| pair.key == names::FINISH_REASONS).unwrap();
    let value = reasons.value.as_ref().and_then(|value| value.value.as_ref()).unwrap();
    assert!(format!("{value:?}").contains("stop"), "{value:?}");
    let resource = request.resource_spans[0].resource.as_ref().unwrap();
    assert_eq!(resource.attributes[0].key, "service.name");
}

#[test]
fn a_run_that_has_not_ended_can_be_told_so_far() {
    let mut fold = RunSpans::new(&run(), "no plan", None);
    let mut spans = Vec::new();
    for (at, event) in events().into_iter().take(3).enumerate() {
        fold.take(&Stamped { seq: at as u64 + 1, at: Timestamp(at as u64), event }, &mut spans);
    }
    assert!(spans.is_empty());
    let names: HashSet<_> = fold.so_far().into_iter().map(|span| span.name).collect();
    let wanted = ["invoke_workflow review", "task g", "invoke_agent g/a"].map(str::to_owned);
    assert_eq!(names, HashSet::from(wanted));
}
