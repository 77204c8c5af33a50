//! What happens, as it happens: one stream per client, with as many topics as it wants.
//!
//! Nothing is queued for a client. Its stream knows how far the client has come in each topic, and when the client can take more, what is new
//! to it is put together from what is known then. So a slow client costs no memory and misses no state: it is sent the newest rows, or told to
//! read the whole again where too much has changed. Each message carries, as its id, how far the client is after it; with that id the client
//! comes back to where it was, also to another server.

mod place;
mod source;
mod topic;

use super::body::Given;
use super::query::FromQuery;
use super::{App, Shared};
use crate::access::{Session, Token};
use crate::error::{ApiError, ErrorBody};
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use source::Source;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use topic::Topic;
use utoipa::{IntoParams, ToSchema};

/// The streams of all clients.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<String, Arc<Wishes>>>,
    count: Arc<AtomicUsize>,
    next: AtomicU64,
}

/// What the client of one stream wants; it may change its mind.
pub(crate) struct Wishes {
    topics: Mutex<Vec<Topic>>,
    changed: Notify,
    /// The token that the stream was opened with.
    session: String,
}

impl Streams {
    /// Clients that listen.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn register(&self, wishes: &Arc<Wishes>) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("s{number}");
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Streams whose clients went away are let go of here.
        open.retain(|_, wishes| Arc::strong_count(wishes) > 1);
        open.insert(id.clone(), wishes.clone());
        id
    }

    fn find(&self, id: &str) -> Option<Arc<Wishes>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

impl Wishes {
    fn topics(&self) -> Vec<Topic> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Counts a client for as long as its stream is there.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Which topics.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// `runs`, `inbox`, `capacity`, `run:RUN`, `events:RUN`, `task:RUN:TASK`, with commas between them; names are percent-encoded.
    topics: String,
}

/// A message is sent at least so often, so that a connection that broke is noticed.
const PING: Duration = Duration::from_secs(15);

/// Between two questions whether the token of a stream is still one.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Between two messages about the same: a page draws ten times a second at most.
const FRAME: Duration = Duration::from_millis(100);

/// What happens, as server-sent events
///
/// The first message is `hello {stream, version}`. With `Last-Event-ID` the stream goes on where the client was.
#[utoipa::path(get, path = "/stream", tag = "stream", params(Which,
    ("last-event-id" = Option<String>, Header, description = "the id of the last message that was taken")), responses(
    (status = 200, body = String, content_type = "text/event-stream"), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
pub(crate) async fn stream(
    app: Shared,
    session: Session,
    headers: HeaderMap,
    FromQuery(which): FromQuery<Which>,
) -> Result<Response, ApiError> {
    let topics = topic::read(&which.topics)?;
    let wishes = Arc::new(Wishes {
        topics: Mutex::new(topics),
        changed: Notify::new(),
        session: session.name.clone(),
    });
    let id = app.streams.register(&wishes);
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let source = Source::new(app.0.clone(), last.unwrap_or_default());
    let counted = Counted::new(&app.streams.count);
    let hello = json!({ "stream": id, "version": app.settings.version });
    let client = Client {
        source,
        wishes,
        hello: Some(message("hello", None, &hello.to_string())),
        sent: None,
        allowed: Allowed { app: app.0.clone(), token: session.token, asked: Instant::now() },
        counted,
    };
    let body = Body::from_stream(futures::stream::unfold(client, |client| async {
        let (piece, client) = client.next().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), client))
    }));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    // Proxies that gather answers would hold messages back.
    Ok((headers, [("x-accel-buffering", "no")], body).into_response())
}

/// Other topics.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicsBody {
    topics: Vec<String>,
}

/// Changes what a stream carries; topics that are new get a snapshot
#[utoipa::path(post, path = "/stream/{id}", tag = "stream", params(("id" = String, Path)), request_body = TopicsBody, responses(
    (status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub(crate) async fn subscribe(
    app: Shared,
    session: Session,
    Path(id): Path<String>,
    Given(body): Given<TopicsBody>,
) -> Result<StatusCode, ApiError> {
    let topics = body.topics.iter().map(|text| Topic::parse(text)).collect::<Result<Vec<_>, _>>()?;
    topic::bounded(&topics)?;
    let wishes = app.streams.find(&id).filter(|wishes| wishes.session == session.name);
    let wishes = wishes.ok_or_else(|| ApiError::not_found(format!("there is no stream `{id}`")))?;
    *wishes.topics.lock().unwrap_or_else(PoisonError::into_inner) = topics;
    wishes.changed.notify_one();
    Ok(StatusCode::NO_CONTENT)
}

/// One message as it is sent.
fn message(event: &str, id: Option<&str>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON has no line breaks outside of texts, and in those they are escaped.
    format!("event: {event}\n{id}data: {data}\n\n")
}

/// The client of one stream.
struct Client {
    source: Source,
    wishes: Arc<Wishes>,
    hello: Option<String>,
    sent: Option<Instant>,
    allowed: Allowed,
    counted: Counted,
}

/// Whether the token of a stream is still one.
struct Allowed {
    app: Arc<App>,
    token: Token,
    asked: Instant,
}

impl Allowed {
    fn still(&mut self) -> bool {
        if self.asked.elapsed() < ASKED_AGAIN {
            return true;
        }
        self.asked = Instant::now();
        self.app.tokens.has(&self.token)
    }
}

impl Client {
    /// What it is sent next. It is asked for when the client can take it, and not before. The end, once its token was revoked.
    async fn next(mut self) -> Option<(Bytes, Client)> {
        let _ = &self.counted;
        if let Some(hello) = self.hello.take() {
            return Some((Bytes::from(hello), self));
        }
        let mut changes = self.source.changes();
        loop {
            changes.borrow_and_update();
            let text = self.source.collect(&self.wishes.topics()).await;
            if !self.allowed.still() {
                return None;
            }
            if !text.is_empty() {
                self.sent = Some(Instant::now());
                return Some((Bytes::from(text), self));
            }
            let quiet = self.sent.get_or_insert_with(Instant::now).elapsed();
            // What processes share is in no journal that would tell of it.
            let looks = self.wishes.topics().contains(&Topic::Capacity);
            tokio::select! {
                _ = changes.changed() => {}
                () = self.wishes.changed.notified() => continue,
                () = tokio::time::sleep(source::CAPACITY), if looks => {}
                () = tokio::time::sleep(PING.saturating_sub(quiet)) => {
                    if !self.allowed.still() {
                        return None;
                    }
                    self.sent = Some(Instant::now());
                    return Some((Bytes::from_static(b"event: ping\ndata: {}\n\n"), self));
                }
            }
            let rest = self.sent.map_or(Duration::ZERO, |sent| FRAME.saturating_sub(sent.elapsed()));
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            }
        }
    }
}
