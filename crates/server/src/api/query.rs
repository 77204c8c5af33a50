//! Query strings and paths, refused in our words.

use crate::error::ApiError;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use convoke_model::RunId;
use serde::de::DeserializeOwned;

/// What a query string says.
pub(crate) struct FromQuery<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for FromQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<FromQuery<T>, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(FromQuery(value)),
            Err(refused) => Err(ApiError::bad_request(refused.body_text())),
        }
    }
}

/// The run that a path names, in full.
pub(crate) struct OfRun(pub RunId);

impl<S: Send + Sync> FromRequestParts<S> for OfRun {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<OfRun, ApiError> {
        let named = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let named = named.map_err(|refused| ApiError::bad_request(refused.body_text()))?;
        let run = named.0.into_iter().find(|(name, _)| name == "run").map(|(_, run)| run);
        Ok(OfRun(RunId(run.unwrap_or_default().into())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for crate::access::Session {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<crate::access::Session, ApiError> {
        let missing =
            || ApiError::new(axum::http::StatusCode::UNAUTHORIZED, "token", "the request carries no token");
        parts.extensions.get::<crate::access::Session>().cloned().ok_or_else(missing)
    }
}

/// A place in a list, as callers give it back.
pub(crate) fn cursor(text: Option<&str>) -> Result<usize, ApiError> {
    match text {
        None => Ok(0),
        Some(text) => {
            text.parse().map_err(|_| ApiError::bad_request("`cursor` is none that this server has given"))
        }
    }
}

/// The cursor after `most` of a list of `all`; none at its end.
pub(crate) fn after(from: usize, most: usize, all: usize) -> Option<String> {
    let next = from.saturating_add(most);
    (next < all).then(|| next.to_string())
}

/// How many of a list are sent.
pub(crate) fn limit(asked: Option<usize>, usual: usize, most: usize) -> usize {
    asked.unwrap_or(usual).clamp(1, most)
}
