//! The trait by which an attempt reaches tools: which there are, and calling one.
//!
//! Servers are started at the first question about them, once per run, and shared. Which tools an agent may see is
//! decided before it sees any (`offer`); the toolbox checks arguments and results against the tool's own schemas.

use crate::ToolSpec;
use convoke_model::{Assignment, Contract, Failure, JsonText, Servers, TaskId, ToolName, Work};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// The attempt that asks for tools. Which tools there are and what they give does not depend on it; a cassette, which
/// records that or gives it back, tells askers apart by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// Which try of it.
    pub attempt: u32,
    /// The idempotency key of the task, or of one call of it.
    pub key: &'a str,
    /// The span of the attempt, for the server; see [`Assignment::trace`].
    pub trace: Option<&'a str>,
    /// Where the attempt works, for tools of our own; the run's own folder if absent.
    pub folder: Option<&'a str>,
    /// The step.
    pub step: &'a str,
    /// The rights of the attempt, where they are one value.
    pub contract: Option<&'a Contract>,
}

impl<'a> From<&'a Assignment> for Asker<'a> {
    fn from(assignment: &'a Assignment) -> Asker<'a> {
        let Assignment { task, attempt, key, trace, .. } = assignment;
        let own = match &assignment.work {
            Work::Agent(call) => call.working_dir.as_deref(),
            Work::Program(call) => call.agent.working_dir.as_deref(),
            _ => None,
        };
        let agreed = assignment.contract.as_deref().and_then(|contract| contract.working_dir.as_deref());
        Asker {
            task,
            attempt: *attempt,
            key,
            trace: trace.as_deref(),
            folder: agreed.or(own),
            step: &assignment.step,
            contract: assignment.contract.as_deref(),
        }
    }
}

/// The tools of a run.
pub trait Toolbox: Send + Sync {
    /// Every tool that these servers have and allow, in the order of the servers.
    fn list<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>>;

    /// Calls one. A tool that says it failed, or arguments that do not fit, are a result; a failure means that no
    /// answer came. When `cancel` fires the server is told and the future is ready soon.
    fn call<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>>;

    /// Says what is to be thought of a call before it is made: a person may have to decide it. Makes nothing and changes
    /// nothing; the same call gets the same words, because a person's decision is bound to them.
    fn review<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        _tool: &'a Tool,
        _arguments: &'a JsonText,
    ) -> BoxFuture<'a, Review> {
        Box::pin(std::future::ready(Review::Allow))
    }
}

/// What is to be said about one call before it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Review {
    /// Nothing.
    #[default]
    Allow,
    /// A person must allow it.
    Ask {
        /// The complete canonical action: whatever it does is in it, and nothing is left out.
        action: String,
        /// Why, in a sentence.
        reason: String,
    },
    /// It is not made.
    Deny {
        /// Why, in a sentence.
        reason: String,
    },
    /// It is not made, and that it was wanted ends the run.
    End {
        /// Why, in a sentence.
        reason: String,
    },
}

/// One tool of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The server's name in the file.
    pub server: String,
    /// The tool's name on that server.
    pub name: String,
    /// How a model sees it; its name there is `server__name`.
    pub spec: ToolSpec,
    /// The shape of its structured result, as JSON Schema, where it declares one.
    pub output_schema: Option<serde_json::Value>,
    /// Whether a call whose outcome is unknown may be made again.
    pub repeatable: bool,
    /// Whether a call changes nothing, so that it is no effect.
    pub read_only: bool,
    /// Whether its server says that a call may destroy something. What a server says can only make a call look worse.
    pub destructive: bool,
}

impl Tool {
    /// The names that lists may know it by.
    pub fn names(&self) -> ToolName<'_> {
        ToolName { server: &self.server, name: &self.name, known: &self.spec.name }
    }
}

/// What a tool gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// In words: its texts, and a line for each part that is none.
    pub text: String,
    /// As data, where the tool gives data.
    pub structured: Option<JsonText>,
    /// Whether the text says what went wrong.
    pub failed: bool,
    /// Whether the outcome of the call is unknown. Toolboxes always know it.
    pub unknown: bool,
}

/// A box without tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn call<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        tool: &'a Tool,
        _arguments: &'a JsonText,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let text = format!("there is no tool `{}`", tool.spec.name);
        Box::pin(std::future::ready(Ok(ToolResult { text, failed: true, ..ToolResult::default() })))
    }
}
