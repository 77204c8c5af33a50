//! Tools as a cassette plays them: no server, no process, no network.
//!
//! Calls are answered at once. What follows from them is held up where models are asked, so that a replay has one order
//! all the same.

use super::replay::{Player, cut_off, not_recorded};
use super::tool_call::{CallOutcome, ListOutcome, asked, declared};
use convoke_agent::{Tool, ToolResult, Toolbox};
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

    fn listed(&self, servers: &Servers) -> Result<Vec<Tool>, Failure> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        match self.player.shelf.list(&declared(servers, &self.player.scrubber)) {
            Ok(ListOutcome::Tools(tools)) => Ok(tools.iter().cloned().map(Tool::from).collect()),
            Ok(ListOutcome::Failure(failure)) => Err(failure.clone()),
            Err(why) => {
                let names = servers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                let folder = &self.player.folder;
                Err(not_recorded(format!("the tools of {names} are not on the cassette `{folder}`: {why}")))
            }
        }
    }

    async fn answer(
        &self,
        tool: &Tool,
        arguments: &JsonText,
        cancel: CancellationToken,
    ) -> Result<ToolResult, Failure> {
        match self.player.shelf.call(&asked(tool, arguments, &self.player.scrubber)) {
            Ok(CallOutcome::Result(given)) => Ok(given.clone().into()),
            Ok(CallOutcome::Failure(failure)) => Err(failure.clone()),
            Ok(CallOutcome::CutOff) => Err(self.cut_off_again(tool, cancel).await),
            Err(why) => {
                let (name, folder) = (&tool.spec.name, &self.player.folder);
                Err(not_recorded(format!("this call of `{name}` is not on the cassette `{folder}`: {why}")))
            }
        }
    }

    async fn cut_off_again(&self, tool: &Tool, cancel: CancellationToken) -> Failure {
        tokio::select! {
            () = cancel.cancelled() => {
                Failure::new(Class::Cancelled, format!("`{}` was cancelled", tool.spec.name))
            }
            () = self.player.park() => cut_off(),
        }
    }
}

impl Toolbox for ReplayTools {
    fn list<'a>(&'a self, servers: &'a Servers) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(self.listed(servers)))
    }

    fn call<'a>(
        &'a self,
        _servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(self.answer(tool, arguments, cancel))
    }
}
