//! Runs a query within its bounds, and writes down what it gives.

use super::{Bounds, Question, View, refuse};
use crate::store::{Dataset, Limits, find};
use crate::{Error, export, vocab};
use oxrdf::{NamedNode, Term};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use spareval::{CancellationToken, QueryEvaluator, QueryResults, QuerySolutionIter, QueryTripleIter};
use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Columns and rows of plain values, as JSON: for tables, for agents.
    Rows,
    /// SPARQL results in JSON; graphs as Turtle.
    Json,
    /// SPARQL results in XML; graphs as Turtle.
    Xml,
    /// CSV; graphs as Turtle.
    Csv,
    /// TSV; graphs as Turtle.
    Tsv,
    /// Graphs as N-Triples; results in JSON.
    NTriples,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The answer.
    pub body: String,
    /// Its media type.
    pub media: String,
    /// Rows, or triples.
    pub rows: usize,
    /// Whether there would be more.
    pub truncated: bool,
}

/// Answers a query; everything that it sees is of one moment.
pub fn answer(connection: &Connection, question: &Question) -> Result<Answer, Error> {
    let query = refuse::checked(&question.query, &question.bounds)?;
    let begin = Instant::now();
    let time = Duration::from_millis(question.bounds.time_ms);
    let token = CancellationToken::new();
    let interrupt = connection.get_interrupt_handle();
    let (done, wait) = channel::<()>();
    let watch = {
        let token = token.clone();
        std::thread::spawn(move || {
            if wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                token.cancel();
                interrupt.interrupt();
            }
        })
    };
    let run = || -> Result<Answer, Error> {
        let moment = connection.unchecked_transaction().map_err(database)?;
        let limits = Limits { quads: question.bounds.quads, until: Some(begin + time), terms: 1_000_000 };
        let dataset =
            Dataset::new(connection, limits, allowed(connection, &question.view)?).map_err(database)?;
        let evaluator = QueryEvaluator::new().with_cancellation_token(token);
        let results = evaluator.prepare(&query).execute(dataset).map_err(stopped)?;
        let answer = match results {
            QueryResults::Boolean(value) => boolean(value, question.form),
            QueryResults::Solutions(solutions) if question.form == Form::Rows => {
                rows(solutions, &question.bounds)
            }
            QueryResults::Solutions(solutions) => written(solutions, question),
            QueryResults::Graph(triples) => graph(triples, question),
        };
        drop(moment);
        answer
    };
    let answer = run();
    drop(done);
    watch.join().ok();
    match answer {
        Err(_) if begin.elapsed() >= time => {
            Err(Error::Stopped(format!("it took longer than {} s", question.bounds.time_ms as f64 / 1000.0)))
        }
        answer => answer,
    }
}

fn database(error: rusqlite::Error) -> Error {
    Error::Stopped(error.to_string())
}

fn stopped(error: impl std::error::Error) -> Error {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if !words.contains(&inner.to_string()) {
            words = format!("{words}: {inner}");
        }
        cause = inner.source();
    }
    Error::Stopped(words)
}

fn allowed(connection: &Connection, view: &View) -> Result<Option<HashSet<i64>>, Error> {
    let View::Only(graphs) = view else { return Ok(None) };
    let mut allowed = HashSet::new();
    for graph in graphs {
        allowed.extend(find(connection, &NamedNode::new_unchecked(graph).into()).map_err(database)?);
    }
    Ok(Some(allowed))
}

fn boolean(value: bool, form: Form) -> Result<Answer, Error> {
    if form == Form::Rows {
        let body = json!({"columns": ["answer"], "rows": [[value]]}).to_string();
        return Ok(Answer { body, media: "application/json".into(), rows: 1, truncated: false });
    }
    let format = format_of(form);
    let body = QueryResultsSerializer::from_format(format).serialize_boolean_to_writer(Vec::new(), value)?;
    Ok(Answer { body: text(body), media: format.media_type().into(), rows: 1, truncated: false })
}

fn format_of(form: Form) -> QueryResultsFormat {
    match form {
        Form::Rows | Form::Json | Form::NTriples => QueryResultsFormat::Json,
        Form::Xml => QueryResultsFormat::Xml,
        Form::Csv => QueryResultsFormat::Csv,
        Form::Tsv => QueryResultsFormat::Tsv,
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rows(solutions: QuerySolutionIter<'_>, bounds: &Bounds) -> Result<Answer, Error> {
    let columns: Vec<String> = solutions.variables().iter().map(|name| name.as_str().to_owned()).collect();
    let (mut all, mut size, mut truncated) = (Vec::new(), 0, false);
    for solution in solutions {
        let solution = solution.map_err(stopped)?;
        let row: Vec<Value> =
            columns.iter().map(|name| solution.get(name.as_str()).map_or(Value::Null, value_of)).collect();
        size += row.iter().map(|value| value.to_string().len() + 1).sum::<usize>();
        if all.len() >= bounds.rows || size > bounds.bytes {
            truncated = true;
            break;
        }
        all.push(row);
    }
    let rows = all.len();
    let body = json!({"columns": columns, "rows": all, "truncated": truncated}).to_string();
    Ok(Answer { body, media: "application/json".into(), rows, truncated })
}

/// A term as a plain value: numbers and truth values as such, everything else as text.
fn value_of(term: &Term) -> Value {
    let literal = match term {
        Term::NamedNode(node) => return short(node.as_str()),
        Term::BlankNode(node) => return json!(node.to_string()),
        Term::Literal(literal) => literal,
    };
    let kind = literal.datatype().as_str().rsplit('#').next().unwrap_or_default();
    let number = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_number);
    match kind {
        "integer" | "decimal" | "double" | "float" => {
            number(literal.value()).unwrap_or_else(|| json!(literal.value()))
        }
        "boolean" => json!(literal.value() == "true"),
        _ => json!(literal.value()),
    }
}

fn short(iri: &str) -> Value {
    let known = vocab::short(iri);
    if known.starts_with('<') { json!(iri) } else { json!(known) }
}

fn written(solutions: QuerySolutionIter<'_>, question: &Question) -> Result<Answer, Error> {
    let format = format_of(question.form);
    let mut writer = QueryResultsSerializer::from_format(format)
        .serialize_solutions_to_writer(Vec::new(), solutions.variables().to_vec())?;
    let (mut rows, mut size, mut truncated) = (0, 0, false);
    for solution in solutions {
        let solution = solution.map_err(stopped)?;
        size += solution
            .iter()
            .map(|(name, term)| name.as_str().len() + term.to_string().len() + 16)
            .sum::<usize>();
        if rows >= question.bounds.rows || size > question.bounds.bytes {
            truncated = true;
            break;
        }
        rows += 1;
        writer.serialize(&solution)?;
    }
    Ok(Answer { body: text(writer.finish()?), media: format.media_type().into(), rows, truncated })
}

fn graph(triples: QueryTripleIter<'_>, question: &Question) -> Result<Answer, Error> {
    let (mut all, mut size, mut truncated) = (Vec::new(), 0, false);
    for triple in triples {
        let triple = triple.map_err(stopped)?;
        size += triple.to_string().len();
        if all.len() >= question.bounds.rows || size > question.bounds.bytes {
            truncated = true;
            break;
        }
        all.push(triple);
    }
    let (body, media) = match question.form {
        Form::NTriples => {
            (all.iter().map(|triple| format!("{triple} .\n")).collect(), "application/n-triples")
        }
        _ => (export::turtle(&all)?, "text/turtle"),
    };
    Ok(Answer { body, media: media.into(), rows: all.len(), truncated })
}
