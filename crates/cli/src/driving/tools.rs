//! The tools of a run: its MCP servers and our own, or nothing at all.

use super::credentials::Credentials;
use super::network::network;
use convoke_agent::Toolbox;
use convoke_providers::{Clients, Recording, Replay};
use convoke_tools::{Environment, Hands, Mcp, Rulebook, Sandboxed};
use std::path::PathBuf;
use std::sync::Arc;

/// Where tools come from.
pub struct Tools {
    toolbox: Arc<dyn Toolbox>,
    /// What must be ended with the run.
    servers: Option<Arc<Mcp>>,
    /// Tools of our own.
    hands: Option<Arc<Hands>>,
}

impl Tools {
    /// The servers of those keys; none is started before an attempt needs it.
    pub fn with(keys: &Credentials<'_>, environment: Environment, rulebook: Rulebook) -> Tools {
        let client = Arc::new(|| Clients::new(network()).usual());
        let mcp = Arc::new(Mcp::new(environment.clone(), keys.named().lookup(), client));
        // A run works where it was started; a folder that is gone is told of when a tool is called.
        let folder = std::env::current_dir().unwrap_or_default();
        let ground = environment.ground().cloned();
        let shell = Sandboxed::new(environment);
        let shell = ground.into_iter().fold(shell, Sandboxed::on);
        let hands = Arc::new(Hands::under(rulebook, mcp.clone(), folder, Arc::new(shell)));
        Tools { toolbox: hands.clone(), servers: Some(mcp), hands: Some(hands) }
    }

    /// The same, with what they say written down.
    pub fn recorded(self, recording: &Recording) -> Tools {
        Tools { toolbox: Arc::new(recording.tools(self.toolbox)), ..self }
    }

    /// What a cassette says instead of them; nothing is started.
    pub fn replayed(replay: &Arc<Replay>) -> Tools {
        Tools { toolbox: Arc::new(replay.tools()), servers: None, hands: None }
    }

    /// Keeps places out of reach of the tools of our own.
    pub fn hide(&self, places: impl IntoIterator<Item = PathBuf>) {
        if let Some(hands) = &self.hands {
            hands.hide(places);
        }
    }

    /// Answers queries over the graph of runs by this.
    #[cfg(feature = "knowledge")]
    pub fn ask_by(&self, graph: Arc<dyn convoke_tools::Graph>) {
        if let Some(hands) = &self.hands {
            hands.ask_by(graph);
        }
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
