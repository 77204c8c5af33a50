//! A server with one tool for each thing that a client must get right. It is `rmcp`'s own server side.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Tools on one page of the list.
const PAGE: usize = 3;

#[derive(Clone, Default)]
pub struct TestServer {
    grown: Arc<AtomicBool>,
}

impl TestServer {
    fn tools(&self) -> Vec<Tool> {
        let number = json!({"type": "number"});
        let text = json!({"type": "string"});
        let sum = json!({"type": "object", "properties": {"sum": number}, "required": ["sum"]});
        let of = |properties: Value| {
            let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
            json!({"type": "object", "properties": properties, "required": required})
        };
        let mut tools = vec![
            json!({"name": "echo", "description": "Says it again.", "inputSchema": of(json!({"text": text})),
                   "annotations": {"readOnlyHint": true}}),
            json!({"name": "add", "inputSchema": of(json!({"a": number, "b": number})), "outputSchema": sum,
                   "annotations": {"idempotentHint": true}}),
            json!({"name": "wrong", "inputSchema": of(json!({})), "outputSchema": sum}),
            json!({"name": "big", "inputSchema": of(json!({"bytes": {"type": "integer"}}))}),
            json!({"name": "wait", "inputSchema": of(json!({"port": {"type": "integer"}}))}),
            json!({"name": "die", "inputSchema": of(json!({}))}),
            json!({"name": "variable", "inputSchema": of(json!({"name": text}))}),
            json!({"name": "processes", "inputSchema": of(json!({}))}),
            json!({"name": "fail", "inputSchema": of(json!({}))}),
            json!({"name": "refuse", "inputSchema": of(json!({}))}),
            json!({"name": "grow", "inputSchema": of(json!({}))}),
        ];
        if self.grown.load(Ordering::Acquire) {
            tools.push(json!({"name": "late", "inputSchema": of(json!({}))}));
        }
        tools.into_iter().map(|tool| serde_json::from_value(tool).unwrap()).collect()
    }
}

impl ServerHandler for TestServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let from: usize = request.and_then(|request| request.cursor).map_or(0, |at| at.parse().unwrap());
        let tools = self.tools();
        let page: Vec<Tool> = tools.iter().skip(from).take(PAGE).cloned().collect();
        let next_cursor = (from + PAGE < tools.len()).then(|| (from + PAGE).to_string());
        Ok(ListToolsResult { next_cursor, ..ListToolsResult::with_all_items(page) })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let meta = serde_json::to_value((&request.meta, &context.meta)).unwrap().to_string();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match request.name.as_ref() {
            "echo" => said(arguments["text"].as_str().unwrap()),
            "add" => {
                data(json!({"sum": arguments["a"].as_f64().unwrap() + arguments["b"].as_f64().unwrap()}))
            }
            "wrong" => data(json!({"sum": "many"})),
            "big" => said("x".repeat(arguments["bytes"].as_u64().unwrap() as usize)),
            "wait" => wait(arguments["port"].as_u64().unwrap() as u16, &context).await,
            "die" => die(),
            "variable" if arguments["name"] == "_meta" => said(meta),
            "variable" => said(std::env::var(arguments["name"].as_str().unwrap()).unwrap_or("unset".into())),
            "processes" => processes(),
            "fail" => CallToolResult::error(vec![ContentBlock::text("that did not work")]),
            "refuse" => return Err(ErrorData::invalid_params("not like this", None)),
            "grow" => {
                self.grown.store(true, Ordering::Release);
                context.peer.notify_tool_list_changed().await.unwrap();
                said("grown")
            }
            _ => said("late, but here"),
        };
        Ok(result.into())
    }
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn data(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}

/// Tells a port that it has begun, and that it was cancelled. Never answers otherwise.
async fn wait(port: u16, context: &RequestContext<RoleServer>) -> CallToolResult {
    let mut witness = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    witness.write_all(b"begun\n").await.unwrap();
    context.ct.cancelled().await;
    witness.write_all(b"cancelled\n").await.unwrap();
    said("nobody reads this")
}

#[expect(clippy::print_stderr, reason = "last words are what this is about")]
fn die() -> CallToolResult {
    eprintln!("these are my last words, key {}", std::env::var("GIVEN").unwrap_or_default());
    std::process::exit(7)
}

/// The ids of this process and of a child of it that is never ended.
#[expect(clippy::zombie_processes, reason = "a child that nobody waits for is what this is about")]
fn processes() -> CallToolResult {
    let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    data(json!({"ids": [std::process::id(), child.id()]}))
}
