//! Folds the events of a run to the values of its instruments.

use super::table::{self, Instrument};
use super::values::Values;
use crate::spans::names::{self, operation};
use crate::spans::{RunSpans, Span, SpanId, Value};
use convoke_follow::Fold;
use convoke_model::{Event, RunId, Stamped, TaskId};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The type of tokens, in the instrument that had both in one.
const TOKEN_TYPE: &str = "gen_ai.token.type";

/// Of which kind tokens are. Services say how many there were, and not of which kind.
const MODALITY: (&str, &str) = ("gen_ai.token.modality", "unknown");

/// The provider of calls that are not known one by one.
const UNKNOWN: &str = "unknown";

/// How an attempt ended.
const OUTCOME: &str = "convoke.outcome";

/// The values of a run as they grow; what is given is always what they are by then.
pub struct RunValues {
    values: Arc<Mutex<Values>>,
    spans: RunSpans,
    /// Spans that the last event has ended.
    ended: Vec<Span>,
    /// Calls of models and of tools below each attempt under way.
    calls: HashMap<SpanId, [i64; 2]>,
    gates: HashSet<TaskId>,
}

impl RunValues {
    /// Values of a run with this plan, as its journal keeps it.
    pub fn new(run: &RunId, plan: &str) -> RunValues {
        RunValues {
            values: Arc::default(),
            spans: RunSpans::new(run, plan, None),
            ended: Vec::new(),
            calls: HashMap::new(),
            gates: HashSet::new(),
        }
    }

    /// Adds an event; whether it counts for something.
    fn add(&mut self, values: &mut Values, stamped: &Stamped) -> bool {
        let workflow = values.workflow.clone();
        let of_workflow = [(names::WORKFLOW, workflow.as_str())];
        let attempt = |how| [of_workflow[0], (OUTCOME, how)];
        match &stamped.event {
            Event::RunStarted(started) => values.workflow.clone_from(&started.workflow),
            // What came before is counted with the base.
            Event::RunForked(_) => {
                values.clear();
                self.calls.clear();
                self.gates.iter().for_each(|_| values.record(&table::OPEN_GATES, &of_workflow, 1));
            }
            Event::AttemptFinished { .. } => values.record(&table::ATTEMPTS, &attempt("finished"), 1),
            Event::AttemptFailed { .. } => values.record(&table::ATTEMPTS, &attempt("failed"), 1),
            Event::AttemptSuspended { .. } => values.record(&table::ATTEMPTS, &attempt("suspended"), 1),
            Event::AttemptLost { .. } => values.record(&table::ATTEMPTS, &attempt("lost"), 1),
            Event::AttemptDetached { .. } => values.record(&table::ATTEMPTS, &attempt("detached"), 1),
            Event::TaskFailed { failure, .. } => {
                let class = (names::ERROR, failure.class.word());
                values.record(&table::FAILED_TASKS, &[of_workflow[0], class], 1);
            }
            Event::BudgetSpent(_) | Event::BudgetExceeded { .. } => {
                values.record(&table::BUDGETS, &of_workflow, 1);
            }
            Event::GateOpened { task, .. } if self.gates.insert(task.clone()) => {
                values.record(&table::OPEN_GATES, &of_workflow, 1);
            }
            Event::GateAnswered { task, .. } if self.gates.remove(task) => {
                values.record(&table::OPEN_GATES, &of_workflow, -1);
            }
            Event::RunFinished { .. } => {
                self.gates.drain().for_each(|_| values.record(&table::OPEN_GATES, &of_workflow, -1));
            }
            _ => return false,
        }
        true
    }

    fn span(&mut self, values: &mut Values, span: &Span) {
        match text(span, names::OPERATION) {
            Some(operation::WORKFLOW) => workflow(values, span),
            Some(operation::AGENT | operation::PLAN) => self.agent(values, span),
            Some(operation::CHAT | operation::GENERATE) => {
                self.count_below(span, 0);
                model(values, span);
            }
            Some(operation::TOOL) => {
                self.count_below(span, 1);
                tool(values, span);
            }
            _ if text(span, names::ANSWERED_BY).is_some() => {
                values.record(&table::GATE_WAIT, &[], micros(span));
            }
            _ => {}
        }
    }

    fn count_below(&mut self, span: &Span, which: usize) {
        if let Some(parent) = span.parent {
            self.calls.entry(parent).or_default()[which] += 1;
        }
    }

    fn agent(&mut self, values: &mut Values, span: &Span) {
        let attributes = attributes(span, &[names::OPERATION, names::AGENT, names::MODEL, names::ERROR]);
        values.record(&table::AGENT, &attributes, micros(span));
        let [models, tools] = self.calls.remove(&span.id).unwrap_or_default();
        // Where the single calls are not known, what they used is on the attempt.
        let is_told_apart = span.get(names::INPUT_TOKENS).is_none();
        if is_told_apart {
            values.record(&table::AGENT_CALLS, &attributes, models);
        } else {
            let mut asked = self::attributes(span, &[names::OPERATION, names::PROVIDER, names::MODEL]);
            if text(span, names::PROVIDER).is_none() {
                asked.push((names::PROVIDER, UNKNOWN));
            }
            used(values, span, &asked);
        }
        values.record(&table::AGENT_TOOLS, &attributes, tools);
    }
}

fn workflow(values: &mut Values, span: &Span) {
    let attributes = attributes(span, &[names::WORKFLOW, names::ERROR, names::STATUS]);
    for instrument in [table::WORKFLOW, table::WORKFLOW_OLD] {
        values.record(&instrument, &attributes, micros(span));
    }
}

fn tool(values: &mut Values, span: &Span) {
    let attributes =
        attributes(span, &[names::OPERATION, names::TOOL, names::TOOL_TYPE, names::AGENT, names::ERROR]);
    values.record(&table::TOOL, &attributes, micros(span));
}

fn model(values: &mut Values, span: &Span) {
    let asked = attributes(span, &[names::OPERATION, names::PROVIDER, names::MODEL, names::RESPONSE_MODEL]);
    let ended = [asked.clone(), attributes(span, &[names::ERROR])].concat();
    for instrument in [table::INFERENCE, table::INFERENCE_OLD] {
        values.record(&instrument, &ended, micros(span));
    }
    if let Some(Value::Fraction(seconds)) = span.get(names::FIRST_CHUNK) {
        for instrument in [table::FIRST_CHUNK, table::FIRST_CHUNK_OLD] {
            values.record(&instrument, &asked, millionths(*seconds));
        }
    }
    let directions = [
        (names::INPUT_TOKENS, &table::INPUT_PER_CALL, "input"),
        (names::OUTPUT_TOKENS, &table::OUTPUT_PER_CALL, "output"),
    ];
    for (name, instrument, of_type) in directions {
        let tokens = number(span, name);
        values.record(instrument, &ended, tokens);
        values.record(&table::TOKENS_OLD, &[asked.clone(), vec![(TOKEN_TYPE, of_type)]].concat(), tokens);
    }
    used(values, span, &asked);
}

/// What was used, on the span of a call or of an attempt.
fn used(values: &mut Values, span: &Span, asked: &[(&str, &str)]) {
    let counters: [(&str, &Instrument); 4] = [
        (names::INPUT_TOKENS, &table::INPUT),
        (names::OUTPUT_TOKENS, &table::OUTPUT),
        (names::CACHE_READ, &table::CACHE_READ),
        (names::CACHE_WRITE, &table::CACHE_WRITE),
    ];
    for (name, instrument) in counters {
        values.record(instrument, &[asked, &[MODALITY]].concat(), number(span, name));
    }
    if let Some(Value::Fraction(dollars)) = span.get(names::COST) {
        values.record(&table::COST, asked, millionths(*dollars));
    }
    if let unpriced @ 1.. = number(span, names::UNPRICED) {
        values.record(&table::UNPRICED, asked, unpriced);
    }
}

fn text<'a>(span: &'a Span, name: &str) -> Option<&'a str> {
    match span.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn number(span: &Span, name: &str) -> i64 {
    match span.get(name) {
        Some(Value::Number(number)) => *number,
        _ => 0,
    }
}

/// Those of a span that have these names.
fn attributes<'a>(span: &'a Span, named: &[&'static str]) -> Vec<(&'static str, &'a str)> {
    named.iter().filter_map(|name| Some((*name, text(span, name)?))).collect()
}

fn micros(span: &Span) -> i64 {
    i64::try_from(span.end.since(span.start).as_micros()).unwrap_or(i64::MAX)
}

fn millionths(of: f64) -> i64 {
    (of * 1e6).round() as i64
}

impl Fold<Arc<Mutex<Values>>> for RunValues {
    fn take(&mut self, stamped: &Stamped, items: &mut Vec<Arc<Mutex<Values>>>) {
        let mut ended = std::mem::take(&mut self.ended);
        self.spans.take(stamped, &mut ended);
        let shared = self.values.clone();
        let mut values = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_changed = !ended.is_empty();
        ended.drain(..).for_each(|span| self.span(&mut values, &span));
        self.ended = ended;
        is_changed |= self.add(&mut values, stamped);
        drop(values);
        // Several changes of one batch are one.
        if is_changed && items.is_empty() {
            items.push(shared);
        }
    }
}
