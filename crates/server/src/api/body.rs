//! Bodies of requests: JSON or text, not too long, not too slow.

use crate::error::ApiError;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The longest body.
const MOST: usize = 1 << 20;

/// A body that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(15);

/// The value of a request's body. An empty body is an empty object.
pub(crate) struct Given<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Given<T>, ApiError> {
        let bytes = whole(request.into_body()).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // The depth of what is read has a bound of its own: 128.
        let value = serde_json::from_slice(text).map_err(|error| {
            ApiError::bad_request(format!("the body is not what this call takes: {error}"))
        })?;
        Ok(Given(value))
    }
}

/// The text of a body that is no JSON.
pub(crate) async fn text(body: Body) -> Result<String, ApiError> {
    let bytes = whole(body).await?;
    String::from_utf8(bytes.into()).map_err(|_| ApiError::bad_request("the body is no text in UTF-8"))
}

fn too_large() -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is longer than 1 MiB")
}

async fn whole(body: Body) -> Result<axum::body::Bytes, ApiError> {
    // One that says how long it is need not be waited for.
    if axum::body::HttpBody::size_hint(&body).lower() > MOST as u64 {
        return Err(too_large());
    }
    let read = tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, MOST)).await;
    let slow = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "slow", "the body did not come in time");
    let long = |error: axum::Error| match std::error::Error::source(&error) {
        Some(source) if source.to_string().contains("length limit") => too_large(),
        _ => ApiError::bad_request("the body broke off"),
    };
    read.map_err(slow)?.map_err(long)
}
