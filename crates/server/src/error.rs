//! What can go wrong, for the program that serves and for the callers of the API.

use crate::host::{Finding, Refusal, RefusalKind};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use convoke_journal::Error as JournalError;
use serde::Serialize;
use std::net::SocketAddr;
use utoipa::ToSchema;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken, or is none of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Tokens would go over a network in the clear.
    #[error("{address} can be reached from other machines, and tokens would go there in the clear")]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// Behind a proxy no name is known by which the server is called.
    #[error("behind a proxy the server must know the name by which it is called")]
    Nameless,
    /// The certificate or its key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
}

/// An error as callers get it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorWords,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ErrorWords {
    /// A stable word.
    code: String,
    /// Lower case, no full stop: the thing, then the cause.
    message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What is wrong with a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
}

/// An error on its way out.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    words: Box<ErrorWords>,
}

/// What every handler answers.
pub(crate) type Answer<T> = Result<Json<T>, ApiError>;

impl ApiError {
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> ApiError {
        let (code, message) = (code.to_owned(), message.into());
        ApiError { status, words: Box::new(ErrorWords { code, message, hint: None, findings: Vec::new() }) }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> ApiError {
        self.words.hint = Some(hint.into());
        self
    }

    pub fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub fn not_found(what: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", what)
    }

    pub fn code(&self) -> &str {
        &self.words.code
    }

    pub fn message(&self) -> &str {
        &self.words.message
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody { error: *self.words })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = axum::http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(axum::http::header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let status = match refusal.kind {
            RefusalKind::Unknown => StatusCode::NOT_FOUND,
            RefusalKind::Conflict => StatusCode::CONFLICT,
            RefusalKind::Forbidden => StatusCode::FORBIDDEN,
            RefusalKind::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut error = ApiError::new(status, &refusal.code, refusal.message);
        (error.words.hint, error.words.findings) = (refusal.hint, refusal.findings);
        error
    }
}

/// A journal that cannot be read is told as it is; everything else goes on.
impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> ApiError {
        let (status, code) = match &error {
            JournalError::UnknownRun { .. } | JournalError::AmbiguousRun { .. } => {
                (StatusCode::NOT_FOUND, "not_found")
            }
            JournalError::Damaged { .. }
            | JournalError::Corrupt { .. }
            | JournalError::Lost { .. }
            | JournalError::Blob { .. } => (StatusCode::CONFLICT, "damaged"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "state"),
        };
        let hint = match code {
            "damaged" => Some("`convoke verify RUN` checks the journal, `convoke repair RUN` brings it back"),
            _ => error.hint(),
        };
        let words = ApiError::new(status, code, with_causes(&error));
        hint.into_iter().fold(words, ApiError::hint)
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
