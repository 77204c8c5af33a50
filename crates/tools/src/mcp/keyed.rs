//! A client of streamable HTTP that sends the idempotency key of a tool call as a header too.
//!
//! Servers often stand behind gateways that know `Idempotency-Key` and nothing of the protocol inside. The key is taken from the
//! message itself, so that header and message never differ; a message that is no call of a tool gets no header.

use super::labels::IDEMPOTENCY;
use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestMetaObject};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;

/// The header.
const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// A client that adds the header.
#[derive(Clone)]
pub struct Keyed(pub reqwest::Client);

type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<reqwest::Error>;

/// The headers of a message: a call's key, unless the server was given a header of that name by its settings.
fn keyed(message: &ClientJsonRpcMessage, mut headers: Headers) -> Headers {
    if let Some(key) = key_of(message).and_then(|key| HeaderValue::from_str(key).ok()) {
        headers.entry(HEADER).or_insert(key);
    }
    headers
}

fn key_of(message: &ClientJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    // Meta data stands with the parameters, or beside them.
    let meta = call.params.meta.as_ref().or_else(|| call.extensions.get::<RequestMetaObject>())?;
    meta.0.0.get(IDEMPOTENCY)?.as_str()
}

impl StreamableHttpClient for Keyed {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let headers = keyed(&message, custom_headers);
        self.0.post_message(uri, message, session_id, auth_header, headers).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let headers = keyed(&message, custom_headers);
        let client = &self.0;
        client
            .post_message_with_max_sse_event_size(
                uri,
                message,
                session_id,
                auth_header,
                headers,
                max_sse_event_size,
            )
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failed> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        self.0.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let client = &self.0;
        client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(method: &str, params: serde_json::Value) -> ClientJsonRpcMessage {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_call_with_a_key_has_the_header_and_nothing_else_does() {
        let meta = json!({ IDEMPOTENCY: "k-1" });
        let call = message("tools/call", json!({"name": "t", "arguments": {}, "_meta": meta}));
        assert_eq!(keyed(&call, Headers::new())[&HEADER], "k-1");
        let own = Headers::from([(HEADER, HeaderValue::from_static("own"))]);
        assert_eq!(keyed(&call, own)[&HEADER], "own");
        let plain = message("tools/call", json!({"name": "t", "arguments": {}}));
        assert!(keyed(&plain, Headers::new()).is_empty());
        assert!(keyed(&message("tools/list", json!({})), Headers::new()).is_empty());
    }
}
