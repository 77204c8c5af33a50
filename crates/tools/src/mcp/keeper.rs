//! Keeps one server running for all its callers.
//!
//! The first caller starts it, and callers that come meanwhile wait for the same start, which goes on even if the
//! first one stops waiting. A server that is gone is started again by the next caller, at a pace.

use super::catalogue::Catalogue;
use super::connection::Connection;
use super::labels::Labels;
use super::pace::Pace;
use super::settings::Means;
use super::trouble::{self, Who};
use convoke_agent::ToolResult;
use convoke_model::{Failure, JsonText, Server, Transport};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// A start that several may wait for.
type Start = Shared<BoxFuture<'static, Result<Arc<Connection>, Failure>>>;

/// One server of a run.
pub struct Keeper {
    name: String,
    who: Who,
    server: Arc<Server>,
    means: Arc<Means>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<(Start, AbortHandle)>,
    pace: Pace,
    closed: bool,
}

impl Keeper {
    /// A server that was not needed yet.
    pub fn new(name: &str, server: &Server, means: Arc<Means>) -> Keeper {
        let who = Who::new(name, description(&server.transport));
        let server = Arc::new(server.clone());
        Keeper { name: name.to_owned(), who, server, means, state: Mutex::default() }
    }

    /// The tools that may be used.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, Failure> {
        self.connection()?.await?.catalogue().await
    }

    /// Calls a tool. The wait for the server's start does not count as time of the call.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &JsonText,
        labels: Labels<'_>,
    ) -> Result<ToolResult, Failure> {
        let connection = self.connection()?.await?;
        connection.call(tool, arguments, labels, self.call_limit()).await
    }

    fn call_limit(&self) -> Duration {
        self.server.timeout.unwrap_or(self.means.limits.call)
    }

    /// The connection there is, or the start of one.
    fn connection(&self) -> Result<Start, Failure> {
        let mut state = self.state.lock().expect("a panic poisoned this lock");
        if state.closed {
            return Err(trouble::over(&self.name));
        }
        if let Some((start, _)) = state.current.as_ref().filter(|(start, _)| is_usable(start)) {
            return Ok(start.clone());
        }
        let now = Instant::now();
        // Callers do not wait for a server that could not start: until the next start is due, they get the failure at once.
        if let Some(Some(Err(failure))) = state.current.as_ref().map(|(start, _)| start.peek())
            && !state.pace.is_due(now)
        {
            return Err(failure.clone());
        }
        let at = state.pace.next(now);
        let (start, abort) = self.start(at);
        state.current = Some((start.clone(), abort));
        Ok(start)
    }

    fn start(&self, at: Instant) -> (Start, AbortHandle) {
        let (server, means, who) = (self.server.clone(), self.means.clone(), self.who.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            Connection::open(&server, &means, &who).await.map(Arc::new)
        }));
        let abort = task.abort_handle();
        let over = trouble::over(&self.name);
        let start = async move { task.await.unwrap_or(Err(over)) };
        (start.boxed().shared(), abort)
    }

    /// Ends the server. A start that is under way is given up.
    pub async fn close(&self) {
        let current = {
            let mut state = self.state.lock().expect("a panic poisoned this lock");
            state.closed = true;
            state.current.take()
        };
        let Some((start, abort)) = current else { return };
        abort.abort();
        if let Ok(connection) = start.await {
            connection.close().await;
        }
    }
}

/// A start under way, or a connection that holds.
fn is_usable(start: &Start) -> bool {
    match start.peek() {
        None => true,
        Some(Ok(connection)) => connection.is_open(),
        Some(Err(_)) => false,
    }
}

/// The command or the address, without what may be a secret in the latter.
fn description(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            format!("`{}`", words.join(" "))
        }
        Transport::Scripts { scripts, .. } => format!("{} scripts", scripts.len()),
        Transport::Own { .. } => "Convoke's own tools".to_owned(),
        Transport::Http { url, .. } => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
    }
}
