//! A value that a run names by its address: an output, a record of a conversation.

use super::Shared;
use crate::access::Session;
use crate::error::{ApiError, ErrorBody};
use crate::following::waiting;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use convoke_model::{Digest, RunId};

/// The bytes of a value
#[utoipa::path(get, path = "/runs/{run}/values/{address}", tag = "events",
    params(("run" = String, Path), ("address" = String, Path), ("range" = Option<String>, Header, description = "`bytes=FROM-TO`")),
    responses((status = 200, body = String, content_type = "application/json", description = "the whole value, JSON"),
    (status = 206, body = String, content_type = "application/json", description = "the bytes that were asked for"),
    (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody), (status = 416, body = ErrorBody)))]
pub(crate) async fn value(
    app: Shared,
    _caller: Session,
    Path((run, address)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let digest =
        Digest::parse(&address).ok_or_else(|| ApiError::bad_request("this is no address of a value"))?;
    let run = RunId(run.into());
    let state = app.settings.state.clone();
    let text = waiting(move || {
        let reader = convoke_journal::Reader::open(&state, &run)?;
        reader.blob(&digest)?.ok_or_else(|| ApiError::not_found(format!("run `{run}` has no such value")))
    })
    .await?;
    let bytes = text.as_str().as_bytes();
    let kind = [(header::CONTENT_TYPE, "application/json"), (header::ACCEPT_RANGES, "bytes")];
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    match range.map(|range| part(range, bytes.len())) {
        None => Ok((kind, bytes.to_vec()).into_response()),
        Some(Some((from, to))) => {
            let place = format!("bytes {from}-{}/{}", to - 1, bytes.len());
            let body = Body::from(bytes[from..to].to_vec());
            Ok((StatusCode::PARTIAL_CONTENT, kind, [(header::CONTENT_RANGE, place)], body).into_response())
        }
        Some(None) => {
            Err(ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", "the value has no such bytes"))
        }
    }
}

/// The bytes that `bytes=FROM-TO` means, if there are such.
fn part(range: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from.trim(), to.trim()) {
        ("", last) => (length.saturating_sub(last.parse().ok()?), length),
        (from, "") => (from.parse().ok()?, length),
        (from, to) => (from.parse().ok()?, to.parse::<usize>().ok()?.checked_add(1)?.min(length)),
    };
    (from < to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_was_asked_for_as_far_as_it_is_there() {
        assert_eq!(
            [part("bytes=0-3", 10), part("bytes=8-", 10), part("bytes=-3", 10)],
            [Some((0, 4)), Some((8, 10)), Some((7, 10))]
        );
        assert_eq!([part("bytes=8-99", 10), part("bytes=-99", 10)], [Some((8, 10)), Some((0, 10))]);
        assert_eq!(
            [part("bytes=10-", 10), part("bytes=5-2", 10), part("lines=1-2", 10), part("bytes=0-0", 0)],
            [None; 4]
        );
    }
}
