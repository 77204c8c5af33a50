//! Why something holds, down to what somebody wrote.

use super::{Contradiction, Fact, Id, Reasoner};
use crate::vocab::short;
use oxrdf::{Term, Triple};
use std::collections::BTreeSet;

/// How deep a proof is shown.
const DEEPEST: usize = 12;

/// One line of a proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// How far it stands from what is proved.
    pub depth: usize,
    /// The fact in words.
    pub words: String,
    /// The rule and the axiom that it follows by; `None`: it was stated.
    pub by: Option<(&'static str, String)>,
    /// The fact.
    pub triple: Option<Triple>,
}

impl Reasoner {
    /// The facts of a contradiction with their proofs, the shortest proof first.
    pub fn proof(&self, contradiction: &Contradiction) -> Vec<Line> {
        let mut lines = Vec::new();
        for fact in &contradiction.facts {
            self.prove(*fact, 0, &mut lines);
        }
        lines
    }

    /// What somebody wrote that leads to a contradiction, without axioms of the words themselves.
    pub fn stated(&self, contradiction: &Contradiction) -> Vec<Triple> {
        let mut found = BTreeSet::new();
        for fact in &contradiction.facts {
            self.roots(*fact, &mut found);
        }
        found.into_iter().filter_map(|fact| self.triple(&self.facts[fact])).collect()
    }

    fn roots(&self, fact: usize, found: &mut BTreeSet<usize>) {
        match &self.why[fact] {
            None => {
                found.insert(fact);
            }
            Some((_, from)) => from.iter().for_each(|fact| self.roots(*fact, found)),
        }
    }

    fn prove(&self, fact: usize, depth: usize, lines: &mut Vec<Line>) {
        let by = self.why[fact].as_ref();
        lines.push(Line {
            depth,
            words: self.sentence(&self.facts[fact]),
            by: by.map(|(rule, _)| (self.rules[*rule].name, self.rules[*rule].axiom.clone())),
            triple: self.triple(&self.facts[fact]),
        });
        if let Some((_, from)) = by.filter(|_| depth < DEEPEST) {
            from.iter().for_each(|fact| self.prove(*fact, depth + 1, lines));
        }
    }

    fn sentence(&self, [s, p, o]: &Fact) -> String {
        format!("{} {} {}", self.words(*s), self.words(*p), self.words(*o))
    }

    /// A term for people.
    pub(super) fn words(&self, id: Id) -> String {
        words(self.name_of(id))
    }
}

/// A term for people.
pub fn words(term: &Term) -> String {
    match term {
        Term::NamedNode(node) => match short(node.as_str()) {
            known if known.starts_with('<') => format!(":{}", crate::vocab::local(node.as_str())),
            known => known,
        },
        other => other.to_string(),
    }
}
