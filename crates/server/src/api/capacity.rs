//! What processes share, and changes of its limits.

use super::body::Given;
use super::{App, Shared};
use crate::access::{Role, Session};
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::waiting;
use crate::shapes::{CapacityBody, InstanceBody, unit_of};
use axum::Json;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// The table of what processes share, read without a lock.
pub(crate) async fn table(app: &Arc<App>) -> Result<CapacityBody, ApiError> {
    let hub = app.hub.clone();
    waiting(move || {
        let snapshot = hub.shared().map_err(|error| {
            ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "capacity", error.to_string())
        })?;
        let recent = |name: &str| hub.look_at_usage(|usage| usage.of(name).collect());
        Ok(CapacityBody::of(snapshot.as_ref(), recent))
    })
    .await
}

/// Limits, their holders, and the processes that take part
#[utoipa::path(get, path = "/capacity", tag = "capacity", responses(
    (status = 200, body = CapacityBody), (status = 401, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn capacity(app: Shared, _caller: Session) -> Answer<CapacityBody> {
    Ok(Json(table(&app).await?))
}

/// The processes that take part
#[utoipa::path(get, path = "/instances", tag = "capacity", responses(
    (status = 200, body = Vec<InstanceBody>), (status = 401, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn instances(app: Shared, _caller: Session) -> Answer<Vec<InstanceBody>> {
    Ok(Json(table(&app).await?.processes))
}

/// Another limit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitChange {
    /// In the unit of the limit.
    value: u64,
    /// Recorded as the origin of the limit, with the token's name.
    #[serde(default)]
    reason: String,
}

/// What a limit was and is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LimitChanged {
    name: String,
    before: u64,
    value: u64,
}

/// Changes a limit for every process of the state folder
#[utoipa::path(put, path = "/capacity/{limit}", tag = "capacity", params(("limit" = String, Path)), request_body = LimitChange, responses(
    (status = 200, body = LimitChanged), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub(crate) async fn set(
    app: Shared,
    session: Session,
    Path(name): Path<String>,
    Given(change): Given<LimitChange>,
) -> Answer<LimitChanged> {
    session.may(Role::Operate)?;
    let by = match change.reason.trim() {
        "" => session.author(),
        reason => format!("{}: {reason}", session.author()),
    };
    let host = app.hub.host.clone();
    let (_, factor) = unit_of(&name);
    let Ok(units) = u32::try_from(change.value.div_ceil(factor)) else {
        let words = format!("{} is more than a limit can be", change.value);
        return Err(ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "refused", words));
    };
    let changed = waiting(move || {
        let before = u64::from(host.set_limit(&name, units, &by)?) * factor;
        Ok(LimitChanged { name, before, value: u64::from(units) * factor })
    });
    Ok(Json(changed.await?))
}
