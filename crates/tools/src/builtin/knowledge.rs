//! `knowledge_query`: what was ever run, asked in SPARQL.
//!
//! Who answers is given from outside: the graph and the process in which a query runs are no business of tools.

use crate::mcp::content::failed;
use convoke_agent::ToolResult;
use convoke_model::Failure;
use futures::future::BoxFuture;
use serde_json::Value;

/// Answers queries over the graph of runs.
pub trait Graph: Send + Sync {
    /// The rows as JSON, or why there are none, in words for a model.
    fn query(&self, query: String, limit: usize, scope: GraphScope) -> BoxFuture<'_, Result<String, String>>;

    /// The same over statements that come with the query, and over nothing else.
    fn query_statements(
        &self,
        statements: GivenStatements,
        query: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<String, String>>;
}

/// Statements that somebody gives with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenStatements {
    /// In Turtle.
    pub turtle: String,
    /// Whether what follows by OWL 2 RL counts too.
    pub inferred: bool,
}

/// Which runs a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GraphScope {
    /// The one that asks.
    #[default]
    Run,
    /// All that were started in the same folder.
    Project,
}

/// Rows of an answer, unless the model says otherwise.
const ROWS: u64 = 50;

/// Asks.
pub(super) async fn query(graph: Option<&dyn Graph>, arguments: &Value) -> Result<ToolResult, Failure> {
    let Some(graph) = graph else {
        return Ok(failed("this run has no knowledge graph".to_owned()));
    };
    let query = arguments["query"].as_str().unwrap_or_default().to_owned();
    let limit = arguments["limit"].as_u64().unwrap_or(ROWS) as usize;
    let scope = if arguments["scope"] == "project" { GraphScope::Project } else { GraphScope::Run };
    Ok(match graph.query(query, limit, scope).await {
        Ok(text) => ToolResult { text, ..ToolResult::default() },
        Err(why) => failed(why),
    })
}

/// All that is known, as rows.
const EXPORT: &str = "SELECT ?s ?p ?o { ?s ?p ?o }";

/// Answers what a program asks. The arguments are the program's, as `agent` has checked them.
pub(super) async fn of_program(
    graph: Option<&dyn Graph>,
    function: &str,
    arguments: &Value,
) -> Result<ToolResult, Failure> {
    let Some(graph) = graph else {
        return Ok(failed(
            "there is no knowledge graph here: this build has none, or the run is on a cluster".to_owned(),
        ));
    };
    let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let limit = arguments["limit"].as_u64().unwrap_or(ROWS) as usize;
    let answered = if function == "kg_bulk_export" {
        let scope = if arguments["scope"] == "project" { GraphScope::Project } else { GraphScope::Run };
        graph.query(EXPORT.to_owned(), limit, scope).await
    } else {
        let statements = GivenStatements { turtle: text("turtle"), inferred: function == "owl_query" };
        graph.query_statements(statements, text("query"), limit).await
    };
    Ok(match answered {
        Ok(text) => ToolResult { text, ..ToolResult::default() },
        Err(why) => failed(why),
    })
}
