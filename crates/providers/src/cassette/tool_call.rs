//! Lines of a cassette that are about tools: which there were, and what a call of one gave.
//!
//! What a list depends on is how servers are declared, without where the workflow lies and how long things may take.
//! What a call depends on is the tool and its arguments; of equal ones, a task gets its own back. Cassettes from before
//! lines named their tasks have lines without a task.

use super::call::{first, is_first};
use convoke_agent::redaction::Scrubber;
use convoke_agent::{Asker, Tool, ToolResult, ToolSpec};
use convoke_model::{Failure, JsonText, Servers, TaskId, Transport};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A line about tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolLine {
    /// Which tools there are.
    ToolList(ListLine),
    /// What a call gave.
    ToolCall(CallLine),
}

/// The tools of some servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListLine {
    /// The task that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How the servers are declared.
    pub servers: Value,
    /// What came of the question.
    pub outcome: ListOutcome,
}

/// What came of asking for tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListOutcome {
    /// The tools.
    Tools(Vec<Listed>),
    /// The tools that were listed for these servers the last time.
    Same,
    /// A server could not be used.
    Failure(Failure),
}

/// A tool as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    server: String,
    name: String,
    spec: ToolSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    repeatable: bool,
    #[serde(default)]
    read_only: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    destructive: bool,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    /// The task that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Which try of the task.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// Which call of the recording it was when it began; the order of the lines is that of the answers.
    #[serde(default)]
    pub begun: u64,
    /// Server, tool and arguments.
    pub request: Value,
    /// What came of it.
    pub outcome: CallOutcome,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The tool answered.
    Result(Given),
    /// No answer came.
    Failure(Failure),
    /// The attempt did not wait for the answer: the step was cancelled, or its time was over.
    CutOff,
}

/// A result as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<JsonText>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

impl ListLine {
    /// What asking for the tools of these servers gave.
    pub fn new(
        asker: Asker<'_>,
        servers: &Servers,
        outcome: &Result<Vec<Tool>, Failure>,
        scrubber: &Scrubber,
    ) -> ListLine {
        let outcome = match outcome {
            Ok(tools) => ListOutcome::Tools(tools.iter().cloned().map(Listed::from).collect()),
            Err(failure) => ListOutcome::Failure(failure.clone()),
        };
        let (task, servers) = (Some(asker.task.clone()), declared(servers, scrubber));
        ListLine { task, servers, outcome: scrubber.clean(&outcome) }
    }
}

impl CallLine {
    /// A call without an answer yet.
    pub fn new(asker: Asker<'_>, begun: u64, request: Value) -> CallLine {
        let (task, attempt) = (Some(asker.task.clone()), asker.attempt);
        CallLine { task, attempt, begun, request, outcome: CallOutcome::CutOff }
    }
}

impl CallOutcome {
    /// What a call gave, without secrets.
    pub fn of(outcome: &Result<ToolResult, Failure>, scrubber: &Scrubber) -> CallOutcome {
        scrubber.clean(&match outcome {
            Ok(result) => CallOutcome::Result(result.clone().into()),
            Err(failure) => CallOutcome::Failure(failure.clone()),
        })
    }
}

/// How servers are declared, as far as that decides which tools they have.
pub fn declared(servers: &Servers, scrubber: &Scrubber) -> Value {
    let entries = servers.iter().map(|(name, server)| {
        let mut server = server.clone();
        server.timeout = None;
        if let Transport::Stdio { working_dir, .. } | Transport::Scripts { working_dir, .. } =
            &mut server.transport
        {
            *working_dir = None;
        }
        (name.clone(), serde_json::to_value(server).expect("settings are JSON"))
    });
    let mut value = Value::Object(entries.collect());
    scrubber.scrub(&mut value);
    value
}

/// What decides what a call gives.
pub fn asked(tool: &Tool, arguments: &JsonText, scrubber: &Scrubber) -> Value {
    let mut value = json!({"server": tool.server, "tool": tool.name, "arguments": arguments.value()});
    scrubber.scrub(&mut value);
    value
}

impl From<Tool> for Listed {
    fn from(tool: Tool) -> Listed {
        let Tool { server, name, spec, output_schema, repeatable, read_only, destructive } = tool;
        Listed { server, name, spec, output_schema, repeatable, read_only, destructive }
    }
}

impl From<Listed> for Tool {
    fn from(listed: Listed) -> Tool {
        let Listed { server, name, spec, output_schema, repeatable, read_only, destructive } = listed;
        Tool { server, name, spec, output_schema, repeatable, read_only, destructive }
    }
}

impl From<ToolResult> for Given {
    fn from(result: ToolResult) -> Given {
        let ToolResult { text, structured, failed, unknown: _ } = result;
        Given { text, structured, failed }
    }
}

impl From<Given> for ToolResult {
    fn from(given: Given) -> ToolResult {
        let Given { text, structured, failed } = given;
        ToolResult { text, structured, failed, unknown: false }
    }
}
