//! A span, whatever it is sent as.

use super::contents::Contents;
use super::ids::{SpanId, TraceId};
use super::names;
use convoke_model::{Failure, Timestamp, Usage};

/// Something that took its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// Its name in the trace.
    pub id: SpanId,
    /// The span that it is a part of.
    pub parent: Option<SpanId>,
    /// For people: the operation and its object.
    pub name: String,
    /// Whether it calls something outside.
    pub kind: Kind,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// What there is to say about it.
    pub attributes: Vec<(&'static str, Value)>,
    /// Spans that it has to do with, and how.
    pub links: Vec<Link>,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

/// Whether a span calls something outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No.
    Internal,
    /// It asks a service.
    Client,
}

/// A span that another one has to do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its trace.
    pub trace: TraceId,
    /// Its name.
    pub span: SpanId,
    /// What it is to the other: `retry`, `fork`, `reopened`.
    pub why: &'static str,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// Yes or no.
    Flag(bool),
    /// Texts.
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Fraction(number)
    }
}

impl Span {
    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Span {
        self.set(name, value);
        self
    }

    /// The same in place.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.attributes.push((name, value.into()));
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Notes a failure: its class, and its words where contents may be told, without keys.
    pub(super) fn fail(&mut self, failure: &Failure, contents: Option<&Contents>) {
        self.set(names::ERROR, failure.class.word());
        self.error = Some(match (contents, &failure.reason) {
            // A key of several lines is known as a whole, so the first line is taken last.
            (Some(contents), _) => {
                contents.clean(&failure.message).lines().next().unwrap_or_default().to_owned()
            }
            (None, Some(reason)) => format!("{}: {reason}", failure.class.word()),
            (None, None) => failure.class.word().to_owned(),
        });
    }

    /// What a call of a model used. A cost that is not known is left out.
    pub(super) fn use_model(&mut self, usage: &Usage) {
        let numbers = [
            (names::INPUT_TOKENS, usage.input_tokens),
            (names::OUTPUT_TOKENS, usage.output_tokens),
            (names::CACHE_READ, usage.cache_read_tokens),
            (names::CACHE_WRITE, usage.cache_write_tokens),
            (names::CACHE_WRITE_OLD, usage.cache_write_tokens),
        ];
        for (at, (name, number)) in numbers.into_iter().enumerate() {
            if number > 0 || at < 2 {
                self.set(name, number);
            }
        }
        if let Some(cost) = usage.cost_usd().filter(|_| usage.calls > 0) {
            self.set(names::COST, cost);
            self.set(names::COST_OPENINFERENCE, cost);
        }
        self.mark_estimates(usage);
    }

    /// What everything below a span used. Receivers add up calls of models themselves, so these names are ours. A cost that is not
    /// known as a whole is left out.
    pub(super) fn total(&mut self, usage: &Usage) {
        if usage.calls == 0 {
            return;
        }
        self.set(names::TOTAL_INPUT, usage.input_tokens);
        self.set(names::TOTAL_OUTPUT, usage.output_tokens);
        if let Some(cost) = usage.cost_usd() {
            self.set(names::TOTAL_COST, cost);
        }
        self.mark_estimates(usage);
    }

    fn mark_estimates(&mut self, usage: &Usage) {
        if usage.unpriced_calls > 0 {
            self.set(names::UNPRICED, usage.unpriced_calls);
        }
        if usage.estimated {
            self.attributes.push((names::ESTIMATED, Value::Flag(true)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::RunId;

    #[test]
    fn a_cost_that_is_not_known_is_left_out() {
        let run = RunId("r".into());
        let costs = |usage: Usage| {
            let mut span = Span {
                trace: TraceId::of(&run),
                id: SpanId::of(&run, "task", "t", 1),
                parent: None,
                name: String::new(),
                kind: Kind::Internal,
                start: Timestamp(0),
                end: Timestamp(0),
                attributes: Vec::new(),
                links: Vec::new(),
                error: None,
            };
            span.total(&usage);
            span.use_model(&usage);
            [names::TOTAL_COST, names::COST, names::UNPRICED].map(|name| span.get(name).cloned())
        };
        let priced = Usage { calls: 2, cost_micros: 5, ..Usage::default() };
        let cost = Some(Value::Fraction(5e-6));
        assert_eq!(costs(priced), [cost.clone(), cost, None]);
        let unpriced = |calls| Some(Value::from(calls));
        assert_eq!(costs(Usage { unpriced_calls: 1, ..priced }), [None, None, unpriced(1)]);
        let unknown = Usage { calls: 2, unpriced_calls: 2, ..Usage::default() };
        assert_eq!(costs(unknown), [None, None, unpriced(2)]);
    }
}
