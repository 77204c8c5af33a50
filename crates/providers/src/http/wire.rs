//! One exchange over HTTP: a body goes out, an answer comes back in pieces or whole.
//!
//! What all protocols share: the address, the headers, the phases, the bounds and the failures. What the pieces mean is
//! each protocol's [`Gather`]. Dropping the future of an exchange closes its connection.

use crate::connection::{Clients, Keeping, causes};
use crate::credentials::{self, Credentials};
use crate::fault::Fault;
use crate::limits;
use crate::phases::{Deadline, Phase, timed_out, within};
use crate::preset::Preset;
use crate::reference::{Lookup, resolve};
use crate::refusal::{Optional, refused};
use crate::trouble::{Trouble, require_tenure};
use convoke_agent::{NoReply, Reply, Report, Request, Sink};
use convoke_model::{Class, Failure, ProviderSettings};
use convoke_process::{Shortage, is_shortage};
use futures::StreamExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use sse_stream::SseStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// An answer this long is no answer; the bound keeps a broken service from filling the memory.
const MOST_BYTES: usize = 64 << 20;

/// Of an error's body no more is read than this.
const MOST_OF_A_FAULT: usize = 64 << 10;

/// A key shorter than this is a word, not a secret.
const SECRET_LENGTH: usize = 8;

/// How long a service that has said all is given to end its response properly.
const HANG_UP: Duration = Duration::from_millis(50);

/// How often a service may hang up before no connection to it is kept any more.
const PATIENCE: usize = 2;

/// The longest time for a list of models.
const LISTING: Duration = Duration::from_secs(5);

/// Puts the pieces of one answer together. Knows nothing of the network.
pub trait Gather: Default + Send {
    /// Takes the data of the next event.
    fn take(&mut self, data: &str) -> Result<Step, Trouble>;
    /// Takes the answer of a service that does not stream.
    fn whole(&mut self, text: &str) -> Result<(), Trouble>;
    /// How much has come, in bytes.
    fn len(&self) -> usize;
    /// The whole answer; an answer that did not say why it stopped is cut off.
    fn reply(self, request: &Request<'_>) -> Result<Reply, Trouble>;
}

/// What an event was.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing to show.
    Quiet,
    /// The next piece of the text.
    Text(String),
    /// The next piece of a call's arguments, which are the answer where no tools were offered.
    Arguments(String),
    /// The last one.
    Done,
}

/// A service that can be reached.
pub struct Wire {
    clients: Clients,
    /// The provider's name, for messages.
    pub name: String,
    base: Url,
    key: Option<SecretString>,
    headers: HeaderMap,
    /// It answers only requests that name a model.
    needs_model: bool,
    /// How often the service hung up before it answered.
    hung_up: AtomicUsize,
}

impl Wire {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Wire, Failure> {
        let given = settings.base_url.as_deref().filter(|base| !base.is_empty());
        let own = resolve(preset.base, lookup);
        let base = match (given, own.as_ref()) {
            (Some(given), _) => given.to_owned(),
            (None, Ok(own)) => own.expose_secret().to_owned(),
            (None, Err(variable)) => return Err(credentials::unset(&settings.name, "base_url", variable)),
        };
        let base = address(&settings.name, &base)?;
        let host =
            own.ok().and_then(|own| Url::parse(own.expose_secret()).ok()?.host_str().map(str::to_owned));
        let elsewhere = base.host_str() != host.as_deref();
        let Credentials { key, headers } = Credentials::new(settings, preset, elsewhere, lookup)?;
        let hung_up = AtomicUsize::new(if preset.keeps_connections { 0 } else { PATIENCE });
        let (name, needs_model) = (settings.name.clone(), preset.needs_model);
        Ok(Wire { clients, name, base, key, headers, needs_model, hung_up })
    }

    /// The same service with one more header.
    pub fn with_header(mut self, name: &'static str, value: &'static str) -> Wire {
        self.headers.entry(name).or_insert(reqwest::header::HeaderValue::from_static(value));
        self
    }

    /// The service's host.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Whether the address ends with this.
    pub fn is_below(&self, part: &str) -> bool {
        self.base.path().trim_end_matches('/').ends_with(part)
    }

    /// An address below the service's own; a query of its own is kept.
    pub fn url(&self, below: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{below}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Makes the one exchange of a call within the request's whole time. `optional` are the parameters of the body that a
    /// service may refuse.
    pub async fn complete<G: Gather>(
        &self,
        (url, body): (Url, &Value),
        request: &Request<'_>,
        optional: &[Optional],
        sink: &dyn Sink,
    ) -> Result<Reply, NoReply> {
        let limit = request.timeouts.total;
        match timeout(limit, self.exchange::<G>(url, body, request, sink)).await {
            Ok(outcome) => outcome.map_err(|trouble| self.no_reply(trouble, optional, request.left_out)),
            Err(_) => Err(timed_out(&self.name, Phase::Total, limit).into()),
        }
    }

    fn no_reply(&self, trouble: Trouble, optional: &[Optional], left_out: &[&str]) -> NoReply {
        let parameter = match &trouble {
            Trouble::Fault(fault) => refused(fault, optional, left_out),
            _ => None,
        };
        let failure = self.failure(trouble);
        match parameter {
            Some(parameter) => NoReply::Refused { parameter, failure },
            None => NoReply::Failed(failure),
        }
    }

    /// Runs something within a time, and names what went wrong.
    async fn in_time<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Failure> {
        match timeout(limit, work).await {
            Ok(done) => done.map_err(|trouble| self.failure(trouble)),
            Err(_) => Err(timed_out(&self.name, Phase::Total, limit)),
        }
    }

    /// Sends a body and gathers what comes back.
    async fn exchange<G: Gather>(
        &self,
        url: Url,
        body: &Value,
        request: &Request<'_>,
        sink: &dyn Sink,
    ) -> Result<Reply, Trouble> {
        if self.needs_model {
            require_model(&self.name, request.model)?;
        }
        let body = serde_json::to_vec(body).expect("a JSON value is JSON");
        let beginning = Deadline::new(Phase::FirstToken, request.timeouts.first_token);
        let response = beginning.meet(self.send(url, body, request.timeouts.connect, sink)).await??;
        if let Some(limits) = limits::seen(response.headers(), &self.name, request.model) {
            sink.report(Report::LimitsSeen(limits));
        }
        if response.status() != StatusCode::OK {
            return Err(fault(response, request.timeouts.idle).await);
        }
        if is_stream(&response) {
            follow::<G>(request, response, beginning, sink).await
        } else {
            let text = read_text(response, MOST_BYTES, request.timeouts.idle).await?;
            let mut gathering = G::default();
            gathering.whole(&text)?;
            gathering.reply(request)
        }
    }

    /// Sends a body. Some services hang up on a connection that they said they would keep; once that has been seen often
    /// enough, none is kept any more. Nothing is sent twice here: another attempt is the scheduler's to decide.
    async fn send(
        &self,
        url: Url,
        body: Vec<u8>,
        connect: Duration,
        sink: &dyn Sink,
    ) -> Result<Response, Trouble> {
        let keeping = match self.hung_up.load(Ordering::Relaxed) < PATIENCE {
            true => Keeping::Kept,
            false => Keeping::Closed,
        };
        let client = self.clients.with(connect, keeping).map_err(Trouble::Unsent)?;
        let request = client.post(url).headers(self.headers.clone()).body(body);
        let sent = in_room(request, sink).await.map_err(Trouble::Unsent)?;
        if sent.as_ref().is_err_and(is_lost) {
            self.hung_up.fetch_add(1, Ordering::Relaxed);
        }
        sent.map_err(Trouble::Connection)
    }

    /// Fetches a document.
    pub async fn get(&self, url: Url) -> Result<Value, Failure> {
        self.in_time(LISTING, async {
            let client = self.clients.usual().map_err(Trouble::Unsent)?;
            let sending = client.get(url).headers(self.headers.clone()).send();
            let response = sending.await.map_err(Trouble::Connection)?;
            if response.status() != StatusCode::OK {
                return Err(fault(response, LISTING).await);
            }
            let text = read_text(response, MOST_BYTES, LISTING).await?;
            serde_json::from_str(&text).map_err(|error| Trouble::Unreadable(error.to_string()))
        })
        .await
    }

    /// The failure that a trouble becomes, without the key.
    pub fn failure(&self, trouble: Trouble) -> Failure {
        let mut failure = trouble.failure(&self.name, &without_secrets(&self.base));
        // Services like to repeat what they were sent. Leaving out a word would garble what they say.
        if let Some(key) = self.key.as_ref().filter(|key| key.expose_secret().len() >= SECRET_LENGTH) {
            failure.message = failure.message.replace(key.expose_secret(), "***");
        }
        failure
    }
}

/// The names below `list`, each under `key`.
pub fn names_in(document: &Value, list: &str, key: &str) -> Vec<String> {
    let entries = document.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| Some(entry.get(key)?.as_str()?.to_owned())).collect()
}

/// A model must be named to services that have no default.
fn require_model(provider: &str, model: &str) -> Result<(), Trouble> {
    if !model.trim().is_empty() {
        return Ok(());
    }
    let failure = Failure::new(Class::Fatal, format!("{provider} must be told which model to ask"));
    let hint = "set `model:` of the step, `default_model:` of the runtime, or CONVOKE_MODEL";
    Err(Trouble::Unsent(failure.reason("no_model").hint(hint)))
}

/// Sends a request, unless another process may drive the run by now. Where this machine has no room for a connection, waits until something has ended: nothing was sent yet.
async fn in_room(
    request: reqwest::RequestBuilder,
    sink: &dyn Sink,
) -> Result<reqwest::Result<Response>, Failure> {
    let mut shortage = Shortage::default();
    loop {
        require_tenure(sink)?;
        let Some(again) = request.try_clone() else { return Ok(request.send().await) };
        match again.send().await {
            Err(error) if error.is_connect() && is_shortage_below(&error) && shortage.wait().await => {}
            sent => return Ok(sent),
        }
    }
}

/// Whether this machine has no room for another connection, which is no fault of the service.
pub fn is_shortage_below(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(is_shortage)
}

/// Whether a connection stood and was gone before anything came back.
fn is_lost(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

/// Takes the pieces of a streamed answer until it says that it is complete.
async fn follow<G: Gather>(
    request: &Request<'_>,
    response: Response,
    beginning: Deadline,
    sink: &dyn Sink,
) -> Result<Reply, Trouble> {
    // How much has come since the last event: one that never ends must not fill the memory.
    let since = AtomicUsize::new(0);
    let pieces = response.bytes_stream().map(|piece| {
        let piece = piece.map_err(|error| std::io::Error::other(causes(&error.without_url())))?;
        match since.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() {
            len if len > MOST_BYTES => Err(std::io::Error::other("an event without an end")),
            _ => Ok(piece),
        }
    });
    let mut events = std::pin::pin!(SseStream::from_bytes_stream(pieces));
    let mut gathering = G::default();
    let mut has_begun = false;
    while let Some(event) = match has_begun {
        false => beginning.meet(events.next()).await?,
        true => within(Phase::Idle, request.timeouts.idle, events.next()).await?,
    } {
        since.store(0, Ordering::Relaxed);
        let Some(data) = event.map_err(broken)?.data else { continue };
        let step = gathering.take(&data)?;
        // Services announce an answer long before they have thought of its first word, and say that they are still there.
        has_begun |= !matches!(step, Step::Quiet);
        match step {
            Step::Text(text) if !text.is_empty() => sink.report(Report::Progress { text }),
            Step::Arguments(text) if !text.is_empty() && request.tools.is_empty() => {
                sink.report(Report::Progress { text });
            }
            Step::Quiet | Step::Text(_) | Step::Arguments(_) => {}
            Step::Done => {
                // Read to its end, the connection can be used again; but the answer need not wait for that.
                let _ = timeout(HANG_UP, events.next()).await;
                break;
            }
        }
        if gathering.len() > MOST_BYTES {
            return Err(Trouble::TooLong(MOST_BYTES));
        }
    }
    gathering.reply(request)
}

/// Tells a connection that has ended from bytes that cannot be read.
fn broken(error: sse_stream::Error) -> Trouble {
    match error {
        sse_stream::Error::Body(_) => Trouble::Cut(causes(&error)),
        other => Trouble::Unreadable(causes(&other)),
    }
}

async fn fault(response: Response, patience: Duration) -> Trouble {
    let (status, headers) = (response.status(), response.headers().clone());
    let text = read(response, MOST_OF_A_FAULT, patience).await.unwrap_or_default();
    Trouble::Fault(Fault::read(status, &headers, String::from_utf8_lossy(&text).into_owned()))
}

async fn read_text(response: Response, most: usize, patience: Duration) -> Result<String, Trouble> {
    let bytes = read(response, most + 1, patience).await?;
    if bytes.len() > most {
        return Err(Trouble::TooLong(most));
    }
    String::from_utf8(bytes).map_err(|error| Trouble::Unreadable(error.to_string()))
}

/// The first bytes of a body, at most so many.
async fn read(mut response: Response, most: usize, patience: Duration) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let piece = within(Phase::Idle, patience, response.chunk()).await?;
        match piece.map_err(|error| Trouble::Cut(causes(&error.without_url())))? {
            Some(piece) => bytes.extend_from_slice(&piece[..piece.len().min(most - bytes.len())]),
            None => break,
        }
    }
    Ok(bytes)
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn address(provider: &str, base: &str) -> Result<Url, Failure> {
    let bad = |why: String| {
        Failure::new(Class::Fatal, format!("provider {provider}: base_url `{base}` is not usable: {why}"))
    };
    let mut url = Url::parse(base.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it is no http address".into()));
    }
    // A variable that ends with a slash, and a path that begins with one.
    let path = url.path().replace("//", "/");
    url.set_path(&path);
    Ok(url)
}

fn without_secrets(url: &Url) -> String {
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.to_string()
}
