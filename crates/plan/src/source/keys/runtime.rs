//! `provider` with settings; which keys go with which provider is decided by its reader.

use super::super::settings::IDENTIFIER_SCOPE;
use super::super::shape::Shape::{Boolean, Choice, Integer, Object, Secret, Text};
use super::super::shape::{ObjectType, SECRET_MAP, TEXTS, optional};
use super::super::words::PERMISSIONS;

/// `provider` as an object.
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

/// `provider.azure`.
pub static AZURE: ObjectType = ObjectType {
    name: "azure",
    title: "`azure`",
    keys: &[optional("api_version", Text, "version of the interface")],
};
