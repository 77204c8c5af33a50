//! Tools of MCP servers: which there are, and calling one.
//!
//! A server is started by the first question about it, once per run, and shared by all workflows that declare
//! the same. One that died is started again, at a pace; a call that was under way when it died is not repeated
//! here. `naming` says how models see tools, `catalogue` checks what goes in and out, `keeper` keeps one server
//! running, `connection` talks to it. `scripts` are tools without a server: commands that a person approved. `agent`
//! decides which tools an agent may see and how much of a result it is shown. Nothing that was started outlives
//! [`Mcp::close`], or the `Mcp` itself.

pub(crate) mod catalogue;
mod child;
mod connection;
pub(crate) mod content;
mod guard;
mod keeper;
mod keyed;
mod labels;
mod listing;
pub(crate) mod naming;
mod pace;
mod remote;
mod scripts;
mod settings;
mod tail;
pub(crate) mod trouble;

use crate::environment::Environment;
use catalogue::Catalogue;
use convoke_agent::{Asker, Tool, ToolResult, Toolbox};
use convoke_model::{Failure, JsonText, Server, Servers};
use futures::future::{BoxFuture, join_all};
use keeper::Keeper;
use labels::Labels;
use scripts::Scripts;
use settings::Means;
pub use settings::{Limits, Lookup, MakeClient};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// The MCP servers of a run.
pub struct Mcp {
    means: Arc<Means>,
    keepers: Mutex<Keepers>,
}

#[derive(Default)]
struct Keepers {
    of: HashMap<Server, Arc<Keeper>>,
    closed: bool,
}

impl Mcp {
    /// Servers that run here see this environment and what their own settings add; references in those are resolved
    /// by `lookup`. Servers elsewhere are reached with the client that `client` gives, which is asked once.
    pub fn new(environment: Environment, lookup: Lookup, client: MakeClient) -> Mcp {
        Mcp { means: Arc::new(Means::new(environment, lookup, client)), keepers: Mutex::default() }
    }

    /// The same with other limits of time.
    pub fn with_limits(mut self, limits: Limits) -> Mcp {
        let means = Arc::get_mut(&mut self.means).expect("no server has been started yet");
        means.limits = limits;
        self
    }

    /// Ends all servers: each is told, then asked, then made to. Nothing is started afterwards.
    pub async fn close(&self) {
        let keepers: Vec<Arc<Keeper>> = {
            let mut keepers = self.keepers.lock().expect("a panic poisoned this lock");
            keepers.closed = true;
            keepers.of.drain().map(|(_, keeper)| keeper).collect()
        };
        join_all(keepers.iter().map(|keeper| keeper.close())).await;
    }

    /// The keeper of a server; its name is for messages, and is the one under which it was asked for first.
    fn keeper(&self, name: &str, server: &Server) -> Result<Arc<Keeper>, Failure> {
        let mut keepers = self.keepers.lock().expect("a panic poisoned this lock");
        if keepers.closed {
            return Err(trouble::over(name));
        }
        if let Some(keeper) = keepers.of.get(server) {
            return Ok(keeper.clone());
        }
        let keeper = Arc::new(Keeper::new(name, server, self.means.clone()));
        keepers.of.insert(server.clone(), keeper.clone());
        Ok(keeper)
    }

    async fn catalogue(&self, name: &str, server: &Server) -> Result<Arc<Catalogue>, Failure> {
        if let Some(scripts) = Scripts::of(server) {
            return scripts.catalogue(name).map(Arc::new);
        }
        self.keeper(name, server)?.catalogue().await
    }

    /// Every tool that these servers have and allow.
    pub async fn list(&self, servers: &Servers) -> Result<Vec<Tool>, Failure> {
        let catalogues = join_all(servers.iter().map(|(name, server)| self.catalogue(name, server))).await;
        let mut taken = HashSet::new();
        let mut tools = Vec::new();
        for (server, catalogue) in servers.keys().zip(catalogues) {
            for (name, entry) in catalogue?.entries() {
                tools.push(entry.tool(server, name, naming::unique(&mut taken, server, name)));
            }
        }
        Ok(tools)
    }

    /// Calls a tool; see [`Toolbox::call`].
    pub async fn call(
        &self,
        servers: &Servers,
        tool: &Tool,
        arguments: &JsonText,
        labels: impl Into<Labels<'_>>,
        cancel: CancellationToken,
    ) -> Result<ToolResult, Failure> {
        let labels = labels.into();
        let Some(server) = servers.get(&tool.server) else {
            return Ok(content::failed(format!("there is no server `{}`", tool.server)));
        };
        if let Some(scripts) = Scripts::of(server) {
            return scripts.call(&tool.server, &tool.name, arguments, labels, &self.means, cancel).await;
        }
        let keeper = self.keeper(&tool.server, server)?;
        tokio::select! {
            biased;
            // What is dropped below tells the server.
            () = cancel.cancelled() => Err(trouble::cancelled(&tool.server, &tool.name)),
            result = keeper.call(&tool.name, arguments, labels) => result,
        }
    }
}

impl Toolbox for Mcp {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(self.list(servers))
    }

    fn call<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(self.call(servers, tool, arguments, asker, cancel))
    }
}
