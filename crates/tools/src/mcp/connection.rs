//! A connection to a server that runs: its tools, calls of them, and its end.
//!
//! The protocol itself is spoken by `rmcp`. A call whose future is dropped is cancelled on the server's side as well.

use super::catalogue::Catalogue;
use super::child::{Child, Program};
use super::content::{self, failed};
use super::guard::{Guarded, Manners};
use super::labels::Labels;
use super::listing::{self, Unlisted};
use super::remote::{self, Remote};
use super::settings::{Means, Secrets};
use super::trouble::{self, Who};
use convoke_agent::ToolResult;
use convoke_failpoint::failpoint;
use convoke_model::{Class, Failure, JsonText, Server, Transport};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ErrorCode, Implementation,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, Peer, RoleClient, RunningService, ServiceError, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The largest single message; what is longer is lost, and its call ends by its limit of time.
const LONGEST_LINE: usize = 64 << 20;
/// How long a new list of tools may take where the server's own settings do not say.
const LISTING: Duration = Duration::from_secs(30);
/// How long saying goodbye may take; a server that does not read its input must not hold us up.
const GOODBYE: Duration = Duration::from_millis(500);

/// A server that runs and has said which tools it has.
pub struct Connection {
    who: Who,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Listener>>>,
    /// What stands behind it, if that is a process of ours.
    child: Option<Child>,
    secrets: Secrets,
    /// Why we ended the connection, if we did.
    manners: Manners,
    allowed: Option<Vec<String>>,
    catalogue: Mutex<Arc<Catalogue>>,
    changed: Arc<AtomicBool>,
    /// How long a new list of tools may take.
    patience: Duration,
}

impl Connection {
    /// Starts a server, or goes to it, and asks for its tools.
    pub async fn open(server: &Server, means: &Means, who: &Who) -> Result<Connection, Failure> {
        let limit = server.timeout.map_or(means.limits.start, |timeout| timeout.max(means.limits.start));
        match &server.transport {
            Transport::Stdio { command, args, env, working_dir } => {
                let program = Program { command, args, env, working_dir: working_dir.as_deref() };
                Connection::with_child(server, &program, means, who, limit).await
            }
            Transport::Scripts { .. } => Err(trouble::unavailable(who, "scripts are no server")),
            Transport::Own { .. } => Err(trouble::unavailable(who, "our own tools are no server")),
            Transport::Http { url, headers } => {
                let remote = Remote::new(url, headers, means, who)?;
                let opened = Connection::with_remote(server, remote, who);
                let late = |_| trouble::slow_start(who, limit, "");
                tokio::time::timeout(limit, opened).await.map_err(late)?
            }
        }
    }

    async fn with_child(
        server: &Server,
        program: &Program<'_>,
        means: &Means,
        who: &Who,
        limit: Duration,
    ) -> Result<Connection, Failure> {
        let (child, (output, input)) = Child::start(program, means, who).await?;
        let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(LONGEST_LINE);
        let (listener, manners) = (Listener::default(), Manners::default());
        let transport = Guarded::new(transport, manners.clone());
        let greeting = async {
            let service =
                serve_client(listener.clone(), transport).await.map_err(|error| error.to_string())?;
            let catalogue = listed(service.peer(), server).await.map_err(|error| {
                if error.is_final() {
                    manners.broken(error.to_string());
                }
                error.to_string()
            })?;
            Ok::<_, String>((service, catalogue))
        };
        match tokio::time::timeout(limit, greeting).await {
            Ok(Ok((service, catalogue))) => {
                failpoint!("mcp.server.greeted");
                let secrets = child.secrets().clone();
                Ok(Connection::new(who, server, service, catalogue, secrets, manners, Some(child)))
            }
            Ok(Err(_)) if manners.fault().is_some() => {
                Err(trouble::unavailable(who, &manners.fault().unwrap_or_default()))
            }
            Ok(Err(error)) => {
                let cause = format!("{}: {}", child.obituary().await, child.secrets().hide(&error));
                Err(trouble::unavailable(who, &cause))
            }
            Err(_) => Err(trouble::slow_start(who, limit, &child.last_words())),
        }
    }

    async fn with_remote(server: &Server, remote: Remote, who: &Who) -> Result<Connection, Failure> {
        let Remote { transport, secrets } = remote;
        let manners = Manners::default();
        let greeted = serve_client(Listener::default(), Guarded::new(transport, manners.clone())).await;
        let service = greeted.map_err(|error| match manners.fault() {
            Some(fault) => trouble::unreachable(who, &fault, Class::Fatal),
            None => remote::refused(who, &error, &secrets),
        })?;
        let listed = listed(service.peer(), server).await;
        let catalogue = listed.map_err(|error| {
            let class = if error.is_final() { Class::Fatal } else { Class::Transient };
            trouble::unreachable(who, &secrets.hide(&error.to_string()), class)
        })?;
        Ok(Connection::new(who, server, service, catalogue, secrets, manners, None))
    }

    fn new(
        who: &Who,
        server: &Server,
        service: RunningService<RoleClient, Listener>,
        catalogue: Catalogue,
        secrets: Secrets,
        manners: Manners,
        child: Option<Child>,
    ) -> Connection {
        Connection {
            who: who.clone(),
            peer: service.peer().clone(),
            changed: service.service().changed.clone(),
            service: Mutex::new(Some(service)),
            child,
            secrets,
            manners,
            allowed: server.tools.clone(),
            catalogue: Mutex::new(Arc::new(catalogue)),
            patience: server.timeout.unwrap_or(LISTING),
        }
    }

    /// Whether it can still be used.
    pub fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// The tools, asked for again if the server said that they changed.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, Failure> {
        if self.changed.swap(false, Ordering::AcqRel) {
            match tokio::time::timeout(self.patience, listing::tools(&self.peer)).await {
                Ok(Ok(tools)) => self.replace(Catalogue::new(tools, self.allowed.as_deref())),
                Err(_) => {
                    self.changed.store(true, Ordering::Release);
                    return Err(trouble::slow_start(&self.who, self.patience, ""));
                }
                Ok(Err(Unlisted::Endless(fault))) => {
                    self.changed.store(true, Ordering::Release);
                    return Err(trouble::unusable(&self.who, &fault));
                }
                Ok(Err(Unlisted::Service(error))) => {
                    self.changed.store(true, Ordering::Release);
                    let cause = self.cause(&error).await;
                    return Err(trouble::died_listing(&self.who, &cause));
                }
            }
        }
        Ok(self.known())
    }

    fn known(&self) -> Arc<Catalogue> {
        self.catalogue.lock().expect("a panic poisoned this lock").clone()
    }

    fn replace(&self, catalogue: Catalogue) {
        *self.catalogue.lock().expect("a panic poisoned this lock") = Arc::new(catalogue);
    }

    /// Calls a tool.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &JsonText,
        labels: Labels<'_>,
        limit: Duration,
    ) -> Result<ToolResult, Failure> {
        let catalogue = self.known();
        let Some(entry) = catalogue.get(tool) else {
            return Ok(failed(format!("there is no tool `{tool}`; there are {}", catalogue.names())));
        };
        let arguments = match entry.arguments(arguments.value()) {
            Ok(arguments) => arguments,
            Err(wrong) => return Ok(wrong),
        };
        let mut request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        request.meta = labels.meta();
        failpoint!("mcp.call.before");
        let answer = tokio::time::timeout(limit, self.peer.call_tool_once(request)).await;
        failpoint!("mcp.call.answered");
        match answer.map_err(|_| trouble::slow_call(&self.who, tool, limit))? {
            Ok(CallToolResponse::Complete(given)) => Ok(entry.result(content::result(given))),
            Ok(_) => Ok(failed(
                "the tool asks for something that only a person can give, and no person is asked during a tool call",
            )),
            Err(error) => self.unanswered(tool, error).await,
        }
    }

    async fn unanswered(&self, tool: &str, error: ServiceError) -> Result<ToolResult, Failure> {
        match error {
            ServiceError::McpError(error) => Ok(failed(error.message)),
            ServiceError::UnexpectedResponse => Ok(failed("what the server answered is no result of a tool")),
            error => {
                let mut failure = trouble::died(&self.who, tool, &self.cause(&error).await);
                if let ServiceError::TransportSend(fault) = &error
                    && self.child.is_none()
                {
                    failure.class = remote::class(&*fault.error);
                }
                Err(failure)
            }
        }
    }

    /// Why the server does not answer any more.
    async fn cause(&self, error: &ServiceError) -> String {
        if let Some(fault) = self.manners.fault() {
            return fault;
        }
        match (&self.child, error) {
            (Some(child), _) => child.obituary().await,
            (None, ServiceError::TransportSend(fault)) => self.secrets.hide(&remote::words(&*fault.error)),
            (None, error) => self.secrets.hide(&error.to_string()),
        }
    }

    /// Says goodbye, and ends what we started.
    pub async fn close(&self) {
        failpoint!("mcp.close.before");
        let service = self.service.lock().expect("a panic poisoned this lock").take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(GOODBYE).await;
        }
        if let Some(child) = &self.child {
            child.end().await;
            failpoint!("mcp.close.ended");
        }
    }
}

/// A server without any tools may not know the question.
async fn listed(peer: &Peer<RoleClient>, server: &Server) -> Result<Catalogue, Unlisted> {
    let tools = match listing::tools(peer).await {
        Err(Unlisted::Service(ServiceError::McpError(error)))
            if error.code == ErrorCode::METHOD_NOT_FOUND =>
        {
            Vec::new()
        }
        listed => listed?,
    };
    Ok(Catalogue::new(tools, server.tools.as_deref()))
}

/// Our side of the protocol: it offers nothing, and hears when tools change.
#[derive(Clone, Default)]
struct Listener {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("convoke", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
