//! Tools as a cassette plays them: no server, no process, no network.
//!
//! Lists are given at once. Calls are answered in their turn, like those of models, so that a replay has one order.

use super::replay::{Player, not_recorded};
use super::tool_call::{ListOutcome, declared};
use convoke_agent::{Asker, Tool, ToolResult, Toolbox};
use convoke_model::{Class, Failure, JsonText, Servers};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Tools that answer from a cassette.
pub struct ReplayTools {
    player: Arc<Player>,
}

impl ReplayTools {
    pub(super) fn new(player: Arc<Player>) -> ReplayTools {
        ReplayTools { player }
    }

    fn listed(&self, asker: Asker<'_>, servers: &Servers) -> Result<Vec<Tool>, Failure> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        match self.player.shelf.list(&declared(servers, &self.player.scrubber), asker.task) {
            Ok(ListOutcome::Tools(tools)) => Ok(tools.iter().cloned().map(Tool::from).collect()),
            Ok(ListOutcome::Failure(failure)) => Err(failure.clone()),
            Ok(ListOutcome::Same) => {
                Err(self.unlisted(servers, "the list that it is the same as is missing"))
            }
            Err(why) => Err(self.unlisted(servers, &why)),
        }
    }

    fn unlisted(&self, servers: &Servers, why: &str) -> Failure {
        let names = servers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let folder = &self.player.folder;
        not_recorded(format!("the tools of {names} are not on the cassette `{folder}`: {why}"))
    }
}

impl Toolbox for ReplayTools {
    fn list<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(self.listed(asker, servers)))
    }

    fn call<'a>(
        &'a self,
        asker: Asker<'a>,
        _servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    Err(Failure::new(Class::Cancelled, format!("`{}` was cancelled", tool.spec.name)))
                }
                result = self.player.result(asker, tool, arguments) => result,
            }
        })
    }
}
