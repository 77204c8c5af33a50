//! A server that runs elsewhere and speaks streamable HTTP.

use super::keyed::Keyed;
use super::settings::{Means, Resolved, Secrets};
use super::trouble::{self, Who};
use convoke_model::{Class, Failure};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use std::collections::HashMap;
use std::error::Error;

/// Requests to one server at a time; further ones wait.
const REQUESTS: usize = 64;
/// The largest single message.
const LARGEST_MESSAGE: usize = 64 << 20;

/// The way to a server, ready to be used.
pub struct Remote {
    /// What speaks the protocol.
    pub transport: StreamableHttpClientTransport<Keyed>,
    /// What must not appear in messages.
    pub secrets: Secrets,
}

impl Remote {
    /// The way to an address, with headers whose values are references.
    pub fn new(url: &str, headers: &[(String, String)], means: &Means, who: &Who) -> Result<Remote, Failure> {
        let Resolved { values, secrets } = Resolved::of(headers, &means.lookup, who)?;
        let address = Resolved::of_all(&[url.to_owned()], "url", &means.lookup, who)?;
        let headers: Result<HashMap<_, _>, Failure> =
            values.iter().map(|(name, value)| header(name, value, who)).collect();
        let config = StreamableHttpClientTransportConfig::with_uri(address.texts().concat())
            .custom_headers(headers?)
            .max_concurrent_requests(REQUESTS)
            .max_sse_event_size(LARGEST_MESSAGE);
        let transport = StreamableHttpClientTransport::with_client(Keyed(means.client()?), config);
        Ok(Remote { transport, secrets: secrets.with(address.secrets) })
    }
}

/// Says nothing of the value, which may be a secret.
fn header(name: &str, value: &str, who: &Who) -> Result<(HeaderName, HeaderValue), Failure> {
    let unusable =
        || trouble::unreachable(who, &format!("`{name}` cannot be sent as a header"), Class::Fatal);
    let header = HeaderName::try_from(name).map_err(|_| unusable())?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| unusable())?;
    value.set_sensitive(true);
    Ok((header, value))
}

/// Why a server could not be reached or did not greet us.
pub fn refused(who: &Who, error: &ClientInitializeError, secrets: &Secrets) -> Failure {
    let (cause, class) = match error {
        ClientInitializeError::TransportError { error, .. } => (words(&*error.error), class(&*error.error)),
        other => (other.to_string(), Class::Fatal),
    };
    let cause = secrets.hide(&cause);
    match class {
        Class::Permission => trouble::unauthorized(who, &cause),
        class => trouble::unreachable(who, &cause, class),
    }
}

/// What kind of failure a fault of the connection is.
pub fn class(error: &(dyn Error + Send + Sync + 'static)) -> Class {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)) => {
            Class::Permission
        }
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 429 => Class::RateLimit,
        Some(
            StreamableHttpError::UnexpectedContentType(_) | StreamableHttpError::ReservedHeaderConflict(_),
        ) => Class::Fatal,
        _ => Class::Transient,
    }
}

/// What happened to the connection, without the names of its parts.
pub fn words(error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => innermost(error),
        _ => error.to_string(),
    }
}

/// The innermost cause of an error, which is the one that says what happened.
fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
