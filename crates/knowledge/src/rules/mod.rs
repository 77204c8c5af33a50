//! OWL 2 RL by rules, with the proof of everything that is inferred and of every contradiction.
//!
//! Axioms become rules first (`compile`): a subclass axiom is one rule, so predicates of rules are constants and joins are look-ups.
//! Then rules run from each new fact (`run`). Names are unique unless `owl:sameAs` says otherwise: two values of a functional property
//! are a contradiction and not one thing with two names.

mod compile;
mod proof;
mod run;

pub use proof::{Line, words};

use oxrdf::{NamedNode, NamedOrBlankNode, Term, Triple};
use std::collections::{HashMap, HashSet};

/// A term, by its number.
type Id = u32;

/// Subject, predicate, object.
type Fact = [Id; 3];

/// The most variables of a rule: a chain of seven properties.
const VARIABLES: usize = 8;

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    Var(u8),
    Is(Id),
}

/// One rule.
struct Rule {
    name: &'static str,
    axiom: String,
    body: Vec<[Slot; 3]>,
    /// Without one the body is a contradiction.
    head: Option<[Slot; 3]>,
    /// Variables that may not be the same.
    unlike: Option<(u8, u8)>,
}

/// Facts that cannot hold together.
pub struct Contradiction {
    /// The rule of OWL 2 RL.
    pub rule: &'static str,
    /// The axiom that it was made from.
    pub axiom: String,
    /// The facts, by their place.
    pub facts: Vec<usize>,
}

/// What was stated, and what follows.
#[derive(Default)]
pub struct Reasoner {
    names: Vec<Term>,
    numbers: HashMap<Term, Id>,
    facts: Vec<Fact>,
    known: HashMap<Fact, usize>,
    why: Vec<Option<(usize, Vec<usize>)>>,
    by_p: HashMap<Id, Vec<usize>>,
    by_sp: HashMap<(Id, Id), Vec<usize>>,
    by_po: HashMap<(Id, Id), Vec<usize>>,
    rules: Vec<Rule>,
    rules_by_p: HashMap<Id, Vec<(usize, usize)>>,
    rules_by_class: HashMap<Id, Vec<(usize, usize)>>,
    rules_any: Vec<(usize, usize)>,
    contradictions: Vec<Contradiction>,
    reported: HashSet<Vec<usize>>,
    stated: usize,
}

impl Reasoner {
    /// Takes what was stated, and infers what follows.
    pub fn new<'t>(triples: impl IntoIterator<Item = &'t Triple>) -> Reasoner {
        let mut reasoner = Reasoner::default();
        for triple in triples {
            let fact = [
                reasoner.id(subject(triple)),
                reasoner.id(triple.predicate.clone().into()),
                reasoner.id(triple.object.clone()),
            ];
            reasoner.add(fact, None);
        }
        reasoner.stated = reasoner.facts.len();
        reasoner.compile();
        reasoner.run();
        reasoner
    }

    /// What cannot be.
    pub fn contradictions(&self) -> &[Contradiction] {
        &self.contradictions
    }

    /// How much was stated, and how much was inferred.
    pub fn counts(&self) -> (usize, usize) {
        (self.stated, self.facts.len() - self.stated)
    }

    /// Everything that holds.
    pub fn triples(&self) -> impl Iterator<Item = Triple> + '_ {
        self.facts.iter().filter_map(|fact| self.triple(fact))
    }

    /// A fact as a triple.
    fn triple(&self, [s, p, o]: &Fact) -> Option<Triple> {
        let subject = match self.name_of(*s) {
            Term::NamedNode(node) => NamedOrBlankNode::from(node.clone()),
            Term::BlankNode(node) => node.clone().into(),
            Term::Literal(_) => return None,
        };
        let Term::NamedNode(predicate) = self.name_of(*p) else { return None };
        Some(Triple::new(subject, predicate.clone(), self.name_of(*o).clone()))
    }

    fn name_of(&self, id: Id) -> &Term {
        &self.names[id as usize]
    }

    fn id(&mut self, term: Term) -> Id {
        if let Some(id) = self.numbers.get(&term) {
            return *id;
        }
        let id = self.names.len() as Id;
        self.names.push(term.clone());
        self.numbers.insert(term, id);
        id
    }

    fn word(&mut self, prefix: &str, name: &str) -> Id {
        self.id(NamedNode::new_unchecked(format!("{}{name}", crate::vocab::space(prefix))).into())
    }

    fn add(&mut self, fact: Fact, why: Option<(usize, Vec<usize>)>) {
        if self.known.contains_key(&fact) {
            return;
        }
        let place = self.facts.len();
        let [s, p, o] = fact;
        self.known.insert(fact, place);
        self.facts.push(fact);
        self.why.push(why);
        self.by_p.entry(p).or_default().push(place);
        self.by_sp.entry((s, p)).or_default().push(place);
        self.by_po.entry((p, o)).or_default().push(place);
    }
}

fn subject(triple: &Triple) -> Term {
    match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => node.clone().into(),
        NamedOrBlankNode::BlankNode(node) => node.clone().into(),
    }
}

#[cfg(test)]
mod tests;
