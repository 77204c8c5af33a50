//! Chat completions: OpenAI's interface and everything that imitates it.
//!
//! Answers are streamed, so that silence and a lost connection are told apart. A service that does not know one of the
//! optional parameters is asked once more without it, and that is remembered.

mod body;
mod fault;
mod gather;
mod limits;

use crate::connection::causes;
use crate::reference::{Lookup, resolve};
use body::Dialect;
use convoke_agent::{Provider, Reply, Report, Request, Sink};
use convoke_model::{Class, Failure, ProviderSettings};
use fault::Fault;
use futures::StreamExt;
use futures::future::BoxFuture;
use gather::Gathering;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use sse_stream::SseStream;
use std::collections::HashMap;
use std::sync::RwLock;
use std::time::Duration;
use tokio::time::timeout;

const DEFAULT_BASE: &str = "https://api.openai.com/v1";
const DEFAULT_KEY: &str = "${OPENAI_API_KEY}";

/// An answer this long is no answer; the bound keeps a broken service from filling the memory.
const MOST_BYTES: usize = 64 << 20;

/// A key shorter than this is a word, not a secret.
const SECRET_LENGTH: usize = 8;

/// How long a service that has said all is given to end its response properly.
const HANG_UP: Duration = Duration::from_millis(50);

/// A service that speaks chat completions.
pub struct OpenAi {
    client: Client,
    url: Url,
    /// The address without anything secret, for messages.
    address: String,
    key: Option<SecretString>,
    headers: HeaderMap,
    is_original: bool,
    /// What was learned about models that do not take all parameters.
    dialects: RwLock<HashMap<String, Dialect>>,
}

impl OpenAi {
    /// The service that the settings name.
    pub fn new(client: Client, settings: &ProviderSettings, lookup: &Lookup) -> Result<OpenAi, Failure> {
        let base = settings.base_url.as_deref().filter(|base| !base.is_empty()).unwrap_or(DEFAULT_BASE);
        let url = endpoint(base)?;
        let is_original = url.host_str() == Some("api.openai.com");
        let key = key(settings, is_original, lookup)?;
        let headers = headers(settings, key.as_ref(), lookup)?;
        let address = without_secrets(&url);
        Ok(OpenAi { client, address, url, key, headers, is_original, dialects: RwLock::default() })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Failure> {
        let dialect = self.dialect(request.model);
        let first = self.exchange(request, dialect, sink).await;
        let simpler = match &first {
            Err(Trouble::Fault(fault)) => dialect.without(fault),
            _ => None,
        };
        let outcome = match simpler {
            Some((simpler, parameter)) => {
                self.learn(request.model, simpler, parameter, sink);
                self.exchange(request, simpler, sink).await
            }
            None => first,
        };
        outcome.map_err(|trouble| self.failure(trouble))
    }

    fn dialect(&self, model: &str) -> Dialect {
        let learned = self.dialects.read().expect("nobody panics while holding it").get(model).copied();
        learned.unwrap_or_else(|| Dialect::of_host(self.is_original))
    }

    fn learn(&self, model: &str, dialect: Dialect, parameter: &str, sink: &dyn Sink) {
        self.dialects.write().expect("nobody panics while holding it").insert(model.to_owned(), dialect);
        let message = format!("openai: model `{model}` does not take `{parameter}`; it is sent without");
        sink.report(Report::Noted { code: "parameter_left_out", message });
    }

    async fn exchange(
        &self,
        request: &Request<'_>,
        dialect: Dialect,
        sink: &dyn Sink,
    ) -> Result<Reply, Trouble> {
        let body = body::text(request, dialect);
        let sending = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body).send();
        let response = within(request.timeouts.first_token, "first_token_timeout", sending)
            .await?
            .map_err(Trouble::Connection)?;
        if let Some(limits) = limits::seen(response.headers(), request.model) {
            sink.report(Report::LimitsSeen(limits));
        }
        if response.status() != StatusCode::OK {
            return Err(Trouble::Fault(Fault::read(response).await));
        }
        if is_stream(&response) {
            self.follow(request, response, sink).await
        } else {
            whole(request, response).await
        }
    }

    /// Takes the pieces of a streamed answer until it says that it is complete.
    async fn follow(
        &self,
        request: &Request<'_>,
        response: Response,
        sink: &dyn Sink,
    ) -> Result<Reply, Trouble> {
        let mut events = std::pin::pin!(SseStream::from_bytes_stream(response.bytes_stream()));
        let mut gathering = Gathering::default();
        let mut patience = (request.timeouts.first_token, "first_token_timeout");
        while let Some(event) = within(patience.0, patience.1, events.next()).await? {
            patience = (request.timeouts.idle, "idle_timeout");
            let event = event.map_err(|error| Trouble::Cut(causes(&error)))?;
            let Some(data) = event.data else { continue };
            if data.trim() == "[DONE]" {
                gathering.complete();
                // Read to its end, the connection can be used again; but the answer need not wait for that.
                let _ = timeout(HANG_UP, events.next()).await;
                break;
            }
            if let Some(text) = gathering.take(&data)? {
                sink.report(Report::Progress { text });
            }
            if gathering.len() > MOST_BYTES {
                return Err(Trouble::TooLong);
            }
        }
        gathering.reply(request)
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        let mut failure = match trouble {
            Trouble::Fault(fault) => fault.failure(),
            Trouble::Connection(error) => self.no_connection(error),
            Trouble::Cut(why) => Failure::new(
                Class::Transient,
                format!("openai: the answer of {} broke off: {why}", self.address),
            )
            .reason("stream_cut"),
            Trouble::TimedOut(reason, after) => timed_out(reason, after),
            Trouble::Unreadable(why) => Failure::new(
                Class::Transient,
                format!("openai: {} sent something that is no answer: {why}", self.address),
            )
            .reason("unreadable"),
            Trouble::TooLong => {
                let message = format!("openai: the answer is longer than {MOST_BYTES} bytes");
                Failure::new(Class::InvalidOutput, message).reason("too_long")
            }
        };
        failure.message = self.redacted(failure.message);
        failure
    }

    fn no_connection(&self, error: reqwest::Error) -> Failure {
        let error = error.without_url();
        let why = causes(&error);
        if error.is_timeout() {
            let message = format!("openai: connecting to {} timed out", self.address);
            return Failure::new(Class::Timeout, message).reason("connect_timeout");
        }
        if error.is_connect() {
            let message = format!("openai: cannot connect to {}: {why}", self.address);
            return Failure::new(Class::Transient, message).reason("connect");
        }
        let message = format!("openai: the connection to {} was lost: {why}", self.address);
        Failure::new(Class::Transient, message).reason("connection_lost")
    }

    /// Services like to repeat what they were sent. Leaving out a word would garble what they say.
    fn redacted(&self, message: String) -> String {
        match &self.key {
            Some(key) if key.expose_secret().len() >= SECRET_LENGTH => {
                message.replace(key.expose_secret(), "***")
            }
            _ => message,
        }
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        "openai"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let total = request.timeouts.total;
        Box::pin(async move {
            let asked = timeout(total, self.ask(request, sink)).await;
            asked.unwrap_or_else(|_| Err(timed_out("request_timeout", total)))
        })
    }
}

/// What can go wrong on the way to an answer.
enum Trouble {
    /// The service said no.
    Fault(Fault),
    /// There was no connection, or it was lost before an answer.
    Connection(reqwest::Error),
    /// The answer began and did not end.
    Cut(String),
    /// A phase took too long.
    TimedOut(&'static str, Duration),
    /// What came is no answer.
    Unreadable(String),
    /// The answer does not fit into memory.
    TooLong,
}

async fn within<T>(
    limit: Duration,
    reason: &'static str,
    work: impl Future<Output = T>,
) -> Result<T, Trouble> {
    timeout(limit, work).await.map_err(|_| Trouble::TimedOut(reason, limit))
}

fn timed_out(reason: &str, after: Duration) -> Failure {
    let what = match reason {
        "first_token_timeout" => "the answer did not begin",
        "idle_timeout" => "the answer stalled",
        _ => "the request took too long",
    };
    let message = format!("openai: timeout: {what} within {} s", after.as_secs_f64());
    Failure::new(Class::Timeout, message).reason(reason)
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The answer of a service that does not stream.
async fn whole(request: &Request<'_>, response: Response) -> Result<Reply, Trouble> {
    let text = response.text().await.map_err(|error| Trouble::Cut(causes(&error)))?;
    let mut gathering = Gathering::default();
    gathering.take(&text)?;
    gathering.complete();
    gathering.reply(request)
}

fn endpoint(base: &str) -> Result<Url, Failure> {
    let bad = |why: String| {
        Failure::new(Class::Fatal, format!("provider openai: base_url `{base}` is not usable: {why}"))
    };
    let url = Url::parse(&format!("{}/chat/completions", base.trim().trim_end_matches('/')));
    let url = url.map_err(|error| bad(error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err(bad("it is no http address".into())) }
}

fn without_secrets(url: &Url) -> String {
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.to_string()
}

fn key(
    settings: &ProviderSettings,
    is_original: bool,
    lookup: &Lookup,
) -> Result<Option<SecretString>, Failure> {
    let given = settings.api_key.as_deref().filter(|key| !key.is_empty());
    match resolve(given.unwrap_or(DEFAULT_KEY), lookup) {
        Ok(key) => Ok(Some(key)),
        // Services on one's own machine need no key.
        Err(_) if given.is_none() && !is_original => Ok(None),
        Err(variable) => Err(unset("key", &variable)),
    }
}

fn unset(what: &str, variable: &str) -> Failure {
    Failure::new(
        Class::Permission,
        format!("provider openai has no {what}: variable `{variable}` is not set"),
    )
    .reason("no_credentials")
    .hint(format!("set `{variable}` in the environment"))
}

fn headers(
    settings: &ProviderSettings,
    key: Option<&SecretString>,
    lookup: &Lookup,
) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = key.filter(|key| !key.expose_secret().is_empty()) {
        headers.insert(AUTHORIZATION, value("api_key", &format!("Bearer {}", key.expose_secret()))?);
    }
    for (name, text) in &settings.headers {
        let resolved =
            resolve(text, lookup).map_err(|variable| unset(&format!("header `{name}`"), &variable))?;
        let header = HeaderName::try_from(name.as_str()).map_err(|_| unusable(name))?;
        headers.insert(header, value(name, resolved.expose_secret())?);
    }
    Ok(headers)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text.trim()).map_err(|_| unusable(name))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Says nothing of the value, which may be a secret.
fn unusable(name: &str) -> Failure {
    Failure::new(Class::Fatal, format!("provider openai: `{name}` cannot be sent as a header"))
}
