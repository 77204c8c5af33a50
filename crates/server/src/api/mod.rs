//! The API: one file per subject, all of it in the OpenAPI document.

mod act;
mod at;
mod body;
mod capacity;
mod common;
mod compare;
mod events;
mod files;
mod inbox;
mod query;
mod runs;
mod session;
mod sparql;
mod spend;
mod stream;
mod task;
mod tasks;
mod values;
mod waits;

pub(crate) use at::{RunAt, now};
pub(crate) use events::of_task as events_of_task;
pub(crate) use runs::{SentenceBody, graph_of, markers_of, story_of};
pub(crate) use stream::Streams;
pub(crate) use task::{detail_by as task_by, detail_of as task_now, prompt_part};

use crate::access::{Names, Tokens};
use crate::error::{ApiError, ErrorBody};
use crate::following::Hub;
use crate::settings::Settings;
use axum::Router;
use std::sync::Arc;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What every handler can reach.
pub(crate) struct App {
    pub hub: Arc<Hub>,
    pub settings: Settings,
    pub streams: Streams,
    pub starts: act::Starts,
    /// Asked again while a stream is open.
    pub tokens: Arc<Tokens>,
}

/// What handlers are given.
pub(crate) type Shared = axum::extract::State<Arc<App>>;

/// Where the API begins.
pub(crate) const BASE: &str = "/api/v1";

/// What the document says besides its paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Convoke",
        description = "Runs of a state folder: list, watch, start, stop, answer. Every call carries `Authorization: Bearer TOKEN`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/api/v1")),
    security(("token" = [])),
    components(schemas(ErrorBody)),
    modifiers(&Bearer)
)]
struct Document;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}

fn all() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(session::session))
        .routes(routes!(runs::list, act::start))
        .routes(routes!(runs::head))
        .routes(routes!(runs::graph))
        .routes(routes!(runs::timeline))
        .routes(routes!(runs::story))
        .routes(routes!(runs::markers))
        .routes(routes!(tasks::tasks))
        .routes(routes!(task::task))
        .routes(routes!(events::events))
        .routes(routes!(events::search))
        .routes(routes!(values::value))
        .routes(routes!(compare::compare))
        .routes(routes!(inbox::inbox))
        .routes(routes!(capacity::capacity))
        .routes(routes!(capacity::instances))
        .routes(routes!(capacity::set))
        .routes(routes!(spend::spend))
        .routes(routes!(files::workflows))
        .routes(routes!(files::check))
        .routes(routes!(files::plan))
        .routes(routes!(act::stop))
        .routes(routes!(act::resume))
        .routes(routes!(act::retry))
        .routes(routes!(act::guide))
        .routes(routes!(act::answer))
        .routes(routes!(act::answers))
        .routes(routes!(sparql::sparql, sparql::sparql_in_body))
        .routes(routes!(stream::stream))
        .routes(routes!(stream::subscribe))
}

/// The OpenAPI document, as it is served and kept among the documents.
pub fn description() -> String {
    let (_, mut document) = all().split_for_parts();
    document.info.version = "1".to_owned();
    let mut document = serde_json::to_value(document).unwrap_or_default();
    common::describe(&mut document);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// The routes below [`BASE`].
pub(crate) fn router(app: Arc<App>) -> Router {
    let document = description();
    let (routes, _) = all().split_for_parts();
    let openapi = move || {
        let document = document.clone();
        async move { ([(axum::http::header::CONTENT_TYPE, "application/json")], document) }
    };
    let unknown = || async { ApiError::not_found("there is no such call") };
    let wrong = || async {
        ApiError::new(axum::http::StatusCode::METHOD_NOT_ALLOWED, "method", "this call takes another method")
    };
    routes
        .route("/openapi.json", axum::routing::get(openapi))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong)
        .with_state(app)
}

/// The names and tokens by which a server is called.
pub(crate) fn guard(
    settings: &Settings,
    tokens: Arc<Tokens>,
    address: std::net::SocketAddr,
) -> crate::access::Guard {
    let names = Names::new(address, &settings.names, settings.tls.is_some(), settings.behind_proxy);
    crate::access::Guard { names, tokens }
}
