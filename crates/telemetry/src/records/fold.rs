//! Folds the events of a run to its log records.

use super::fields::{Fields, fields, has_record, severity};
use super::judgement::Judge;
use super::record::{Record, Severity};
use crate::spans::names::{self, operation};
use crate::spans::{Contents, RunSpans, Span, SpanId, Value, hex};
use convoke_follow::Fold;
use convoke_model::{Event, RunId, Stamped, TaskId};
use std::collections::HashMap;

/// A call of a model, with what it was asked with and what it gave.
const CALL: &str = "gen_ai.client.inference.operation.details";

/// A call of a model that came to nothing.
const EXCEPTION: &str = "gen_ai.client.operation.exception";

/// The judgement of an answer.
const EVALUATION: &str = "gen_ai.evaluation.result";

/// The records of one run.
pub struct RunRecords {
    run: RunId,
    spans: RunSpans,
    /// Tasks whose answer was judged a moment ago.
    judged: HashMap<TaskId, Judge>,
    /// Spans that the last event has ended.
    ended: Vec<Span>,
}

impl RunRecords {
    /// Records of a run with this plan, as its journal keeps it; with contents where those are given.
    pub fn new(run: &RunId, plan: &str, contents: Option<Contents>) -> RunRecords {
        let spans = RunSpans::new(run, plan, contents);
        RunRecords { run: run.clone(), spans, judged: HashMap::new(), ended: Vec::new() }
    }

    /// The record of an event, and the span that it belongs to.
    fn event(&self, stamped: &Stamped, of: Fields, span: Option<SpanId>) -> Record {
        let mut record = Record {
            body: in_words(&of),
            name: format!("convoke.{}", of.name),
            at: stamped.at,
            severity: severity(&stamped.event),
            trace: self.spans.trace(),
            span,
            attributes: Vec::new(),
        };
        record = record.with(names::RUN, &*self.run.0).with(names::SEQ, stamped.seq);
        record = record.with(names::RECORD, self.id(stamped, ""));
        of.values.iter().for_each(|(field, value)| tell(&mut record, field, value));
        match said(&stamped.event).and_then(|text| self.spans.told(text)) {
            Some(text) => record.with(names::MESSAGE, text),
            None => record,
        }
    }

    /// The number of the event is the record's; its time tells this journal from another one under the same name.
    fn id(&self, stamped: &Stamped, more: &str) -> String {
        format!("{}-{}-{:x}{more}", self.run, stamped.seq, stamped.at.0)
    }

    /// How an answer was judged, once the next event of its task tells.
    fn judgement(&mut self, stamped: &Stamped, task: &TaskId, span: Option<SpanId>) -> Option<Record> {
        let judge = self.judged.remove(task)?;
        let (passed, why) = judge.said(&stamped.event)?;
        let label = if passed { "pass" } else { "fail" };
        let record = Record {
            name: EVALUATION.to_owned(),
            at: stamped.at,
            severity: Severity::Info,
            body: format!("{} of `{task}`: {label}", judge.word()),
            trace: self.spans.trace(),
            span,
            attributes: Vec::new(),
        };
        let record = record
            .with(names::RUN, &*self.run.0)
            .with(names::TASK, &*task.0)
            .with(names::RECORD, self.id(stamped, "-evaluation"))
            .with(names::EVALUATION, judge.word())
            .with(names::EVALUATION_LABEL, label);
        match self.spans.told(why).filter(|why| !why.is_empty()) {
            Some(why) => Some(record.with(names::EVALUATION_EXPLANATION, why)),
            None => Some(record),
        }
    }
}

impl Fold<Record> for RunRecords {
    fn take(&mut self, stamped: &Stamped, items: &mut Vec<Record>) {
        let has_record = has_record(&stamped.event);
        let of = fields(&stamped.event);
        let task = match of.get("task") {
            Some(serde_json::Value::String(task)) => Some(TaskId(task.as_str().into())),
            _ => None,
        };
        let before = self.spans.span_of(task.as_ref());
        let mut ended = std::mem::take(&mut self.ended);
        self.spans.take(stamped, &mut ended);
        // What begins with the event belongs to the span that it opens; what ends, to the one that it closes.
        let span = match is_end(&stamped.event) {
            true => before,
            false => self.spans.span_of(task.as_ref()).or(before),
        };
        if let Some(task) = &task {
            items.extend(self.judgement(stamped, task, before));
        }
        if let Event::ModelCalled { task, call, .. } = &stamped.event {
            self.judged.extend(Judge::of(call).map(|judge| (task.clone(), judge)));
        }
        items.extend(ended.drain(..).flat_map(calls));
        self.ended = ended;
        if has_record {
            items.push(self.event(stamped, of, span));
        }
    }
}

/// Whether an event closes the span of its task, or of the run.
fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::RunFinished { .. }
            | Event::AttemptFinished { .. }
            | Event::AttemptFailed { .. }
            | Event::AttemptSuspended { .. }
            | Event::AttemptLost { .. }
            | Event::AttemptDetached { .. }
            | Event::EffectProbed { .. }
            | Event::GateAnswered { .. }
            | Event::TaskSucceeded { .. }
            | Event::TaskFailed { .. }
            | Event::TaskSkipped { .. }
            | Event::TaskCancelled { .. }
    )
}

/// The records of a call of a model: what it was, and what went wrong.
fn calls(span: Span) -> Vec<Record> {
    let is_call = matches!(span.get(names::OPERATION), Some(Value::Text(text))
        if matches!(text.as_str(), operation::CHAT | operation::GENERATE));
    if !is_call {
        return Vec::new();
    }
    let id = hex(&span.id.0);
    let record = |name: &str, severity, body, attributes, end: &str| {
        let (name, trace) = (name.to_owned(), span.trace);
        let record = Record { name, at: span.end, severity, body, trace, span: Some(span.id), attributes };
        record.with(names::RECORD, format!("{id}-{end}"))
    };
    let details = record(CALL, Severity::Debug, span.name.clone(), span.attributes.clone(), "details");
    let failed = span.get(names::ERROR).map(|class| {
        let words = match class {
            Value::Text(class) => format!("{} failed: {class}", span.name),
            _ => format!("{} failed", span.name),
        };
        let attributes = [names::RUN, names::OPERATION, names::PROVIDER, names::MODEL]
            .into_iter()
            .filter_map(|name| Some((name, span.get(name)?.clone())))
            .chain([(names::EXCEPTION, class.clone())]);
        record(EXCEPTION, Severity::Warn, words, attributes.collect(), "exception")
    });
    std::iter::once(details).chain(failed).collect()
}

/// What an event says that may quote an answer.
fn said(event: &Event) -> Option<&str> {
    match event {
        Event::AttemptFailed { failure, .. } | Event::TaskFailed { failure, .. } => Some(&failure.message),
        Event::RunFinished { failure, .. } => failure.as_ref().map(|failure| failure.message.as_str()),
        Event::Noted { message, .. } => Some(message),
        _ => None,
    }
}

/// A field of an event, by the names that spans have for it.
fn tell(record: &mut Record, field: &str, value: &serde_json::Value) {
    let mut set = |name, value: Value| record.attributes.push((name, value));
    match (field, value) {
        ("task", serde_json::Value::String(text)) => set(names::TASK, text.as_str().into()),
        ("status", serde_json::Value::String(text)) => set(names::STATUS, text.as_str().into()),
        ("tool", serde_json::Value::String(text)) => set(names::TOOL, text.as_str().into()),
        ("code", serde_json::Value::String(text)) => set(names::CODE, text.as_str().into()),
        ("class", serde_json::Value::String(text)) => set(names::ERROR, text.as_str().into()),
        ("reason", serde_json::Value::String(text)) => set(names::REASON, text.as_str().into()),
        ("attempt", value) => value.as_u64().into_iter().for_each(|n| set(names::ATTEMPT, n.into())),
        ("ms", value) => {
            value.as_u64().into_iter().for_each(|ms| set(names::DURATION, (ms as f64 / 1e3).into()));
        }
        ("usage", value) => usage(value).into_iter().for_each(|(name, value)| set(name, value)),
        _ => {}
    }
}

/// Records may be added up, and so may the calls that they are of: these names are ours.
fn usage(value: &serde_json::Value) -> Vec<(&'static str, Value)> {
    let Ok(usage) = serde_json::from_value::<convoke_model::Usage>(value.clone()) else { return Vec::new() };
    let mut told = vec![
        (names::TOTAL_INPUT, usage.input_tokens.into()),
        (names::TOTAL_OUTPUT, usage.output_tokens.into()),
    ];
    told.extend(usage.cost_usd().filter(|_| usage.calls > 0).map(|cost| (names::TOTAL_COST, cost.into())));
    told.extend((usage.unpriced_calls > 0).then(|| (names::UNPRICED, usage.unpriced_calls.into())));
    told
}

/// An event in a few words: what happened, to what, and of which kind.
fn in_words(of: &Fields) -> String {
    let text = |field| of.get(field).and_then(serde_json::Value::as_str);
    let mut words = of.name.replace('_', " ");
    if let Some(task) = text("task") {
        words.push_str(&format!(": {task}"));
    }
    let more = ["tool", "status", "code", "class", "reason"].into_iter().filter_map(text);
    let more: Vec<&str> = more.collect();
    if !more.is_empty() {
        words.push_str(&format!(" ({})", more.join(", ")));
    }
    words
}
