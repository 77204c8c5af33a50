//! An entry of `mcp_servers`.

use std::time::Duration;

use super::super::address::is_http;
use super::super::env;
use super::super::keys::runtime::{MCP_SERVER, SCRIPT_TOOL};
use super::super::settings::{McpServer, McpTransport, ScriptTool};
use super::super::text::{SecretText, Spanned};
use super::super::tree::{Node, Pair, Value};
use super::Reader;
use super::fields::Fields;
use super::fixed::fixed;
use super::scalars::head;
use crate::value::check_schema;

/// Reads one server.
pub(super) fn server(cx: &mut Reader<'_>, node: &Node, name: &str) -> Option<McpServer> {
    let mut fields = Fields::open(cx, node, &MCP_SERVER, format!("MCP server `{name}`"))?;
    let unsaid = Spanned::new(McpTransport::default(), fields.head.clone());
    let transport = fields.choice(cx, "type").unwrap_or(unsaid);
    let needed = match transport.value {
        McpTransport::Stdio => "command",
        McpTransport::Http | McpTransport::Sse => "url",
        McpTransport::Scripts => "scripts",
    };
    let server = McpServer {
        transport,
        command: fields.text(cx, "command"),
        args: fields.secrets(cx, "args").unwrap_or_default(),
        env: fields.secret_map(cx, "env").unwrap_or_default(),
        working_dir: fields.text(cx, "working_dir"),
        url: fields.secret(cx, "url"),
        headers: fields.secret_map(cx, "headers").unwrap_or_default(),
        timeout: fields
            .number(cx, "timeout")
            .map(|ms| ms.map(|ms| Duration::from_secs_f64(ms.min(1e12) / 1000.0))),
        tools: fields
            .names(cx, "tools")
            .unwrap_or_else(|| vec![Spanned::new("*".to_owned(), node.span.clone())]),
        scripts: fields.map(cx, "scripts", script).unwrap_or_default(),
        span: node.span.clone(),
    };
    fields.require(cx, needed);
    judge_keys(cx, &fields, server.transport.value);
    judge_url(cx, &fields, server.url.as_ref());
    fields.finish(cx);
    Some(server)
}

/// Reads one script that is a tool.
fn script(cx: &mut Reader<'_>, pair: &Pair, owner: &str) -> Option<ScriptTool> {
    let mut fields = Fields::open(cx, &pair.value, &SCRIPT_TOOL, format!("`{}` in {owner}", pair.key.value))?;
    let read = ScriptTool {
        description: fields.text(cx, "description"),
        command: fixed(cx, &mut fields, "command"),
        args: fields.secrets(cx, "args").unwrap_or_default(),
        input: json_schema(cx, &mut fields, "input"),
        output: json_schema(cx, &mut fields, "output"),
        idempotent: fields.flag(cx, "idempotent", false),
    };
    fields.finish(cx);
    Some(read)
}

fn json_schema(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<serde_json::Value> {
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
            (&["command", "args", "env", "working_dir", "scripts"], "an address", "another `type`")
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
