//! The tools of a run: its MCP servers, or nothing at all.

use super::equipment::network;
use super::keys::{Keys, servers_of};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_agent::{NoTools, Toolbox};
use convoke_plan::Plan;
use convoke_tools::Mcp;
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

    /// The servers that the plan names; none is started before somebody needs it.
    pub fn for_plan(plan: &Plan, keys: &Keys<'_>) -> Result<Tools, CommandFailure> {
        if servers_of(plan).next().is_none() {
            return Ok(Tools::none());
        }
        let client = convoke_providers::client(&network())
            .map_err(|failure| CommandFailure::new(Exit::Refused, failure.message))?;
        let mcp = Arc::new(Mcp::new(keys.environment(), Arc::new(env::get), client));
        Ok(Tools { toolbox: mcp.clone(), servers: Some(mcp) })
    }

    /// Who lists and calls them.
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
