//! The way in: what every request passes before it is routed.
//!
//! A page of another site may have a browser call this address, under another name (rebinding) or under its own (forgery), and every
//! process of the machine can reach the port. So each request must name the server as it is called, must not come from another
//! origin, and must carry a token in a header, which no browser sends by itself. What changes something must be JSON and must not come
//! from a process that a run has started.

mod caller;
mod origin;
mod tokens;

pub use tokens::{Role, Token, TokenError, Tokens};

pub(crate) use caller::Connection;
pub(crate) use origin::Names;

use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The author of a call.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// The token's name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The token that it was let in with.
    pub token: Token,
}

impl Session {
    /// Refuses what the token may not do.
    pub fn may(&self, role: Role) -> Result<(), ApiError> {
        if self.role >= role {
            return Ok(());
        }
        let words =
            format!("the token `{}` may {}, and this takes {}", self.name, self.role.word(), role.word());
        Err(ApiError::new(StatusCode::FORBIDDEN, "role", words)
            .hint(format!("convoke serve token add NAME --role {}", role.word())))
    }

    /// The author as events name it.
    pub fn author(&self) -> String {
        format!("{} (convoke serve)", self.name)
    }
}

/// Judges requests.
pub(crate) struct Guard {
    pub names: Names,
    pub tokens: Arc<Tokens>,
}

impl Guard {
    /// Lets a request in, with its author where it needs one, or answers it.
    pub async fn admit(
        &self,
        mut request: Request<Body>,
        connection: &Connection,
    ) -> Result<Request<Body>, Response> {
        self.names.check(&request).map_err(IntoResponse::into_response)?;
        if needs_token(request.uri().path()) {
            let session = self.session(request.headers()).map_err(IntoResponse::into_response)?;
            request.extensions_mut().insert(session);
        }
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        if changes && !only_reads(request.uri().path()) {
            require_json(request.headers()).map_err(IntoResponse::into_response)?;
            connection.refuse_children().await.map_err(IntoResponse::into_response)?;
        }
        Ok(request)
    }

    fn session(&self, headers: &HeaderMap) -> Result<Session, ApiError> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
        let refuse = |message: &str| {
            ApiError::new(StatusCode::UNAUTHORIZED, "token", message).hint(
                "open the link that `convoke serve` prints, or add a token: convoke serve token add NAME",
            )
        };
        let token = token.ok_or_else(|| refuse("the request carries no token"))?;
        let known =
            self.tokens.find(token).ok_or_else(|| refuse("the token is not known, or was revoked"))?;
        Ok(Session { name: known.name.clone(), role: known.role, token: known })
    }
}

/// The page's own files hold nothing; everything else takes a token.
fn needs_token(path: &str) -> bool {
    path == "/metrics" || path == "/api" || path.starts_with("/api/")
}

/// The SPARQL protocol sends queries by POST, in a type of their own. They change nothing.
fn only_reads(path: &str) -> bool {
    path == "/api/v1/sparql"
}

fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let ty = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let ty = ty.split(';').next().unwrap_or_default().trim();
    if ty.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "content_type",
        "the body must be application/json",
    ))
}

/// The page may run its own scripts and ask its own server, and nothing else.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer.
pub(crate) fn harden(response: &mut Response) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if !response.headers().contains_key(header::CACHE_CONTROL) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
