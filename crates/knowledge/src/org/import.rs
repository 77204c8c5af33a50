//! Organisations in the words of others: the W3C Organization Ontology and schema.org.
//!
//! A file that has no word of ours is translated: their words that mean the same become ours, at the same places. Nothing personal is
//! taken: a person's name stays out, the title of a post is what a role is called. LDAP exports come as JSON-LD whose context names our
//! words (`docs/how-to/run-a-company.md` has one).

use super::Stated;
use crate::vocab::{self, cv, label, rdf_type};
use oxrdf::{NamedNode, NamedOrBlankNode, Term, Triple};

/// What their words say about ours, for queries and for the rules.
pub(super) const ALIGNMENTS: &str = "
    @prefix cv: <https://w3id.org/convoke#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix schema: <http://schema.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    schema:reportsTo owl:inverseOf schema:directReport .";

/// How one of their words is said in ours.
enum Says {
    /// The same way round.
    Same(&'static str),
    /// The other way round.
    Turned(&'static str),
    /// What the subject is called.
    Called,
}

const WORDS: [(&str, &str, Says); 15] = [
    ("org", "hasUnit", Says::Same("hasDepartment")),
    ("org", "unitOf", Says::Turned("hasDepartment")),
    ("org", "hasPost", Says::Same("hasAgentRole")),
    ("org", "postIn", Says::Turned("hasAgentRole")),
    ("org", "reportsTo", Says::Same("reportsTo")),
    ("org", "headOf", Says::Turned("headedBy")),
    ("schema", "department", Says::Same("hasDepartment")),
    ("schema", "subOrganization", Says::Same("hasDepartment")),
    ("schema", "parentOrganization", Says::Turned("hasDepartment")),
    ("schema", "employee", Says::Same("hasAgentRole")),
    ("schema", "member", Says::Same("hasAgentRole")),
    ("schema", "worksFor", Says::Turned("hasAgentRole")),
    ("schema", "reportsTo", Says::Same("reportsTo")),
    ("schema", "jobTitle", Says::Called),
    ("skos", "prefLabel", Says::Called),
];

/// Adds our words where only those of others were used.
pub(super) fn translate(stated: &mut Stated) {
    let is_ours = |triple: &Triple| {
        let class = matches!(&triple.object, Term::NamedNode(node) if node.as_str().starts_with(vocab::CV));
        triple.predicate.as_str().starts_with(vocab::CV) || class
    };
    if stated.triples().any(is_ours) {
        return;
    }
    let said: Vec<(Triple, Triple)> =
        stated.triples().flat_map(|triple| translated(triple).map(|ours| (ours, triple.clone()))).collect();
    for (ours, theirs) in said {
        stated.add_like(ours, &theirs);
    }
    name_units(stated);
}

fn translated(triple: &Triple) -> impl Iterator<Item = Triple> {
    let says = WORDS.iter().find(|(prefix, name, _)| {
        triple.predicate.as_str().strip_prefix(vocab::space(prefix)) == Some(*name)
    });
    let ours = says.and_then(|(_, _, says)| match (says, &triple.object) {
        (Says::Same(word), Term::NamedNode(_)) => {
            Some(Triple::new(triple.subject.clone(), cv(word), triple.object.clone()))
        }
        (Says::Turned(word), Term::NamedNode(object)) => {
            let subject = Term::from(triple.subject.clone());
            Some(Triple::new(object.clone(), cv(word), subject))
        }
        (Says::Called, Term::Literal(_)) => {
            Some(Triple::new(triple.subject.clone(), label(), triple.object.clone()))
        }
        _ => None,
    });
    ours.into_iter()
}

/// schema.org calls everything by `name`; only units are called so here, because the name of an employee is a person's.
fn name_units(stated: &mut Stated) {
    let name = format!("{}name", vocab::space("schema"));
    let has_department = cv("hasDepartment");
    let units: Vec<NamedOrBlankNode> = stated
        .triples()
        .filter(|triple| triple.predicate == has_department)
        .flat_map(|triple| [Some(triple.subject.clone()), named(&triple.object)])
        .flatten()
        .collect();
    let called: Vec<Triple> = stated
        .triples()
        .filter(|triple| triple.predicate.as_str() == name && units.contains(&triple.subject))
        .cloned()
        .collect();
    for triple in called {
        let ours = Triple::new(triple.subject.clone(), label(), triple.object.clone());
        stated.add_like(ours, &triple);
    }
    let companies: Vec<Triple> =
        stated.triples().filter(|triple| triple.predicate == has_department).cloned().collect();
    for triple in companies {
        stated.add_like(Triple::new(triple.subject.clone(), rdf_type(), cv("Company")), &triple);
    }
}

fn named(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(NamedNode::clone(node).into()),
        Term::BlankNode(node) => Some(node.clone().into()),
        Term::Literal(_) => None,
    }
}
