//! `shell`: a command of an agent, never outside the sandbox.
//!
//! Judging a command and confining it are others' business; where either is missing, no command is run, and the result says so.

use convoke_agent::{Review, ToolResult};
use convoke_files::Root;
use convoke_model::Failure;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Judges and runs commands.
pub trait Shell: Send + Sync {
    /// What is to be said of a command before it is run.
    fn review(&self, root: &Root, policies: &[String], arguments: &Value) -> Review;

    /// Runs a command beneath a root. One that the policies deny is a result that says why.
    fn run<'a>(
        &'a self,
        root: Root,
        policies: &'a [String],
        arguments: &'a Value,
        key: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>>;
}

/// Runs no command, and says why.
pub struct NoShell(pub String);

impl Shell for NoShell {
    fn review(&self, _: &Root, _: &[String], _: &Value) -> Review {
        Review::Allow
    }

    fn run<'a>(
        &'a self,
        _: Root,
        _: &'a [String],
        _: &'a Value,
        _: &'a str,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let why = format!("no command can be run here: {}", self.0);
        Box::pin(std::future::ready(Ok(crate::mcp::content::failed(why))))
    }
}
