//! Collects the quads of one event.

use crate::term::moment_text;
use crate::vocab::{cv, rdf_type};
use convoke_model::Timestamp;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Quad, Term};

/// Quads of one graph.
#[derive(Debug, Clone)]
pub(super) struct Quads {
    graph: NamedNode,
    list: Vec<Quad>,
}

impl Quads {
    /// None yet.
    pub fn of(graph: NamedNode) -> Quads {
        Quads { graph, list: Vec::new() }
    }

    /// What was collected.
    pub fn take(&mut self) -> Vec<Quad> {
        std::mem::take(&mut self.list)
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Any quad.
    pub fn add(&mut self, subject: &NamedNode, predicate: NamedNode, object: impl Into<Term>) {
        self.list.push(Quad::new(subject.clone(), predicate, object.into(), self.graph.clone()));
    }

    /// What a thing is.
    pub fn class(&mut self, subject: &NamedNode, class: &str) {
        self.add(subject, rdf_type(), cv(class));
    }

    /// A text.
    pub fn text(&mut self, subject: &NamedNode, predicate: &str, text: &str) {
        self.add(subject, cv(predicate), Literal::new_simple_literal(text));
    }

    /// A whole number.
    pub fn number(&mut self, subject: &NamedNode, predicate: &str, number: u64) {
        self.add(subject, cv(predicate), Literal::new_typed_literal(number.to_string(), xsd::INTEGER));
    }

    /// A whole number that says something only if it is not 0.
    pub fn count(&mut self, subject: &NamedNode, predicate: &str, number: u64) {
        if number > 0 {
            self.number(subject, predicate, number);
        }
    }

    /// A moment.
    pub fn moment(&mut self, subject: &NamedNode, predicate: NamedNode, at: Timestamp) {
        let text = moment_text(at.0.min(i64::MAX as u64) as i64);
        self.add(subject, predicate, Literal::new_typed_literal(text, xsd::DATE_TIME));
    }

    /// The day of a moment, so that days can be compared and grouped.
    pub fn day(&mut self, subject: &NamedNode, at: Timestamp) {
        let text = moment_text(at.0.min(i64::MAX as u64) as i64);
        let day = text.split('T').next().unwrap_or_default();
        self.add(subject, cv("day"), Literal::new_typed_literal(day, xsd::DATE));
    }
}
