//! `workflow.runtime`, and the keys of agents that concern the provider.

use super::super::settings::McpTransport;
use super::super::shape::Shape::{
    Any, Boolean, Choice, Duration, Integer, List, Map, Number, Object, OneOf, Seconds, Secret, Template,
    Text,
};
use super::super::shape::{ObjectType, SECRET_MAP, Shape, TEXTS, optional, required};
use super::super::words::{CONTEXT_TIERS, EFFORTS, PERMISSIONS};
use super::capability::{CAPABILITIES_SHAPE, WINDOW};

/// `runtime`.
pub static RUNTIME: ObjectType = ObjectType {
    name: "runtime",
    title: "`runtime`",
    keys: &[
        optional("provider", PROVIDER_SHAPE, "model service: a name, or a name with settings"),
        optional("default_model", Text, "model of agents that name none"),
        optional(
            "models",
            TEXTS,
            "models of agents that name none: the next one is asked when one cannot answer",
        ),
        optional("repair_model", Text, "model that puts answers into shape when the agent's own could not"),
        optional("mcp_servers", Map(&Object(&MCP_SERVER)), "MCP servers by name"),
        optional("temperature", Number(0.0, 2.0), "randomness of the answers"),
        optional("max_tokens", Integer(1, 200_000), "output tokens of one answer"),
        optional("timeout", Seconds(1.0), "seconds for one request to the service"),
        optional("timeouts", Object(&TIMEOUTS), "bounds of the parts of a request"),
        optional("max_session_seconds", Seconds(1.0), "seconds for one session"),
        optional("context_window", WINDOW, "tokens that the model can take in (default 128000)"),
        optional("max_agent_iterations", Integer(1, 500), "rounds of the tool loop (default 50)"),
        optional("capabilities", CAPABILITIES_SHAPE, "what bounds the conversations of agents"),
        optional("default_reasoning_effort", Choice(EFFORTS), "effort of agents that name none"),
        optional("default_context_tier", Choice(CONTEXT_TIERS), "context size class (copilot only)"),
        optional("checkpoint", Object(&CHECKPOINT), "known and without effect: every step is recorded"),
        optional("tool_output", Object(&TOOL_OUTPUT), "cap of tool results"),
        optional("working_dir", Template, "directory of the agents, relative to the workflow file"),
        optional("skills", TEXTS, "skills of all agents: names or paths"),
        optional("skill_injection", Object(&SKILL_INJECTION), "bounds of skills in prompts"),
        optional("skill_discovery", Object(&SKILL_DISCOVERY), "where skills are looked for"),
        optional("plugin_sources", Map(&OneOf(&[Text, Object(&PLUGIN_SOURCE)])), "where plugins come from"),
        optional("plugins", PLUGINS, "plugins of all agents"),
    ],
};

/// `timeouts` of the runtime or of an agent.
pub static TIMEOUTS: ObjectType = ObjectType {
    name: "timeouts",
    title: "`timeouts`",
    keys: &[
        optional("connect", Duration, "until the connection stands (default 30s)"),
        optional("first_token", Duration, "until the answer begins (default the whole request)"),
        optional("idle", Duration, "between two pieces of the answer (default 2m)"),
    ],
};

/// `provider` of the runtime or of an agent.
pub const PROVIDER_SHAPE: Shape = OneOf(&[Text, Object(&PROVIDER)]);

/// `plugins` of the runtime or of an agent.
pub const PLUGINS: Shape = List(&OneOf(&[Text, Object(&PLUGIN)]));

/// `provider` as an object; which keys go with which provider is decided by its reader.
pub static PROVIDER: ObjectType = ObjectType {
    name: "provider",
    title: "`provider`",
    keys: &[
        optional("name", Text, "name of the provider (default copilot)"),
        optional("base_url", Text, "address of the service"),
        optional("api_key", Secret, "credential; keep it in the environment: `${NAME}`"),
        optional(
            "api_key_file",
            Text,
            "file with the credential, relative to this one; only its owner may read it",
        ),
        optional("bearer_token", Secret, "credential (copilot)"),
        optional("auth_token", Secret, "credential (anthropic, claude)"),
        optional("headers", SECRET_MAP, "further request headers"),
        optional("command", Text, "program of the coding agent (acp, cli)"),
        optional("args", TEXTS, "its arguments (acp, cli)"),
        optional("env", SECRET_MAP, "its environment (acp, cli)"),
        optional(
            "permissions",
            Choice(PERMISSIONS),
            "what decides about the agent's requests for permission (acp; default ask)",
        ),
        optional("file", Text, "file of replies, relative to this one (scripted)"),
        optional("latency_ms", Integer(0, 86_400_000), "how long every reply takes (scripted)"),
        optional(
            "type",
            Choice(&["openai", "azure", "anthropic"]),
            "kind of service behind the address (copilot)",
        ),
        optional("wire_api", Choice(&["completions", "responses"]), "interface of the service (copilot)"),
        optional("azure", Object(&AZURE), "settings of `type: azure` (copilot)"),
        optional("runtime_url", Text, "address of a running service (copilot)"),
        optional("runtime_token", Secret, "credential of `runtime_url` (copilot)"),
        optional("hermes_home", Text, "home directory (hermes)"),
        optional("hermes_toolsets", TEXTS, "tool sets (hermes)"),
        optional("hermes_skip_memory", Boolean, "without memory (hermes)"),
        optional("hermes_skip_context_files", Boolean, "without context files (hermes)"),
        optional("pool_endpoint", Text, "https address of the pool (aca)"),
        optional("api_version", Text, "version of the interface (aca)"),
        optional(
            "inner_provider",
            Choice(&["copilot", "claude-agent-sdk"]),
            "provider inside the sandbox (aca)",
        ),
        optional("identifier_scope", IDENTIFIER_SCOPE, "what shares one sandbox (aca)"),
        optional("egress", Choice(&["enabled", "disabled"]), "network of the sandbox (aca)"),
        optional("lifecycle", Choice(&["timed", "on_container_exit"]), "end of the sandbox (aca)"),
        optional("auth", Choice(&["azure_default"]), "how to sign in (aca)"),
    ],
};

const IDENTIFIER_SCOPE: Shape = Choice(&["workflow", "agent", "item", "none"]);

/// `provider.azure`.
pub static AZURE: ObjectType = ObjectType {
    name: "azure",
    title: "`azure`",
    keys: &[optional("api_version", Text, "version of the interface")],
};

/// An entry of `mcp_servers`.
pub static MCP_SERVER: ObjectType = ObjectType {
    name: "mcp_server",
    title: "an MCP server",
    keys: &[
        optional("type", Choice(McpTransport::WORDS), "how it is reached (default stdio)"),
        optional("command", Text, "program of a stdio server"),
        optional("args", TEXTS, "its arguments"),
        optional("env", SECRET_MAP, "its environment"),
        optional(
            "working_dir",
            Text,
            "where a stdio server runs, relative to this file (default its folder)",
        ),
        optional("url", Text, "address of an http or sse server"),
        optional("headers", SECRET_MAP, "request headers"),
        optional("timeout", Number(1.0, f64::MAX), "milliseconds for one call"),
        optional("tools", TEXTS, "which of its tools may be used (default all: `*`)"),
        optional("scripts", Map(&Object(&SCRIPT_TOOL)), "with `type: scripts`: commands that are tools"),
    ],
};

/// A command that is a tool.
pub static SCRIPT_TOOL: ObjectType = ObjectType {
    name: "script_tool",
    title: "a script that is a tool",
    keys: &[
        required("command", Text, "the program; no shell reads it"),
        optional(
            "args",
            TEXTS,
            "its arguments, as they stand; what a model gives comes on standard input, as JSON",
        ),
        optional("description", Text, "what it is for, told to models"),
        optional("input", Map(&Any), "what it takes, as JSON Schema of an object (default nothing)"),
        optional("output", Map(&Any), "what it gives, as JSON Schema (default any text)"),
        optional("idempotent", Boolean, "whether it may be repeated without harm (default false)"),
    ],
};

/// `checkpoint`.
pub static CHECKPOINT: ObjectType = ObjectType {
    name: "checkpoint",
    title: "`checkpoint`",
    keys: &[
        optional("every_agent", Boolean, "after every agent (default false)"),
        optional("every_seconds", Seconds(1.0), "after so many seconds"),
        optional("keep_last", Integer(1, 100), "how many to keep (default 5)"),
    ],
};

/// `tool_output`.
pub static TOOL_OUTPUT: ObjectType = ObjectType {
    name: "tool_output",
    title: "`tool_output`",
    keys: &[
        optional("enabled", Boolean, "whether results are capped (default true)"),
        optional("max_chars", Integer(1000, u64::MAX), "characters of one result (default 50000)"),
        optional("spill_to_file", Boolean, "known and without effect: the rest is kept in the journal"),
        optional("spill_dir", Text, "known and without effect"),
    ],
};

/// `skill_injection`.
pub static SKILL_INJECTION: ObjectType = ObjectType {
    name: "skill_injection",
    title: "`skill_injection`",
    keys: &[
        optional("warn_bytes", Integer(0, u64::MAX), "size that gives a warning (default 65536)"),
        optional("max_bytes", Integer(0, u64::MAX), "size that is refused (default 163840)"),
    ],
};

/// `skill_discovery`.
pub static SKILL_DISCOVERY: ObjectType = ObjectType {
    name: "skill_discovery",
    title: "`skill_discovery`",
    keys: &[
        optional("sources", List(&Choice(&["personal", "project"])), "where to look"),
        optional("exclude", TEXTS, "names to leave out"),
    ],
};

/// An entry of `plugin_sources` that is not just an address.
pub static PLUGIN_SOURCE: ObjectType = ObjectType {
    name: "plugin_source",
    title: "a plugin source",
    keys: &[
        required("source", Text, "address, with `#ref` for a version"),
        optional("path", Text, "folder inside"),
        optional("plugin", Text, "name inside"),
    ],
};

/// An entry of `plugins` that is not just a name.
pub static PLUGIN: ObjectType = ObjectType {
    name: "plugin",
    title: "a plugin",
    keys: &[
        required("name", Text, "name of the plugin"),
        optional("skills", Boolean, "use its skills (default true)"),
        optional("agents", Boolean, "use its agents (default true)"),
        optional("mcp", Boolean, "use its MCP servers (default true)"),
    ],
};

/// `sandbox` of an agent.
pub static SANDBOX: ObjectType = ObjectType {
    name: "sandbox",
    title: "`sandbox`",
    keys: &[
        optional("identifier_scope", IDENTIFIER_SCOPE, "what shares one sandbox"),
        optional("working_dir", Template, "directory inside"),
    ],
};

/// `reasoning` of an agent.
pub static REASONING: ObjectType = ObjectType {
    name: "reasoning",
    title: "`reasoning`",
    keys: &[required("effort", Shape::ChoiceOrTemplate(EFFORTS), "how hard to think")],
};

/// `validator` of an agent.
pub static VALIDATOR: ObjectType = ObjectType {
    name: "validator",
    title: "`validator`",
    keys: &[
        required("criteria", Template, "what a good answer is"),
        optional("model", Template, "the model that grades"),
        optional("max_retries", Integer(0, 1), "re-runs with feedback (default 1)"),
    ],
};
