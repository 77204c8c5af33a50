//! Tools: where they come from, and a call of one without a model.
//!
//! Servers are named in a workflow file and stay data here: starting them, and keeping one of each for the whole run, is
//! the business of the toolbox.

use crate::{JsonText, OutputSchema};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// MCP servers by name, in the order of the file.
pub type Servers = IndexMap<String, Server>;

/// One MCP server. Two that are equal in everything are one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// How it is reached.
    pub transport: Transport,
    /// The longest time for one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Names of its tools that may be used; `None` means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As a child process that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments; references in them are resolved at launch.
        args: Vec<String>,
        /// Variables on top of the inherited ones; values are references that are resolved at launch.
        env: Vec<(String, String)>,
        /// Where it runs: the folder of the workflow file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        working_dir: Option<String>,
    },
    /// As a service at an address (streamable HTTP).
    Http {
        /// The address; references in it are resolved at launch.
        url: String,
        /// Headers; values are references that are resolved at launch.
        headers: Vec<(String, String)>,
    },
    /// Not a server at all: commands of this machine that a person approved by writing them down.
    Scripts {
        /// Each is a tool.
        scripts: Vec<ScriptTool>,
        /// Variables on top of the inherited ones; values are references that are resolved at launch.
        env: Vec<(String, String)>,
        /// Where they run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        working_dir: Option<String>,
    },
    /// Not a server at all: tools of our own, beneath the folder of the step. Those that may be used are listed.
    Own {
        /// The policies of commands and paths that hold, the strictest verdict counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        policies: Vec<PolicySource>,
        /// Patterns of files that are left as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        protect: Vec<String>,
    },
}

/// A policy of commands and paths: a preset by its name, or a file with the text that it had when the run was planned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicySource {
    /// The preset, or the file.
    pub name: String,
    /// The file's text; absent for a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file of Cedar rules that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cedar: Option<CedarSource>,
}

/// Cedar rules, with the text that they had when the run was planned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CedarSource {
    /// The file, as the policy names it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A command as a tool: its arguments come as a JSON object on standard input, what it prints is the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScriptTool {
    /// The tool's name.
    pub name: String,
    /// Told to models.
    pub description: String,
    /// The program; no shell reads it.
    pub command: String,
    /// Its arguments, as they stand; references in them are resolved at launch.
    pub args: Vec<String>,
    /// What it takes, as JSON Schema.
    pub input: JsonText,
    /// What it gives, as JSON Schema; absent means any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JsonText>,
    /// Whether a call with an unknown outcome may be made again.
    #[serde(default)]
    pub repeatable: bool,
}

/// A call of one tool, as a step of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolWork {
    /// The servers of the workflow.
    pub servers: Arc<Servers>,
    /// The server that has the tool.
    pub server: String,
    /// The tool, as its server names it.
    pub tool: String,
    /// The arguments: a JSON object.
    pub arguments: JsonText,
    /// What the output must look like, if that is declared.
    pub schema: Option<OutputSchema>,
}
