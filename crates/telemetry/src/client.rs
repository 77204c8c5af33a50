//! One request to a receiver: its address and headers, bounds, and what an answer means.
//!
//! Redirects are not followed (the client is built so), answers are read up to a bound, and nothing that is told of a fault holds
//! the address's secrets: of an address only its host is named.

use crate::otlp::Signal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_follow::Undelivered;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use std::fmt;
use std::time::Duration;

/// The longest time for one request.
const LONGEST: Duration = Duration::from_secs(10);

/// Bytes of an answer that are read.
const MOST: usize = 64 << 10;

/// Characters of an answer that are told.
const TOLD: usize = 200;

/// Where a receiver is, and the headers that it wants.
#[derive(Clone)]
pub struct Address {
    url: Url,
    headers: HeaderMap,
}

/// Why something is no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressError {
    /// It is no `http` or `https` address.
    Url,
    /// A header's name or value cannot be sent.
    Header(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::Url => f.write_str("the address is no http or https address"),
            AddressError::Header(name) => write!(f, "the header `{name}` cannot be sent"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host())
    }
}

impl Address {
    /// An address with headers. What is given here was looked up before: it may be secret.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Address, AddressError> {
        let url = Url::parse(url).map_err(|_| AddressError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(AddressError::Url);
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let refused = || AddressError::Header(name.clone());
            let key = HeaderName::try_from(name.as_str()).map_err(|_| refused())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| refused())?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        Ok(Address { url, headers: map })
    }

    /// Where a signal goes below it. An address that has the path of a signal already stands for all of them.
    pub fn of_signal(mut self, signal: Signal) -> Address {
        let whole = self.url.path().trim_end_matches('/').to_owned();
        let base = Signal::ALL.iter().find_map(|known| whole.strip_suffix(known.path())).unwrap_or(&whole);
        self.url.set_path(&format!("{base}{}", signal.path()));
        self
    }

    /// What may be told of it: host and port.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// What tells it from other addresses, without telling it.
    pub fn fingerprint(&self) -> String {
        crate::spans::hex(&blake3::hash(self.url.as_str().as_bytes()).as_bytes()[..6])
    }

    /// Sends a body. Gives what a receiver answers that has taken it.
    pub(crate) async fn post(
        &self,
        client: &Client,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Undelivered> {
        let request = client.post(self.url.clone()).headers(self.headers.clone()).headers(headers);
        let exchange = async {
            let response = request.body(body).send().await.map_err(|error| self.unreachable(&error))?;
            let (status, after) = (response.status(), retry_after(&response));
            let answer = bounded(response).await;
            match status.is_success() {
                true => Ok(answer),
                false => Err(self.answered(status, after, &answer)),
            }
        };
        match tokio::time::timeout(LONGEST, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let why = format!("{} does not answer within {} s", self.host(), LONGEST.as_secs());
                Err(Undelivered::Later { why, after: None })
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Undelivered {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        // The innermost cause does not quote the address; the outer ones do.
        let why = match std::error::Error::source(error) {
            Some(_) => format!("{} cannot be reached: {cause}", self.host()),
            None => format!("{} cannot be reached", self.host()),
        };
        Undelivered::Later { why, after: None }
    }

    /// What is wrong with the request itself stays wrong; everything else may pass, also a key that is not good yet.
    fn answered(&self, status: StatusCode, after: Option<Duration>, answer: &[u8]) -> Undelivered {
        let words: String =
            String::from_utf8_lossy(answer).chars().filter(|c| !c.is_control()).take(TOLD).collect();
        let words = if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) };
        let why = format!("{} answered {}{words}", self.host(), status.as_u16());
        match status.as_u16() {
            400 | 405 | 406 | 413 | 415 | 422 => Undelivered::Refused { why },
            _ => Undelivered::Later { why, after },
        }
    }
}

/// How long the receiver wants to be left alone. A date is answered by the sender's own backoff.
fn retry_after(response: &Response) -> Option<Duration> {
    let stated = response.headers().get(reqwest::header::RETRY_AFTER)?.to_str().ok()?;
    stated.trim().parse().ok().map(Duration::from_secs)
}

/// The beginning of an answer; what follows is not read.
async fn bounded(mut response: Response) -> Vec<u8> {
    let mut answer = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        answer.extend_from_slice(&piece[..piece.len().min(MOST - answer.len())]);
        if answer.len() >= MOST {
            break;
        }
    }
    answer
}

/// The header of a receiver that wants a user and a password (RFC 7617).
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_host_and_nothing_else() {
        let address = Address::new("https://user:pass@hooks.test:8443/T0/secret?key=1", &[]).unwrap();
        assert_eq!(format!("{address:?}"), "hooks.test:8443");
        let why = address.answered(StatusCode::NOT_FOUND, None, b"no\x1b[2J such hook");
        let words = "hooks.test:8443 answered 404: no[2J such hook";
        assert_eq!(why, Undelivered::Later { why: words.into(), after: None });
        assert!(matches!(address.answered(StatusCode::BAD_REQUEST, None, b""), Undelivered::Refused { .. }));
    }

    #[test]
    fn a_path_is_added_once() {
        let path = |url: &str, signal| Address::new(url, &[]).unwrap().of_signal(signal).url.to_string();
        assert_eq!(path("http://h:1", Signal::Traces), "http://h:1/v1/traces");
        assert_eq!(path("http://h:1/v1/traces", Signal::Traces), "http://h:1/v1/traces");
        assert_eq!(path("http://h:1/v1/traces", Signal::Logs), "http://h:1/v1/logs");
        assert_eq!(path("https://h/api/otel/", Signal::Metrics), "https://h/api/otel/v1/metrics");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_is() {
        assert_eq!(Address::new("ftp://h", &[]).unwrap_err(), AddressError::Url);
        assert_eq!(Address::new("nonsense", &[]).unwrap_err(), AddressError::Url);
        let bad = [("a b".to_owned(), "c".to_owned())];
        assert_eq!(Address::new("http://h", &bad).unwrap_err(), AddressError::Header("a b".into()));
    }
}
