//! The SPARQL 1.1 protocol over the graph of runs: queries by GET or POST, and no updates.

use super::Shared;
use super::body::text;
use crate::access::Session;
use crate::error::{ApiError, ErrorBody};
use crate::following::waiting;
use crate::host::{Refusal, RefusalKind, SparqlAnswer};
use axum::body::Body;
use axum::extract::{Query, RawQuery};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// What the protocol calls its parameter. Graphs are chosen in the query itself.
#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    update: Option<String>,
}

/// Answer a SPARQL query
#[utoipa::path(get, path = "/sparql", tag = "knowledge",
    params(("query" = String, Query, description = "SPARQL 1.1: SELECT, ASK, CONSTRUCT or DESCRIBE"),
           ("accept" = Option<String>, Header, description = "the format of the answer")),
    responses((status = 200, body = String, content_type = "application/sparql-results+json"),
    (status = 400, body = ErrorBody, description = "no query, or one that is refused"), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody, description = "an update"), (status = 406, body = ErrorBody),
    (status = 503, body = ErrorBody, description = "the query passed a limit")))]
pub(crate) async fn sparql(
    app: Shared,
    _caller: Session,
    RawQuery(given): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    answer(app, of_form(given.as_deref().unwrap_or_default())?, &headers).await
}

/// Answer a SPARQL query that stands in the body
#[utoipa::path(post, path = "/sparql", tag = "knowledge",
    request_body(content = String, content_type = "application/sparql-query", description = "the query; or a form with `query`"),
    responses((status = 200, body = String, content_type = "application/sparql-results+json"),
    (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 406, body = ErrorBody), (status = 408, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 503, body = ErrorBody)))]
pub(crate) async fn sparql_in_body(
    app: Shared,
    _caller: Session,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let ty = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = match ty.split(';').next().unwrap_or_default().trim() {
        "application/sparql-query" => text(body).await?,
        "application/x-www-form-urlencoded" => of_form(&text(body).await?)?,
        "application/sparql-update" => return Err(no_updates()),
        _ => {
            let words = "the body must be application/sparql-query, or a form with `query`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", words));
        }
    };
    answer(app, query, &headers).await
}

/// The query of a form.
fn of_form(form: &str) -> Result<String, ApiError> {
    let unread = || ApiError::bad_request("the parameters cannot be read");
    let uri = Uri::builder().path_and_query(format!("/?{form}")).build().map_err(|_| unread())?;
    let Query(parameters) = Query::<Parameters>::try_from_uri(&uri).map_err(|_| unread())?;
    match parameters {
        Parameters { update: Some(_), .. } => Err(no_updates()),
        Parameters { query: Some(query), .. } => Ok(query),
        Parameters { .. } => Err(ApiError::bad_request("there is no `query`")),
    }
}

fn no_updates() -> ApiError {
    let words = "the graph is made from journals, and nothing else changes it";
    ApiError::new(StatusCode::FORBIDDEN, "read_only", words)
}

async fn answer(app: Shared, query: String, headers: &HeaderMap) -> Result<Response, ApiError> {
    let accept =
        headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*").to_owned();
    let host = app.hub.host.clone();
    let answered = waiting(move || Ok(host.sparql(&query, &accept))).await?;
    let SparqlAnswer { media, body } = answered.map_err(|refusal| match refusal {
        // By the protocol a query that cannot be answered is a bad request.
        Refusal { kind: RefusalKind::Refused, code, message, .. } => {
            let status = if code == "format" { StatusCode::NOT_ACCEPTABLE } else { StatusCode::BAD_REQUEST };
            ApiError::new(status, &code, message)
        }
        other => other.into(),
    })?;
    Ok(([(header::CONTENT_TYPE, media)], body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_gives_its_query_and_no_update() {
        let query = of_form("query=ASK%20%7B%20%3Fs+%3Fp+%3Fo%20%7D&default-graph-uri=x").unwrap();
        assert_eq!(query, "ASK { ?s ?p ?o }");
        assert!(of_form("update=DROP%20ALL").is_err() && of_form("").is_err());
    }
}
