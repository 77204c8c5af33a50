//! SPARQL over HTTP: the graph is brought up to date, and a worker answers.

use crate::driving::queries;
use convoke_journal::StateDir;
use convoke_knowledge::Error;
use convoke_knowledge::ask::{Bounds, Form, Question, View};
use convoke_knowledge::update;
use convoke_server::{Refusal, RefusalKind, SparqlAnswer};
use std::time::Duration;

/// How long a request waits for another process that brings the graph up to date.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a request may use: as an agent's query, with more rows.
const BOUNDS: Bounds = Bounds { time_ms: 20_000, rows: 10_000, bytes: 8 << 20, ..Bounds::AGENT };

/// Formats by their media types, in the order in which they are preferred.
const FORMATS: [(&str, Form); 8] = [
    ("application/sparql-results+json", Form::Json),
    ("application/json", Form::Json),
    ("application/sparql-results+xml", Form::Xml),
    ("application/xml", Form::Xml),
    ("text/csv", Form::Csv),
    ("text/tab-separated-values", Form::Tsv),
    ("text/turtle", Form::Json),
    ("application/n-triples", Form::NTriples),
];

/// Answers a query.
pub fn answer(state: &StateDir, query: &str, accept: &str) -> Result<SparqlAnswer, Refusal> {
    let Some(form) = form(accept) else {
        let known: Vec<&str> = FORMATS.iter().map(|(media, _)| *media).collect();
        let words = format!("none of these formats is written; there are {}", known.join(", "));
        return Err(Refusal::new(RefusalKind::Refused, "format", words));
    };
    update::update(state, PATIENCE).map_err(refusal)?;
    let question = Question { query: query.to_owned(), bounds: BOUNDS, view: View::All, form, given: None };
    let answer = queries::worker(state).ask(&question).map_err(refusal)?;
    Ok(SparqlAnswer { media: answer.media, body: answer.body })
}

fn form(accept: &str) -> Option<Form> {
    let mut wanted = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    wanted.find_map(|wanted| match wanted {
        "*/*" | "application/*" | "" => Some(Form::Json),
        "text/*" => Some(Form::Csv),
        wanted => FORMATS.iter().find(|(media, _)| *media == wanted).map(|(_, form)| *form),
    })
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused(why) => Refusal::new(RefusalKind::Refused, "query", why),
        Error::Stopped(_) => Refusal::new(RefusalKind::Unavailable, "limit", error.to_string()),
        other => Refusal::new(RefusalKind::Unavailable, "graph", other.to_string()),
    }
}
