//! An entry of `mcp_servers`.

use std::time::Duration;

use indexmap::IndexMap;

use super::super::address::is_http;
use super::super::env;
use super::super::section::Section;
use super::super::settings::{McpServer, McpTransport, ScriptTool};
use super::super::text::{SecretText, Spanned};
use super::super::tree::{Node, Pair, Value};
use super::super::workflow::{Entry, Names};
use super::Reader;
use super::fields::Fields;
use super::scalars::head;
use crate::value::check_schema;

/// Reads servers by name.
pub fn servers(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> IndexMap<String, Entry<McpServer>> {
    let read = |cx: &mut Reader<'_>, pair: &Pair, _: &str| {
        McpServer::at(cx, &pair.value, format!("MCP server `{}`", pair.key.value))
    };
    fields.map(cx, key, read).unwrap_or_default()
}

/// Reads how a server is reached.
pub fn transport(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Spanned<McpTransport> {
    fields.value(cx, key).unwrap_or_else(|| Spanned::new(McpTransport::default(), fields.head.clone()))
}

/// Reads a number of milliseconds.
pub fn milliseconds(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<Duration>> {
    fields.number(cx, key).map(|ms| ms.map(|ms| Duration::from_secs_f64(ms.min(1e12) / 1000.0)))
}

/// Reads which tools of a server may be used: all, where nothing is said.
pub fn tools_of_server(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Names {
    fields.names(cx, key).unwrap_or_else(|| vec![Spanned::new("*".to_owned(), fields.place())])
}

/// Reads scripts that are tools.
pub fn scripts(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> IndexMap<String, Entry<ScriptTool>> {
    let read = |cx: &mut Reader<'_>, pair: &Pair, owner: &str| {
        ScriptTool::at(cx, &pair.value, format!("`{}` in {owner}", pair.key.value))
    };
    fields.map(cx, key, read).unwrap_or_default()
}

/// What a server needs, and which keys mean nothing to it, depends on how it is reached.
pub fn judge_server(cx: &mut Reader<'_>, fields: &Fields<'_>, server: &mut McpServer) {
    let needed = match server.transport.value {
        McpTransport::Stdio => "command",
        McpTransport::Http | McpTransport::Sse => "url",
        McpTransport::Scripts => "scripts",
    };
    fields.require(cx, needed);
    judge_keys(cx, fields, server.transport.value);
    judge_url(cx, fields, server.url.as_ref());
}

/// Reads a JSON Schema.
pub fn json_schema(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<serde_json::Value> {
    let node = &fields.take(key)?.value;
    if !matches!(node.value, Value::Map(_)) {
        cx.wrong_type(node, fields.of(key), "a mapping");
        return None;
    }
    let schema = cx.json(node);
    if let Err(fault) = check_schema(&schema) {
        let message = format!("{} is {fault}", fields.of(key));
        cx.error(
            "workflow::bad_schema",
            message,
            &head(below(node, &fault.path)),
            "cannot be used to check anything",
        );
    }
    Some(schema)
}

/// The node that a path leads to, or the last one on the way.
fn below<'t>(node: &'t Node, path: &[String]) -> &'t Node {
    let next = path.first().and_then(|part| match &node.value {
        Value::Seq(items) => items.get(part.parse::<usize>().ok()?),
        _ => node.get(part),
    });
    next.map_or(node, |next| below(next, &path[1..]))
}

/// Keys of the other way to reach a server are accepted, as Conductor does, and do nothing.
fn judge_keys(cx: &mut Reader<'_>, fields: &Fields<'_>, transport: McpTransport) {
    let (idle, what, others): (&[&str], _, _) = match transport {
        McpTransport::Stdio => (&["url", "headers", "scripts"], "a program", "another `type`"),
        McpTransport::Scripts => (&["url", "headers", "command", "args"], "commands", "another `type`"),
        McpTransport::Http | McpTransport::Sse => {
            (&["command", "args", "env", "secrets", "working_dir", "scripts"], "an address", "another `type`")
        }
    };
    for (key, place) in idle.iter().filter_map(|key| Some((key, fields.place_of(key)?.clone()))) {
        let message = format!("`{key}` of {} has no effect: it is reached by {what}", fields.owner);
        let finding = cx.warning("workflow::no_effect", message, &place, "not used");
        finding.help = Some(format!("`{key}` goes with {others}"));
    }
}

/// An address whose variables are not set yet is judged when it is used.
fn judge_url(cx: &mut Reader<'_>, fields: &Fields<'_>, url: Option<&SecretText>) {
    let Some(url) = url else { return };
    let meant = env::substitute(&url.raw.value, &|name| cx.sources.env(name));
    if meant.problems.is_empty() && !meant.text.trim().is_empty() && !is_http(&meant.text) {
        bad_address(cx, "url", &fields.owner, &url.raw);
    }
}

/// Reports a text that is not the address of a service, as it was written.
pub(super) fn bad_address(cx: &mut Reader<'_>, key: &str, owner: &str, written: &Spanned<String>) {
    let message = format!("`{key}` of {owner} is no http or https address: `{}`", written.value);
    let finding = cx.error("workflow::bad_address", message, &written.span, "not such an address");
    finding.help = Some("write it with its scheme and host, such as `https://host.example/path`".to_owned());
}
