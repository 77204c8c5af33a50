//! Queries of the knowledge graph: run by workers that are this same binary, started with one word.

use super::programs::own_binary;
use crate::stored;
use convoke_journal::{Search, StateDir};
use convoke_knowledge::Error;
use convoke_knowledge::ask::{Answer, Bounds, Form, Question, Statements, View};
use convoke_knowledge::project::graph_of;
use convoke_knowledge::update;
use convoke_knowledge::worker::{Worker, WorkerCommand};
use convoke_model::RunId;
use convoke_tools::{GivenStatements, Graph, GraphScope};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The word that makes a worker of the binary. It is no command for people.
const WORKER: &str = "__knowledge";

/// The folder of the graph, where this process is to be a worker. To be asked before anything else is done in it.
pub fn worker_folder(mut words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    words.next();
    (words.next().as_deref() == Some(OsStr::new(WORKER))).then(|| words.next().map(PathBuf::from))?
}

/// A worker for the graph of a state directory.
pub fn worker(state: &StateDir) -> Worker {
    let program = own_binary().unwrap_or_else(|| PathBuf::from("convoke"));
    Worker::new(WorkerCommand { program, word: WORKER.to_owned(), folder: update::folder(state) })
}

/// How long an agent's query waits for another process that brings the graph up to date.
const PATIENCE: Duration = Duration::from_secs(2);

/// The graph, as agents of a run ask it.
pub struct RunGraph {
    /// Where runs are kept.
    pub state: StateDir,
    /// The run that asks.
    pub run: RunId,
}

impl RunGraph {
    fn view(&self, scope: GraphScope) -> Result<View, String> {
        if scope == GraphScope::Run {
            return Ok(View::Only(vec![graph_of(&self.run).into_string()]));
        }
        let search = Search { folder: Some(stored::folder()), ..Search::default() };
        let rows = stored::search_runs(&self.state, &search).map_err(|failure| failure.message)?;
        Ok(View::Only(rows.iter().map(|row| graph_of(&row.id).into_string()).collect()))
    }
}

impl Graph for RunGraph {
    fn query(&self, query: String, limit: usize, scope: GraphScope) -> BoxFuture<'_, Result<String, String>> {
        async move {
            let view = self.view(scope)?;
            let state = self.state.clone();
            let asking = tokio::task::spawn_blocking(move || {
                update::update(&state, PATIENCE)?;
                let bounds = Bounds { rows: limit.min(Bounds::AGENT.rows), ..Bounds::AGENT };
                worker(&state).ask(&Question { query, bounds, view, form: Form::Rows, given: None })
            });
            answered(asking.await)
        }
        .boxed()
    }

    fn query_statements(
        &self,
        statements: GivenStatements,
        query: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<String, String>> {
        async move {
            let state = self.state.clone();
            let asking = tokio::task::spawn_blocking(move || {
                update::make_folder(&state)?;
                let bounds = Bounds { rows: limit.min(Bounds::AGENT.rows), ..Bounds::AGENT };
                let given = Statements { turtle: statements.turtle, inferred: statements.inferred };
                let (view, form, given) = (View::All, Form::Rows, Some(given));
                worker(&state).ask(&Question { query, bounds, view, form, given })
            });
            answered(asking.await)
        }
        .boxed()
    }
}

/// The body of an answer, or why there is none.
fn answered(asked: Result<Result<Answer, Error>, tokio::task::JoinError>) -> Result<String, String> {
    match asked {
        Ok(answered) => answered.map(|answer| answer.body).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
