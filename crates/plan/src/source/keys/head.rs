//! What every kind of manifest says about its run: the rows that are the same in all of them.

use super::super::section::FromNode;
use super::super::settings::{McpServer, Runtime};
use super::super::shape::Shape::{Map, Text};
use super::super::shape::{Key, Shape, TEMPLATES, optional};
use super::super::workflow::{Cost, Hooks, InputField, Limits, SecretEntry};

static DECLARED: Shape = InputField::SHAPE;
static SERVER: Shape = McpServer::SHAPE;
static SECRET: Shape = SecretEntry::SHAPE;

pub(super) const NAME: Key = optional("name", Text, "name of the work (default: the file's)");
pub(super) const DESCRIPTION: Key = optional("description", Text, "what it is for");
pub(super) const VERSION: Key = optional("version", Text, "version of the manifest, in quotes");
pub(super) const INPUTS: Key =
    optional("inputs", Map(&DECLARED), "declared inputs; texts use them as `workflow.input.NAME`");
pub(super) const MCP_SERVERS: Key = optional("mcp_servers", Map(&SERVER), "MCP servers by name");
pub(super) const SECRETS: Key = optional(
    "secrets",
    Map(&SECRET),
    "named secrets: from where each comes; `${NAME}` in `env`, headers and keys stands for it",
);
pub(super) const RUNTIME: Key = optional("runtime", Runtime::SHAPE, "the same and more, as in a workflow");
pub(super) const LIMITS: Key = optional("limits", Limits::SHAPE, "bounds of the run, as in a workflow");
pub(super) const COST: Key = optional("cost", Cost::SHAPE, "prices and how they are shown");
pub(super) const HOOKS: Key = optional("hooks", Hooks::SHAPE, "what happens at the start and the end");
pub(super) const INSTRUCTIONS: Key =
    optional("instructions", TEMPLATES, "texts that are put before every prompt");
