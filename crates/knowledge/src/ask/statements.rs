//! Statements that a program sends with its query: a graph that exists for one answer.
//!
//! It lies in memory, in the process that answers, whose bounds of memory and time hold for reading and inferring too.

use crate::Error;
use crate::rules::{Reasoner, words};
use crate::store::Store;
use oxrdf::{GraphName, NamedNode, Quad, Term, Triple};
use oxttl::TurtleParser;
use serde::{Deserialize, Serialize};

/// The longest text of statements, in bytes.
const LONGEST: usize = 256 * 1024;

/// So many statements at most.
const MOST: usize = 20_000;

/// Statements, as they are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statements {
    /// In Turtle.
    pub turtle: String,
    /// Whether what follows from them by OWL 2 RL counts too. Statements that contradict each other are refused then.
    pub inferred: bool,
}

impl Statements {
    /// A store that has them and nothing else.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        let stated = self.stated()?;
        let all = if self.inferred { inferred(&stated)? } else { stated };
        let graph = GraphName::from(NamedNode::new_unchecked("urn:convoke:given"));
        // A literal that is a subject follows by some rules, and is no statement of RDF: the reasoner leaves those out.
        let quads: Vec<Quad> = all.into_iter().map(|triple| triple.in_graph(graph.clone())).collect();
        let mut store = Store::in_memory()?;
        store.in_one(|writing| writing.add(&quads))?;
        Ok(store)
    }

    fn stated(&self) -> Result<Vec<Triple>, Error> {
        if self.turtle.len() > LONGEST {
            let given = self.turtle.len();
            return Err(Error::Refused(format!(
                "the statements have {given} bytes; at most {LONGEST} are read"
            )));
        }
        let mut parser = TurtleParser::new();
        for (prefix, space) in crate::vocab::PREFIXES {
            parser = parser.with_prefix(prefix, space).expect("the prefixes that we know are right");
        }
        let mut stated = Vec::new();
        for triple in parser.for_slice(self.turtle.as_bytes()) {
            stated.push(
                triple.map_err(|error| Error::Refused(format!("the statements are no Turtle: {error}")))?,
            );
            if stated.len() > MOST {
                return Err(Error::Refused(format!("there are more than {MOST} statements")));
            }
        }
        Ok(stated)
    }
}

fn inferred(stated: &[Triple]) -> Result<Vec<Triple>, Error> {
    let reasoner = Reasoner::new(stated);
    let Some(first) = reasoner.contradictions().first() else { return Ok(reasoner.triples().collect()) };
    let sentence = |triple: &Triple| {
        let (subject, predicate) = (Term::from(triple.subject.clone()), Term::from(triple.predicate.clone()));
        format!("{} {} {}", words(&subject), words(&predicate), words(&triple.object))
    };
    let facts: Vec<String> = reasoner.stated(first).iter().map(sentence).collect();
    let rule = format!("{} ({})", first.rule, first.axiom);
    Err(Error::Refused(format!("the statements contradict each other by {rule}: {}", facts.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Form, Question, View, answer};
    use super::*;

    const FAMILY: &str = "@prefix : <https://x.example/#> .
        :parent rdfs:subPropertyOf :ancestor . :ancestor a owl:TransitiveProperty . :ann :parent :ben . :ben :parent :cay .";

    fn rows(turtle: &str, inferred: bool, query: &str) -> Result<String, Error> {
        let given = Statements { turtle: turtle.to_owned(), inferred };
        let store = given.store()?;
        let (bounds, view, form) = (Bounds::AGENT, View::All, Form::Rows);
        let question = Question { query: query.to_owned(), bounds, view, form, given: None };
        Ok(answer(store.connection(), &question)?.body)
    }

    #[test]
    fn what_follows_is_asked_only_where_it_counts() {
        let query = "SELECT (COUNT(?y) AS ?n) { <https://x.example/#ann> <https://x.example/#ancestor> ?y }";
        assert!(rows(FAMILY, false, query).unwrap().contains("[[0]]"));
        assert!(rows(FAMILY, true, query).unwrap().contains("[[2]]"));
    }

    #[test]
    fn what_is_no_turtle_too_much_or_contradictory_is_refused_in_words() {
        let refused = |turtle: &str| match rows(turtle, true, "ASK { ?s ?p ?o }") {
            Err(Error::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused("<a> <b>").contains("no Turtle"));
        assert!(refused(&" ".repeat(LONGEST + 1)).contains("at most"));
        let things: Vec<String> = (0..=MOST).map(|n| format!("<x:{n}>")).collect();
        assert!(refused(&format!("<x:s> <x:p> {} .", things.join(","))).contains("more than"));
        let both = "@prefix : <https://x.example/#> . :A owl:disjointWith :B . :x a :A , :B .";
        assert!(refused(both).contains("contradict each other by cax-dw"), "{}", refused(both));
    }
}
