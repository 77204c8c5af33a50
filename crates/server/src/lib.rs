//! Runs over HTTP: an API, a stream of what happens, and the page that shows both.
//!
//! A server shows every run of a state folder, whichever process drives it. It holds no truth of its own: what it shows is folded from
//! journals (`convoke_view`) by one follower per run that is looked at (`following`), and what people do goes the way of the
//! command line's actions ([`Host`]). A server that ends takes no run with it.
//!
//! A request passes `access` first: where it says it goes to, where it comes from, its token. Then `api` answers it, or `page` does.
//! `front` accepts connections and bounds them; what it sends passes `escaping`. `offline` writes what the API would answer about one run, and
//! the page with it, into one file.
//!
//! Invariants: nothing that a run waits for; what a client is sent never waits in memory for a slow client; no answer without a token but
//! the page's own files, which hold nothing. A library: it never prints and never reads the environment; the program hands it a [`Host`].

mod access;
mod api;
mod error;
mod escaping;
mod following;
mod front;
mod host;
pub mod looking;
mod offline;
mod page;
mod settings;
mod shapes;

pub use access::{Role, Token, TokenError, Tokens};
pub use api::description;
pub use error::ServeError;
pub use front::Server;
pub use host::{
    Answering, Finding, Given, Host, Launch, Refusal, RefusalKind, SparqlAnswer, StartOptions, Subject,
    TakePrompt, WorkflowFile, WorkflowInput,
};
pub use offline::{Offline, OfflineError, OfflineRun, offline};
pub use settings::{Metrics, Settings, Tls};
