//! Files before they run: which may be started, what is wrong with one, what it would do.

use super::Shared;
use super::body::Given;
use crate::access::{Role, Session};
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::waiting;
use crate::host::{Finding, Subject, WorkflowFile};
use crate::shapes::GraphBody;
use axum::Json;
use convoke_view::Graph;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A file, or a text that is in none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubjectBody {
    /// One of the files that may be started.
    #[serde(default)]
    file: Option<String>,
    /// The text of a workflow. It takes a token that may start runs (`operate`): see the call.
    #[serde(default)]
    text: Option<String>,
}

impl SubjectBody {
    /// Compiling a text expands `${NAME}` and reads the files that it names, so it takes the right to start a run. A file is one that the
    /// operator of the server has put there.
    fn subject(self, session: &Session) -> Result<Subject, ApiError> {
        if self.text.is_some() {
            session.may(Role::Operate)?;
        }
        match (self.file, self.text) {
            (Some(file), None) => Ok(Subject::File(file)),
            (None, Some(text)) => Ok(Subject::Text(text)),
            _ => Err(ApiError::bad_request("give either `file` or `text`")),
        }
    }
}

/// Files that may be started.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowsBody {
    workflows: Vec<WorkflowFile>,
}

/// Files that may be started, with what they take
#[utoipa::path(get, path = "/workflows", tag = "files", responses(
    (status = 200, body = WorkflowsBody), (status = 401, body = ErrorBody)))]
pub(crate) async fn workflows(app: Shared, _caller: Session) -> Answer<WorkflowsBody> {
    let host = app.hub.host.clone();
    Ok(Json(waiting(move || Ok(WorkflowsBody { workflows: host.files() })).await?))
}

/// What is wrong with a file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckedBody {
    findings: Vec<Finding>,
    /// Whether it may run.
    ok: bool,
}

/// Everything that is wrong with a file
///
/// A `text` is compiled in the folder of the server: `${NAME}` is looked up among the variables of the server, and files that the text names
/// (`!file`, sub-workflows, prompts) are read. So it takes a token that may start runs (`operate`); any other is refused with 403 before
/// anything is read. A `file` is one of those that may be started; any token may ask about it.
#[utoipa::path(post, path = "/check", tag = "files", request_body = SubjectBody, responses(
    (status = 200, body = CheckedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub(crate) async fn check(
    app: Shared,
    session: Session,
    Given(of): Given<SubjectBody>,
) -> Answer<CheckedBody> {
    let (host, subject) = (app.hub.host.clone(), of.subject(&session)?);
    let findings = waiting(move || Ok(host.check(&subject)?)).await?;
    let ok = !findings.iter().any(|finding| finding.severity == "error");
    Ok(Json(CheckedBody { findings, ok }))
}

/// What a file would do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlannedBody {
    graph: GraphBody,
    /// Levels, limits and what it may cost, as `convoke plan --format json` has them.
    #[schema(value_type = Object)]
    plan: Value,
}

/// What a file would do, without doing it
///
/// A `text` is compiled in the folder of the server: `${NAME}` is looked up among the variables of the server, and files that the text names
/// (`!file`, sub-workflows, prompts) are read. So it takes a token that may start runs (`operate`); any other is refused with 403 before
/// anything is read. A `file` is one of those that may be started; any token may ask about it.
#[utoipa::path(post, path = "/plan", tag = "files", request_body = SubjectBody, responses(
    (status = 200, body = PlannedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub(crate) async fn plan(
    app: Shared,
    session: Session,
    Given(of): Given<SubjectBody>,
) -> Answer<PlannedBody> {
    let (host, subject) = (app.hub.host.clone(), of.subject(&session)?);
    let (plan, record) = waiting(move || Ok(host.plan(&subject)?)).await?;
    Ok(Json(PlannedBody { graph: GraphBody::of(&Graph::of(&plan), &|_| None, None), plan: record }))
}
