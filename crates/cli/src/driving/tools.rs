//! The tools of a run: its MCP servers, or nothing at all.

use super::credentials::Credentials;
use super::network::network;
use crate::env;
use convoke_agent::{NoTools, Toolbox};
use convoke_providers::{Clients, Recording, Replay};
use convoke_tools::{Environment, Mcp};
use std::sync::Arc;

/// Where tools come from.
pub struct Tools {
    toolbox: Arc<dyn Toolbox>,
    /// What must be ended with the run.
    servers: Option<Arc<Mcp>>,
}

impl Tools {
    /// No tools.
    pub fn none() -> Tools {
        Tools { toolbox: Arc::new(NoTools), servers: None }
    }

    /// The servers of those keys; none is started before an attempt needs it.
    pub fn with(keys: &Credentials<'_>, environment: Environment) -> Tools {
        if !keys.name_servers() {
            return Tools::none();
        }
        let client = Arc::new(|| Clients::new(network()).usual());
        let mcp = Arc::new(Mcp::new(environment, Arc::new(env::get), client));
        Tools { toolbox: mcp.clone(), servers: Some(mcp) }
    }

    /// The same, with what they say written down.
    pub fn recorded(self, recording: &Recording) -> Tools {
        Tools { toolbox: Arc::new(recording.tools(self.toolbox)), ..self }
    }

    /// What a cassette says instead of them; nothing is started.
    pub fn replayed(replay: &Arc<Replay>) -> Tools {
        Tools { toolbox: Arc::new(replay.tools()), servers: None }
    }

    /// What lists and calls them.
    pub fn toolbox(&self) -> Arc<dyn Toolbox> {
        self.toolbox.clone()
    }

    /// Ends every server.
    pub async fn close(&self) {
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
    }
}
