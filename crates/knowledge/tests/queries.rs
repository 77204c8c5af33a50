//! Generated queries over generated graphs give the same answers as a store in memory.
//!
//! `CONVOKE_QUERIES` says how many (300 unless told; 2000 for the long version).

use convoke_knowledge::ask::{Bounds, Form, Question, View, answer};
use convoke_knowledge::store::Store;
use convoke_testkit::Random;
use oxigraph::model::{GraphName, Literal, NamedNode, Quad, Term};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use serde_json::Value;

const GRAPHS: u64 = 6;

fn node(kind: &str, number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://x/{kind}{number}"))
}

fn quads(random: &mut Random) -> Vec<Quad> {
    let object = |random: &mut Random| -> Term {
        match random.below(6) {
            0 => Literal::from(random.below(5) as i64).into(),
            1 => Literal::new_simple_literal(format!("text {}", random.below(4))).into(),
            2 => Literal::new_language_tagged_literal_unchecked("wort", "de").into(),
            _ => node("n", random.below(12)).into(),
        }
    };
    (0..40 + random.below(160))
        .map(|_| {
            let (subject, predicate) = (node("n", random.below(12)), node("p", random.below(4)));
            let object = object(random);
            Quad::new(subject, predicate, object, GraphName::NamedNode(node("g", random.below(3))))
        })
        .collect()
}

/// A term of a pattern: mostly a variable.
fn slot(random: &mut Random, kind: &str, names: &[&str]) -> String {
    match random.below(4) {
        0 => node(kind, random.below(if kind == "p" { 4 } else { 12 })).to_string(),
        _ => format!("?{}", names[random.below(names.len() as u64) as usize]),
    }
}

fn triple(random: &mut Random) -> String {
    let path = ["", "", "", "+", "*", "?"][random.below(6) as usize];
    let predicate = if path.is_empty() {
        slot(random, "p", &["p", "q"])
    } else {
        format!("{}{path}", node("p", random.below(4)))
    };
    let object = match random.below(6) {
        0 => random.below(5).to_string(),
        1 => format!("\"text {}\"", random.below(4)),
        _ => slot(random, "n", &["a", "b", "c"]),
    };
    format!("{} {predicate} {object} .", slot(random, "n", &["a", "b", "c"]))
}

fn group(random: &mut Random, depth: u64) -> String {
    let mut text = triple(random);
    for _ in 0..random.below(3) {
        let part = match random.below(if depth > 2 { 4 } else { 9 }) {
            0 | 1 => triple(random),
            2 => "FILTER(ISIRI(?a))".to_owned(),
            3 => format!("FILTER(!BOUND(?b) || ?b != {})", random.below(5)),
            4 => format!("OPTIONAL {{ {} }}", group(random, depth + 1)),
            5 => format!("{{ {} }} UNION {{ {} }}", group(random, depth + 1), group(random, depth + 1)),
            6 => format!("MINUS {{ {} }}", group(random, depth + 1)),
            7 => format!("GRAPH {} {{ {} }}", slot(random, "g", &["g"]), triple(random)),
            _ => format!("FILTER NOT EXISTS {{ {} }}", triple(random)),
        };
        text = format!("{text} {part}");
    }
    text
}

fn query(random: &mut Random) -> String {
    let body = group(random, 0);
    match random.below(6) {
        0 => format!("SELECT DISTINCT ?a ?b WHERE {{ {body} }}"),
        1 => format!("SELECT ?a (COUNT(*) AS ?n) WHERE {{ {body} }} GROUP BY ?a"),
        2 => format!("ASK {{ {body} }}"),
        _ => format!("SELECT ?a ?b ?c ?p ?g WHERE {{ {body} }}"),
    }
}

/// The rows of an answer in some order, as texts.
fn theirs(store: &oxigraph::store::Store, query: &str) -> Vec<String> {
    let prepared = SparqlEvaluator::new().parse_query(query).unwrap();
    let mut rows: Vec<String> = match prepared.on_store(store).execute().unwrap() {
        QueryResults::Boolean(value) => vec![value.to_string()],
        QueryResults::Solutions(solutions) => solutions
            .map(|solution| {
                let solution = solution.unwrap();
                let mut cells: Vec<String> = solution
                    .iter()
                    .map(|(name, term)| format!("{}={}", name.as_str(), plain(term)))
                    .collect();
                cells.sort();
                cells.join(" ")
            })
            .collect(),
        QueryResults::Graph(_) => unreachable!("none of them makes a graph"),
    };
    rows.sort();
    rows
}

fn plain(term: &Term) -> String {
    match term {
        Term::NamedNode(node) => node.as_str().to_owned(),
        Term::Literal(literal) => literal.value().to_owned(),
        Term::BlankNode(node) => node.to_string(),
    }
}

fn ours(body: &str, is_ask: bool) -> Vec<String> {
    let value: Value = serde_json::from_str(body).unwrap();
    if is_ask {
        return vec![value["boolean"].to_string()];
    }
    let row = |row: &Value| {
        let cells = row.as_object().unwrap().iter();
        let mut cells: Vec<String> =
            cells.map(|(name, cell)| format!("{name}={}", cell["value"].as_str().unwrap())).collect();
        cells.sort();
        cells.join(" ")
    };
    let mut rows: Vec<String> = value["results"]["bindings"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn generated_queries_are_answered_as_by_a_store_in_memory() {
    let count = std::env::var("CONVOKE_QUERIES").ok().and_then(|text| text.parse().ok()).unwrap_or(300_u64);
    let (mut asked, mut refused, mut with_rows) = (0, 0, 0);
    for seed in 0..GRAPHS {
        let mut random = Random::new(seed);
        let quads = quads(&mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.db");
        let (mut store, _) = Store::open(&path).unwrap();
        let memory = oxigraph::store::Store::new().unwrap();
        // The terms of both are those of one crate.
        store.in_one(|writing| writing.add(&quads)).unwrap();
        quads.iter().for_each(|quad| {
            memory.insert(quad).unwrap();
            // The union of all graphs, each triple once: what our default graph is.
            memory.insert(&Quad { graph_name: GraphName::DefaultGraph, ..quad.clone() }).unwrap();
        });
        let connection = Store::reader(&path).unwrap();
        for _ in 0..count.div_ceil(GRAPHS) {
            let text = query(&mut random);
            let (bounds, view, form) = (Bounds::PERSON, View::All, Form::Json);
            let question = Question { query: text.clone(), bounds, view, form, given: None };
            match answer(&connection, &question) {
                Ok(answer) => {
                    let theirs = theirs(&memory, &text);
                    with_rows += usize::from(!theirs.is_empty());
                    assert_eq!(ours(&answer.body, text.starts_with("ASK")), theirs, "seed {seed}: {text}");
                    asked += 1;
                }
                // A product of two parts is refused before it runs.
                Err(convoke_knowledge::Error::Refused(_)) => refused += 1,
                Err(error) => panic!("{text}: {error}"),
            }
        }
    }
    assert!(
        asked > 2 * refused && with_rows > asked / 3,
        "asked {asked}, refused {refused}, with rows {with_rows}"
    );
}

#[test]
fn an_answer_is_only_from_graphs_that_may_be_seen_and_within_its_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let (mut store, _) = Store::open(&path).unwrap();
    let quads = quads(&mut Random::new(7));
    store.in_one(|writing| writing.add(&quads)).unwrap();
    let connection = Store::reader(&path).unwrap();
    let ask = |view: View, rows: usize| {
        let bounds = Bounds { rows, ..Bounds::AGENT };
        let query = "SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o }".to_owned();
        answer(&connection, &Question { query, bounds, view, form: Form::Rows, given: None }).unwrap()
    };
    let only = |graph: u64| {
        let seen: std::collections::BTreeSet<String> = quads
            .iter()
            .filter(|quad| quad.graph_name == GraphName::NamedNode(node("g", graph)))
            .map(|quad| format!("{} {} {}", quad.subject, quad.predicate, quad.object))
            .collect();
        seen.len()
    };
    assert_eq!(ask(View::Only(vec!["http://x/g1".into()]), 500).rows, only(1));
    assert_eq!(ask(View::Only(vec!["http://x/none".into()]), 500).rows, 0);
    let few = ask(View::All, 3);
    assert_eq!((few.rows, few.truncated), (3, true));
}
