//! JSON and events as they leave the server: no character that a terminal or an editor obeys stands in them raw.
//!
//! Every response passes here once, whoever made it. Each such character stands inside of a JSON text, so `\uXXXX` in its place is the
//! same value. A value that a client may ask for in parts (`Accept-Ranges`) is left as it is: its bytes are what its address names.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use convoke_model::json_without_controls;
use futures::StreamExt;
use std::borrow::Cow;

/// The response with escapes, if it is JSON or a stream of events.
pub(crate) async fn escaped(response: Response<Body>) -> Response<Body> {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default() {
        "text/event-stream" => response.map(stream),
        "application/json" if !headers.contains_key(header::ACCEPT_RANGES) => whole(response).await,
        _ => response,
    }
}

/// Each piece is made of whole messages.
fn stream(body: Body) -> Body {
    Body::from_stream(
        body.into_data_stream().map(|piece| piece.map(|bytes| changed(&bytes).unwrap_or(bytes))),
    )
}

/// JSON is in memory as a whole, so reading it waits for nothing.
async fn whole(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::from_parts(head, Body::empty());
    };
    let Some(escaped) = changed(&bytes) else { return Response::from_parts(head, Body::from(bytes)) };
    if head.headers.contains_key(header::CONTENT_LENGTH) {
        head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(escaped.len()));
    }
    Response::from_parts(head, Body::from(escaped))
}

/// The bytes with escapes, where any is needed.
fn changed(bytes: &Bytes) -> Option<Bytes> {
    match json_without_controls(std::str::from_utf8(bytes).ok()?) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(Bytes::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::is_control;
    use futures::stream;
    use serde_json::{Value, json};
    use std::convert::Infallible;

    const HOSTILE: &str = "a\u{9b}2J\u{202e}b\u{7f}c\u{2028}ä";

    async fn sent(kind: &'static str, body: Body) -> (Option<String>, String) {
        let response = Response::builder().header(header::CONTENT_TYPE, kind);
        let response = response.header(header::CONTENT_LENGTH, "1").body(body).unwrap();
        let response = escaped(response).await;
        let length = response.headers().get(header::CONTENT_LENGTH);
        let length = length.map(|length| length.to_str().unwrap().to_owned());
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (length, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn json_has_escapes_and_the_same_value() {
        let value = json!({ HOSTILE: [HOSTILE, "\n"] });
        let (length, text) = sent("application/json", Body::from(value.to_string())).await;
        assert_eq!(text.chars().find(|c| is_control(*c)), None, "{text:?}");
        assert_eq!(
            (serde_json::from_str::<Value>(&text).unwrap(), length),
            (value, Some(text.len().to_string()))
        );
    }

    #[tokio::test]
    async fn events_have_escapes_and_keep_their_lines() {
        let message = |text: &str| format!("event: e\ndata: {}\n\n", json!({ "text": text }));
        let pieces = [message("plain"), message(HOSTILE)].map(Ok::<_, Infallible>);
        let (_, text) = sent("text/event-stream", Body::from_stream(stream::iter(pieces))).await;
        assert_eq!(text.chars().find(|c| is_control(*c) && *c != '\n'), None, "{text:?}");
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
        assert_eq!(
            (text.lines().count(), serde_json::from_str::<Value>(data).unwrap()["text"].clone()),
            (6, json!(HOSTILE))
        );
    }

    #[tokio::test]
    async fn other_bodies_are_as_they_are() {
        assert_eq!(sent("text/plain", Body::from(HOSTILE)).await.1, HOSTILE);
    }
}
