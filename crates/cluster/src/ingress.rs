//! The cluster from outside: calls of handlers, and the administration.

use crate::address::Address;
use crate::error::ClusterError;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest words of a refusal that are passed on.
const MOST_WORDS: usize = 600;

/// The way to a cluster. Cheap to copy.
#[derive(Debug, Clone)]
pub struct Ingress {
    http: reqwest::Client,
    address: Address,
}

impl Ingress {
    /// A way to the cluster at an address. Nothing is asked of it yet.
    pub fn new(address: Address) -> Result<Ingress, ClusterError> {
        // Refused where another part of the program was first; the provider is the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A proxy for model services is none for the cluster: its addresses are of a private network.
        let http = reqwest::Client::builder().connect_timeout(CONNECT).no_proxy().tcp_nodelay(true).build();
        let http = http.map_err(|error| away(&address, &error))?;
        Ok(Ingress { http, address })
    }

    /// The client of HTTP, for other addresses of the same network.
    pub fn http(&self) -> reqwest::Client {
        self.http.clone()
    }

    /// Where it leads.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Calls a handler and waits for its answer.
    pub async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Q,
        patience: Option<Duration>,
    ) -> Result<A, ClusterError> {
        let body = serde_json::to_vec(body).expect("messages are JSON");
        self.send(path, body, patience).await
    }

    /// The same for what is JSON already.
    pub async fn send<A: DeserializeOwned>(
        &self,
        path: &str,
        body: Vec<u8>,
        patience: Option<Duration>,
    ) -> Result<A, ClusterError> {
        let url = format!("{}/restate/call/{path}", self.address.ingress());
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").body(body);
        self.answer(path, patience.into_iter().fold(request, |request, time| request.timeout(time))).await
    }

    /// Calls a handler once, however often this is tried under the same key; its answer may take any time.
    pub async fn call_once<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Q,
        key: &str,
    ) -> Result<A, ClusterError> {
        let url = format!("{}/restate/call/{path}", self.address.ingress());
        self.answer(path, self.http.post(url).header("idempotency-key", key).json(body)).await
    }

    /// Calls a handler that takes nothing.
    pub async fn ask<A: DeserializeOwned>(&self, path: &str, patience: Duration) -> Result<A, ClusterError> {
        let url = format!("{}/restate/call/{path}", self.address.ingress());
        self.answer(path, self.http.post(url).timeout(patience)).await
    }

    /// Resolves an awakeable with nothing.
    pub async fn resolve(&self, awakeable: &str, patience: Duration) -> Result<(), ClusterError> {
        let url = format!("{}/restate/awakeables/{awakeable}/resolve", self.address.ingress());
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").body("null");
        self.checked("awakeables", request.timeout(patience)).await.map(drop)
    }

    /// A request to the administration, with its answer as JSON.
    pub async fn administer<Q: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: &Q,
        patience: Duration,
    ) -> Result<serde_json::Value, ClusterError> {
        let url = format!("{}/{path}", self.address.admin());
        self.answer(path, self.http.request(method, url).json(body).timeout(patience)).await
    }

    /// Whether the administration answers.
    pub async fn is_up(&self, patience: Duration) -> bool {
        let url = format!("{}/health", self.address.admin());
        self.http.get(url).timeout(patience).send().await.is_ok_and(|answer| answer.status().is_success())
    }

    async fn answer<A: DeserializeOwned>(
        &self,
        what: &str,
        request: reqwest::RequestBuilder,
    ) -> Result<A, ClusterError> {
        let response = self.checked(what, request).await?;
        let body = response.bytes().await.map_err(|error| away(&self.address, &error))?;
        let body = if body.is_empty() { &b"null"[..] } else { &body[..] };
        serde_json::from_slice(body).map_err(|error| ClusterError::Unreadable(format!("{what}: {error}")))
    }

    async fn checked(&self, what: &str, request: reqwest::RequestBuilder) -> Result<Response, ClusterError> {
        let response = request.send().await.map_err(|error| away(&self.address, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let words = response.text().await.unwrap_or_default();
        let message = serde_json::from_str::<serde_json::Value>(&words).ok();
        let message = message.as_ref().and_then(|value| value.get("message")?.as_str()).unwrap_or(&words);
        let why = message.chars().take(MOST_WORDS).collect();
        Err(ClusterError::Refused { address: self.address.to_string(), what: what.to_owned(), status, why })
    }
}

/// An error of the way, with its innermost cause: that one names the port or the host.
fn away(address: &Address, error: &reqwest::Error) -> ClusterError {
    let mut why: &dyn std::error::Error = error;
    while let Some(source) = why.source() {
        why = source;
    }
    let why = if error.is_timeout() { "no answer in time".to_owned() } else { why.to_string() };
    ClusterError::Away { address: address.to_string(), why }
}
