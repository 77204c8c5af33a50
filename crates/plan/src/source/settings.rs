//! The typed form of `workflow.runtime`: providers, MCP servers, skills, plugins.

use std::time::Duration;

use convoke_model::Permissions;
use indexmap::IndexMap;

use super::capability::Capabilities;
use super::read::{self, Fields};
use super::section::{FromNode, section};
use super::shape::{Shape, TEXTS, WINDOW};
use super::text::{SecretText, Spanned, Text};
use super::words::{CONTEXT_TIERS, EFFORTS};
use super::workflow::{Entry, Names, References};
use crate::diagnostic::Span;

/// For one request to a service, where nothing is said.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

section! {
    /// `workflow.runtime`.
    #[derive(Debug, Clone, Default)]
    pub struct Runtime = "runtime", "`runtime`" {
        /// model service: a name, or a name with settings
        pub provider: Option<Provider>,
        /// model of agents that name none
        pub default_model: Option<Spanned<String>>,
        /// models of agents that name none: the next one is asked when one cannot answer
        #[by(read::runtime::default_models)]
        pub models: Option<Names>,
        /// model that puts answers into shape when the agent's own could not
        #[by(read::fixed::fixed)]
        pub repair_model: Option<Spanned<String>>,
        /// MCP servers by name
        #[by(read::server::servers)]
        pub mcp_servers: IndexMap<String, Entry<McpServer>>,
        /// policy of what agents' own tools (`files`, `shell`) may do: `read-only`, `develop` (default), `network`, or a file
        #[by(read::fixed::fixed)]
        pub policy: Option<Spanned<String>>,
        /// randomness of the answers
        pub temperature: Option<Spanned<f64>> => Number(0.0, 2.0),
        /// output tokens of one answer
        pub max_tokens: Option<Spanned<u64>> => Integer(1, 200_000),
        /// seconds for one request to the service
        pub timeout: Option<Spanned<Duration>> => Seconds(1.0),
        /// bounds of the parts of a request
        pub timeouts: Timeouts = Timeouts::default(),
        /// seconds for one session
        pub max_session as "max_session_seconds": Option<Spanned<Duration>> => Seconds(1.0),
        /// tokens that the model can take in (default 128000)
        pub context_window: Option<Spanned<u64>> => WINDOW,
        /// rounds of the tool loop (default 50)
        pub max_agent_iterations: Option<Spanned<u64>> => Integer(1, 500),
        /// what bounds the conversations of agents
        #[by(read::capability::capabilities)]
        pub capabilities: Capabilities,
        /// effort of agents that name none
        pub default_reasoning_effort: Option<Spanned<String>> => Choice(EFFORTS),
        /// context size class (copilot only)
        pub default_context_tier: Option<Spanned<String>> => Choice(CONTEXT_TIERS),
        /// known and without effect: every step is recorded
        pub checkpoint: Option<Checkpoint>,
        /// cap of tool results
        pub tool_output: ToolOutput = ToolOutput::default(),
        /// directory of the agents, relative to the workflow file
        pub working_dir: Option<Text>,
        /// skills of all agents: names or paths
        pub skills: Names = Names::new(),
        /// bounds of skills in prompts
        pub skill_injection: SkillInjection = SkillInjection::default(),
        /// where skills are looked for
        pub skill_discovery: SkillDiscovery = SkillDiscovery::default(),
        /// where plugins come from
        #[by(read::runtime::plugin_sources)]
        pub plugin_sources: IndexMap<String, Entry<PluginSource>>
            => Map(&OneOf(&[Text, PluginSource::SHAPE])),
        /// plugins of all agents
        #[by(read::runtime::plugins)]
        pub plugins: Option<Vec<PluginUse>> => PLUGINS,
    }
}

/// `plugins` of the runtime or of an agent.
pub const PLUGINS: Shape = Shape::List(&Shape::OneOf(&[Shape::Text, PluginUse::SHAPE]));

impl Runtime {
    /// The bound of one request to a service.
    pub fn request_timeout(&self) -> Duration {
        self.timeout.as_ref().map_or(REQUEST_TIMEOUT, |stated| stated.value)
    }
}

section! {
    /// `timeouts` of the runtime or of an agent: bounds of the parts of one request.
    #[derive(Debug, Clone, Default)]
    pub struct Timeouts = "timeouts", "`timeouts`" {
        /// until the connection stands (default 30s)
        pub connect: Option<Spanned<Duration>>,
        /// until the answer begins (default the whole request)
        pub first_token: Option<Spanned<Duration>>,
        /// between two pieces of the answer (default 2m)
        pub idle: Option<Spanned<Duration>>,
    }
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
    /// How it is decided what it may do.
    pub permissions: Option<Spanned<Permissions>>,
    /// The first of these keys that is written, and its place.
    pub first: Option<Spanned<&'static str>>,
}

section! {
    /// One entry of `mcp_servers`. Arguments, environment, address and headers are kept as references.
    #[derive(Debug, Clone)]
    pub struct McpServer = "mcp_server", "an MCP server" {
        /// how it is reached (default stdio)
        #[by(read::server::transport)]
        pub transport as "type": Spanned<McpTransport>,
        /// program of a stdio server
        pub command: Option<Spanned<String>>,
        /// its arguments
        pub args: Vec<SecretText> = Vec::new() => TEXTS,
        /// its environment
        pub env: References = References::new(),
        /// secrets that it is given, as variables of their names (stdio, scripts)
        pub secrets: Names = Names::new() => TEXTS,
        /// where a stdio server runs, relative to this file (default its folder)
        pub working_dir: Option<Spanned<String>>,
        /// address of an http or sse server
        pub url: Option<SecretText> => Text,
        /// request headers
        pub headers: References = References::new(),
        /// milliseconds for one call
        #[by(read::server::milliseconds)]
        pub timeout: Option<Spanned<Duration>> => Number(1.0, f64::MAX),
        /// which of its tools may be used (default all: `*`)
        #[by(read::server::tools_of_server)]
        pub tools: Names,
        /// with `type: scripts`: commands that are tools
        #[by(read::server::scripts)]
        pub scripts: IndexMap<String, Entry<ScriptTool>>,
    } with {
        /// Place of the definition.
        pub span: Span = Fields::place,
    } judge read::server::judge_server
}

section! {
    /// A command that is a tool; its arguments are kept as references.
    #[derive(Debug, Clone)]
    pub struct ScriptTool = "script_tool", "a script that is a tool" {
        /// the program; no shell reads it
        #[by(read::fixed::fixed)]
        #[required = true]
        pub command: Option<Spanned<String>>,
        /// its arguments, as they stand; what a model gives comes on standard input, as JSON
        pub args: Vec<SecretText> = Vec::new() => TEXTS,
        /// what it is for, told to models
        pub description: Option<Spanned<String>>,
        /// what it takes, as JSON Schema of an object (default nothing)
        #[by(read::server::json_schema)]
        pub input: Option<serde_json::Value> => Map(&Any),
        /// what it gives, as JSON Schema (default any text)
        #[by(read::server::json_schema)]
        pub output: Option<serde_json::Value> => Map(&Any),
        /// whether it may be repeated without harm (default false)
        pub idempotent: bool = false,
    }
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

section! {
    /// `runtime.checkpoint`.
    #[derive(Debug, Clone)]
    pub struct Checkpoint = "checkpoint", "`checkpoint`" {
        /// after every agent (default false)
        pub every_agent: bool = false,
        /// after so many seconds
        pub every_seconds: Option<Duration> => Seconds(1.0),
        /// how many to keep (default 5)
        pub keep_last: u64 = 5 => Integer(1, 100),
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
}

section! {
    /// `runtime.tool_output`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ToolOutput = "tool_output", "`tool_output`" {
        /// whether results are capped (default true)
        pub enabled: bool = Self::default().enabled,
        /// characters of one result (default 50000)
        pub max_chars: u64 = Self::default().max_chars => Integer(1000, u64::MAX),
        /// known and without effect: the rest is kept in the journal
        pub spill_to_file: bool = Self::default().spill_to_file,
        /// known and without effect
        pub spill_dir: Option<Spanned<String>>,
    }
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self { enabled: true, max_chars: 50_000, spill_to_file: true, spill_dir: None }
    }
}

section! {
    /// `runtime.skill_injection`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct SkillInjection = "skill_injection", "`skill_injection`" {
        /// size that gives a warning (default 65536)
        pub warn_bytes: u64 = Self::default().warn_bytes => Integer(0, u64::MAX),
        /// size that is refused (default 163840)
        pub max_bytes: u64 = Self::default().max_bytes => Integer(0, u64::MAX),
    } judge read::runtime::judge_injection
}

impl Default for SkillInjection {
    fn default() -> Self {
        Self { warn_bytes: 65_536, max_bytes: 163_840 }
    }
}

section! {
    /// `runtime.skill_discovery`.
    #[derive(Debug, Clone, Default)]
    pub struct SkillDiscovery = "skill_discovery", "`skill_discovery`" {
        /// where to look
        pub sources: Names = Names::new() => List(&Choice(&["personal", "project"])),
        /// names to leave out
        pub exclude: Names = Names::new(),
    } judge read::runtime::judge_discovery
}

section! {
    /// One entry of `plugin_sources`; an address alone stands for its `source`.
    #[derive(Debug, Clone)]
    pub struct PluginSource = "plugin_source", "a plugin source" {
        /// address, with `#ref` for a version
        pub source: Spanned<String>,
        /// folder inside
        pub path: Option<Spanned<String>>,
        /// name inside
        pub plugin: Option<Spanned<String>>,
    }
}

section! {
    /// One entry of `plugins`; a name alone stands for its `name`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PluginUse = "plugin", "a plugin" {
        /// name of the plugin
        pub name: Spanned<String>,
        /// use its skills (default true)
        pub skills: bool = true,
        /// use its agents (default true)
        pub agents: bool = true,
        /// use its MCP servers (default true)
        pub mcp: bool = true,
    }
}

section! {
    /// `sandbox` of an agent (vendor key).
    #[derive(Debug, Clone)]
    pub struct Sandbox = "sandbox", "`sandbox`" {
        /// what shares one sandbox
        pub identifier_scope: Option<Spanned<String>> => IDENTIFIER_SCOPE,
        /// directory inside
        pub working_dir: Option<Text>,
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
}

/// What shares one sandbox.
pub(super) const IDENTIFIER_SCOPE: Shape = Shape::Choice(&["workflow", "agent", "item", "none"]);
