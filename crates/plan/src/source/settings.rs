//! The typed form of `workflow.runtime`: providers, MCP servers, skills, plugins.

use std::time::Duration;

use convoke_model::Permissions;
use indexmap::IndexMap;

use super::capability::Capabilities;
use super::text::{SecretText, Spanned, Text};
use super::workflow::{Entry, Names};
use crate::diagnostic::Span;

/// For one request to a service, where nothing is said.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// `workflow.runtime`.
#[derive(Debug, Clone, Default)]
pub struct Runtime {
    /// `None` when the file names no provider.
    pub provider: Option<Provider>,
    /// Model of agents that name none.
    pub default_model: Option<Spanned<String>>,
    /// Instead of that: models in the order in which they are asked.
    pub models: Option<Names>,
    /// The model that puts answers into shape, of agents that name none.
    pub repair_model: Option<Spanned<String>>,
    /// MCP servers by name.
    pub mcp_servers: IndexMap<String, Entry<McpServer>>,
    /// 0 to 2.
    pub temperature: Option<Spanned<f64>>,
    /// Output tokens of one answer.
    pub max_tokens: Option<Spanned<u64>>,
    /// Of one request to the service.
    pub timeout: Option<Spanned<Duration>>,
    /// Of the parts of one request.
    pub timeouts: Timeouts,
    /// Of one session.
    pub max_session: Option<Spanned<Duration>>,
    /// Tokens that the model can take in.
    pub context_window: Option<Spanned<u64>>,
    /// Bound of the tool loop.
    pub max_agent_iterations: Option<Spanned<u64>>,
    /// What bounds the conversations of agents.
    pub capabilities: Capabilities,
    /// Effort of agents that name none.
    pub default_reasoning_effort: Option<Spanned<String>>,
    /// Vendor key.
    pub default_context_tier: Option<Spanned<String>>,
    /// Periodic checkpoints of the original; known and without effect, the journal is always written.
    pub checkpoint: Option<Checkpoint>,
    /// Cap of tool results.
    pub tool_output: ToolOutput,
    /// Directory of the agents (template), relative to the workflow file.
    pub working_dir: Option<Text>,
    /// Skills of all agents.
    pub skills: Names,
    /// Bounds of injected skills.
    pub skill_injection: SkillInjection,
    /// Where skills are looked for.
    pub skill_discovery: SkillDiscovery,
    /// Vendor key.
    pub plugin_sources: IndexMap<String, Entry<PluginSource>>,
    /// Vendor key.
    pub plugins: Vec<Spanned<PluginUse>>,
}

impl Runtime {
    /// The bound of one request to a service.
    pub fn request_timeout(&self) -> Duration {
        self.timeout.as_ref().map_or(REQUEST_TIMEOUT, |stated| stated.value)
    }
}

/// `timeouts` of the runtime or of an agent: bounds of the parts of one request.
#[derive(Debug, Clone, Default)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Option<Spanned<Duration>>,
    /// Until the answer begins.
    pub first_token: Option<Spanned<Duration>>,
    /// Between two pieces of the answer.
    pub idle: Option<Spanned<Duration>>,
}

impl Timeouts {
    /// These, and the others where these say nothing.
    pub fn or(self, other: &Timeouts) -> Timeouts {
        Timeouts {
            connect: self.connect.or_else(|| other.connect.clone()),
            first_token: self.first_token.or_else(|| other.first_token.clone()),
            idle: self.idle.or_else(|| other.idle.clone()),
        }
    }

    /// What is stated, by key.
    pub fn stated(&self) -> impl Iterator<Item = (&'static str, &Spanned<Duration>)> {
        let all = [("connect", &self.connect), ("first_token", &self.first_token), ("idle", &self.idle)];
        all.into_iter().filter_map(|(key, stated)| Some((key, stated.as_ref()?)))
    }
}

/// `provider` of the runtime or of an agent: a name, or an object with settings.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Name of the provider.
    pub name: Spanned<String>,
    /// Address of the service.
    pub base_url: Option<Spanned<String>>,
    /// Credential, kept as a reference.
    pub api_key: Option<SecretText>,
    /// File that holds the credential, as written.
    pub api_key_file: Option<Spanned<String>>,
    /// Credential, kept as a reference.
    pub bearer_token: Option<SecretText>,
    /// Credential, kept as a reference.
    pub auth_token: Option<SecretText>,
    /// Credential, kept as a reference.
    pub runtime_token: Option<SecretText>,
    /// Further request headers, values kept as references.
    pub headers: IndexMap<String, Entry<SecretText>>,
    /// Kind of service behind the address.
    pub service: Option<Spanned<String>>,
    /// Which interface of it.
    pub wire_api: Option<Spanned<String>>,
    /// File of scripted replies, as written.
    pub file: Option<Spanned<String>>,
    /// How long every scripted reply takes.
    pub latency_ms: Option<Spanned<u64>>,
    /// The program of `acp` and `cli`.
    pub program: Program,
    /// Keys that concern one vendor only, as written.
    pub vendor: IndexMap<String, Spanned<serde_json::Value>>,
    /// Whether it was written as a bare name.
    pub short: bool,
    /// Place of the definition.
    pub span: Span,
}

/// How a coding agent of this machine is started; what is absent is left to the configuration.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The program.
    pub command: Option<Spanned<String>>,
    /// Its arguments, kept as references.
    pub args: Option<Vec<SecretText>>,
    /// Its environment, values kept as references.
    pub env: IndexMap<String, Entry<SecretText>>,
    /// Who decides what it may do.
    pub permissions: Option<Spanned<Permissions>>,
    /// The first of these keys that is written, and its place.
    pub first: Option<Spanned<&'static str>>,
}

/// One entry of `mcp_servers`.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// How it is reached.
    pub transport: Spanned<McpTransport>,
    /// Program of a stdio server.
    pub command: Option<Spanned<String>>,
    /// Its arguments, kept as references.
    pub args: Vec<SecretText>,
    /// Its environment, values kept as references.
    pub env: IndexMap<String, Entry<SecretText>>,
    /// Where it runs, as written; `None` means the folder of the workflow file.
    pub working_dir: Option<Spanned<String>>,
    /// Address of an http or sse server, kept as a reference.
    pub url: Option<SecretText>,
    /// Request headers, values kept as references.
    pub headers: IndexMap<String, Entry<SecretText>>,
    /// Of one call.
    pub timeout: Option<Spanned<Duration>>,
    /// Which of its tools may be used (`*` = all).
    pub tools: Names,
    /// `scripts`: commands that are tools, by name.
    pub scripts: IndexMap<String, Entry<ScriptTool>>,
    /// Place of the definition.
    pub span: Span,
}

/// A command that is a tool.
#[derive(Debug, Clone)]
pub struct ScriptTool {
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// The program; `None` when it is missing (which is reported).
    pub command: Option<Spanned<String>>,
    /// Its arguments, kept as references.
    pub args: Vec<SecretText>,
    /// What it takes, as JSON Schema; `None` means nothing.
    pub input: Option<serde_json::Value>,
    /// What it gives, as JSON Schema; `None` means any text.
    pub output: Option<serde_json::Value>,
    /// Whether it may be repeated without harm.
    pub idempotent: bool,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum McpTransport {
    #[default]
    Stdio,
    Http,
    Sse,
    Scripts,
}

/// `runtime.checkpoint`.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Checkpoint {
    pub every_agent: bool,
    pub every: Option<Duration>,
    pub keep_last: u64,
    pub span: Span,
}

/// `runtime.tool_output`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// Whether results are capped.
    pub enabled: bool,
    /// Characters of one result.
    pub max_chars: u64,
    /// Whether the rest goes to a file.
    pub spill_to_file: bool,
    /// Where that file is.
    pub spill_dir: Option<Spanned<String>>,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self { enabled: true, max_chars: 50_000, spill_to_file: true, spill_dir: None }
    }
}

/// `runtime.skill_injection`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SkillInjection {
    pub warn_bytes: u64,
    pub max_bytes: u64,
}

impl Default for SkillInjection {
    fn default() -> Self {
        Self { warn_bytes: 65_536, max_bytes: 163_840 }
    }
}

/// `runtime.skill_discovery`.
#[derive(Debug, Clone, Default)]
pub struct SkillDiscovery {
    /// `personal`, `project`.
    pub sources: Names,
    /// Names to leave out.
    pub exclude: Names,
}

/// One entry of `plugin_sources`.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct PluginSource {
    pub source: Spanned<String>,
    pub path: Option<Spanned<String>>,
    pub plugin: Option<Spanned<String>>,
}

/// One entry of `plugins`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct PluginUse {
    pub name: String,
    pub skills: bool,
    pub agents: bool,
    pub mcp: bool,
}

/// `sandbox` of an agent (vendor key).
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Sandbox {
    pub identifier_scope: Option<Spanned<String>>,
    pub working_dir: Option<Text>,
    pub span: Span,
}
