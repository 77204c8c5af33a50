//! Numbers about runs by the names of the conventions: what is counted, and as what it is sent.

use crate::fixtures::receiver::{self, Points};
use crate::fixtures::{called, events, model_call, output, run, stamped, started_as, task, usage};
use convoke_follow::Fold;
use convoke_model::{
    Class, Digest, Event, JsonText, Payload, PlanChanged, RunForked, RunId, RunStatus, Timestamp, Usage,
};
use convoke_telemetry::instruments::{RunValues, Values};
use convoke_telemetry::otlp::{Stream, encoded_metrics};
use std::collections::BTreeSet;

fn values(events: Vec<Event>) -> Values {
    let mut fold = RunValues::new(&run(), "no plan");
    let mut items = Vec::new();
    stamped(events).iter().for_each(|event| fold.take(event, &mut items));
    items.pop().map(|values| values.lock().unwrap().clone()).unwrap_or_default()
}

fn points(values: &Values) -> Points {
    let stream = Stream { instance: "i".into(), since: Timestamp(1), until: Timestamp(2) };
    let all: Vec<_> = values.points().collect();
    let resource = [("service.name".into(), "convoke".into()), ("service.version".into(), "1".into())];
    let (instance, metrics) = receiver::metrics(&encoded_metrics(&all, &stream, &resource));
    assert_eq!(instance, "i");
    let mut points = Points::new();
    metrics.into_iter().for_each(|metric| receiver::add(&mut points, metric));
    points
}

/// The sum of an instrument over all its series with this attribute, and how many values it has.
fn of(points: &Points, instrument: &str, attribute: (&str, &str)) -> (f64, u64) {
    let fits = |(name, attributes): &&(String, Vec<(String, String)>)| {
        name == instrument
            && (attribute.0.is_empty()
                || attributes.iter().any(|(key, value)| (key.as_str(), value.as_str()) == attribute))
    };
    let found: Vec<_> = points.iter().filter(|(series, _)| fits(series)).collect();
    let sum = found.iter().map(|(_, values)| values[0].sum).sum();
    (sum, found.iter().map(|(_, values)| values[0].buckets.iter().sum::<u64>()).sum())
}

const ALL: (&str, &str) = ("", "");

#[test]
fn a_run_is_counted_by_the_names_of_the_conventions_old_and_new() {
    let points = points(&values(events()));
    for name in ["gen_ai.client.inference.duration", "gen_ai.client.operation.duration"] {
        assert_eq!(of(&points, name, ("gen_ai.request.model", "m")), (4.0, 2), "{name}");
        assert_eq!(of(&points, name, ("gen_ai.provider.name", "openai")), (4.0, 2), "{name}");
    }
    for name in ["gen_ai.client.inference.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk"]
    {
        assert_eq!(of(&points, name, ALL), (0.6, 2), "{name}");
    }
    let tokens = |of_type| of(&points, "gen_ai.client.token.usage", ("gen_ai.token.type", of_type));
    assert_eq!((tokens("input"), tokens("output")), ((20.0, 2), (8.0, 2)));
    assert_eq!(of(&points, "gen_ai.client.inference.operation.input_tokens", ALL), (20.0, 2));
    let counted = |name| of(&points, name, ALL).0;
    assert_eq!(counted("gen_ai.client.inference.usage.input_tokens"), 20.0);
    assert_eq!(counted("gen_ai.client.inference.usage.output_tokens"), 8.0);
    assert_eq!(counted("convoke.usage.cost"), 0.001);
    assert_eq!(of(&points, "gen_ai.invoke_agent.duration", ("error.type", "timeout")), (20.0, 1));
    assert_eq!(of(&points, "gen_ai.invoke_agent.duration", ALL), (50.0, 2));
    assert_eq!(of(&points, "gen_ai.invoke_agent.inference_calls", ALL), (2.0, 2));
    assert_eq!(of(&points, "gen_ai.invoke_agent.tool_calls", ALL), (1.0, 2));
    assert_eq!(of(&points, "gen_ai.execute_tool.duration", ("gen_ai.tool.name", "files__read")), (1.0, 1));
    let run = of(&points, "gen_ai.invoke_workflow.duration", ("gen_ai.workflow.name", "review"));
    assert_eq!(run, (100.0, 1));
    assert_eq!(of(&points, "convoke.attempts", ("convoke.outcome", "failed")).0, 1.0);
    assert_eq!(of(&points, "convoke.attempts", ("convoke.outcome", "finished")).0, 1.0);
}

#[test]
fn a_run_whose_calls_are_not_known_one_by_one_has_its_tokens_all_the_same() {
    let untold = events().into_iter().filter(|event| !matches!(event, Event::ModelCalled { .. }));
    let points = points(&values(untold.collect()));
    assert_eq!(of(&points, "gen_ai.client.inference.usage.input_tokens", ALL).0, 20.0);
    assert_eq!(of(&points, "convoke.usage.cost", ALL).0, 0.001);
    assert_eq!(of(&points, "gen_ai.client.inference.duration", ALL), (0.0, 0));
    assert_eq!(of(&points, "gen_ai.invoke_agent.inference_calls", ALL), (0.0, 0), "how many is not known");
}

#[test]
fn calls_that_fail_or_have_no_price_are_told_apart() {
    let unpriced = Usage { unpriced_calls: 1, cost_micros: 0, ..usage(1) };
    let free = convoke_model::ModelCall { usage: unpriced, ..model_call("", None) };
    let points = points(&values(vec![
        started_as(run()),
        Event::AttemptStarted { task: task("a"), attempt: 1, lease: None },
        called("a", 1, model_call("", Some(Class::RateLimit))),
        called("a", 1, free),
        Event::AttemptFinished { task: task("a"), attempt: 1, output: output(), usage: unpriced },
    ]));
    assert_eq!(of(&points, "gen_ai.client.inference.duration", ("error.type", "rate_limit")).1, 1);
    assert_eq!(of(&points, "gen_ai.client.inference.duration", ALL).1, 2);
    assert_eq!(of(&points, "convoke.usage.unpriced_calls", ALL).0, 1.0);
    assert_eq!(of(&points, "convoke.usage.cost", ALL).0, 0.0);
}

#[test]
fn a_question_is_open_until_its_answer_and_its_wait_is_counted() {
    let asked = vec![
        started_as(run()),
        Event::GateOpened { task: task("q"), question: 1, ask: output(), shown: None, until: None },
    ];
    assert_eq!(of(&points(&values(asked.clone())), "convoke.gates.open", ALL).0, 1.0);
    let answer = Payload::Inline(JsonText::of(&1));
    let answered = Event::GateAnswered { task: task("q"), question: 1, answer, by: "me".into(), from: None };
    let points = points(&values(asked.into_iter().chain([answered]).collect()));
    assert_eq!(of(&points, "convoke.gates.open", ALL).0, 0.0);
    assert_eq!(of(&points, "convoke.gate.wait.duration", ALL), (10.0, 1));
}

#[test]
fn of_a_fork_only_its_own_part_is_counted() {
    let hash = Digest::of(b"h");
    let change =
        PlanChanged { plan: hash, dropped: vec![], opened: vec![], superseded: vec![], asking: vec![] };
    let forked = RunForked { run: RunId("base".into()), seq: 10, hash, set: Vec::new(), change };
    let mut all = events();
    all.pop();
    all.push(Event::RunForked(Box::new(forked)));
    all.push(Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None });
    let points = points(&values(all));
    let names: BTreeSet<_> = points.keys().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["gen_ai.invoke_workflow.duration", "gen_ai.workflow.duration"]));
}

#[test]
fn nothing_that_was_said_is_an_attribute() {
    let text = format!("{:?}", values(events()));
    assert!(!text.contains("secret"), "{text}");
}
