//! Why two runs differ.

use super::Shared;
use super::query::FromQuery;
use crate::access::Session;
use crate::error::{ApiError, ErrorBody};
use crate::following::{Follower, Hub, waiting};
use axum::Json;
use convoke_engine::compare::{Side, compare as compared};
use convoke_journal::Reader;
use convoke_model::{Digest, RunId};
use convoke_plan::Plan;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which runs.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// The older run.
    a: String,
    /// The newer run.
    b: String,
}

/// Why two runs differ, as `convoke diff --format json` tells it
#[utoipa::path(get, path = "/compare", tag = "runs", params(Which), responses(
    (status = 200, body = Value, content_type = "application/json"), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn compare(
    app: Shared,
    _caller: Session,
    FromQuery(which): FromQuery<Which>,
) -> Result<Json<Value>, ApiError> {
    let (a, b) = (app.hub.open(&RunId(which.a.into())).await?, app.hub.open(&RunId(which.b.into())).await?);
    let hub = app.hub.clone();
    Ok(Json(waiting(move || both(&hub, &a, &b)).await?))
}

fn both(hub: &Hub, a: &Follower, b: &Follower) -> Result<Value, ApiError> {
    let plans = [plan(a)?, plan(b)?];
    let readers = [Reader::open(&hub.state, &a.run)?, Reader::open(&hub.state, &b.run)?];
    let events = [readers[0].read_all()?, readers[1].read_all()?];
    let blobs =
        [&readers[0], &readers[1]].map(|reader| move |digest: &Digest| reader.blob(digest).ok().flatten());
    let side = |at: usize| Side { plan: &plans[at], events: &events[at], blob: &blobs[at] };
    let comparison = compared([side(0), side(1)]).map_err(|error| {
        let words = format!("the runs cannot be compared: {error}");
        ApiError::new(axum::http::StatusCode::CONFLICT, "not_comparable", words)
    })?;
    serde_json::to_value(&comparison).map_err(|error| ApiError::bad_request(error.to_string()))
}

fn plan(follower: &Follower) -> Result<Arc<Plan>, ApiError> {
    let plan = follower.look(|seen| seen.plan.clone());
    plan.ok_or_else(|| {
        let words = format!("the plan of run `{}` cannot be read", follower.run);
        ApiError::new(axum::http::StatusCode::CONFLICT, "no_plan", words)
    })
}
