//! What the tests of servers share.
#![allow(dead_code, reason = "each test file uses its own part of it")]

use convoke_agent::{Tool, ToolResult};
use convoke_model::{Failure, JsonText, Server, Servers, Transport};
use convoke_tools::{Environment, Limits, Mcp};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Long enough for a busy machine: what ends by its limit has a shorter one.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Servers that see this environment, and references that these variables resolve.
pub fn mcp_with(environment: &[(&str, &str)], variables: &[(&str, &str)], limits: Limits) -> Mcp {
    let path: (OsString, OsString) = ("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
    let more = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment = Environment::new(std::iter::once(path).chain(more), &[]);
    let variables: HashMap<String, String> =
        variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let lookup = Arc::new(move |name: &str| variables.get(name).cloned());
    // A client needs the process's cryptography, also where no address is an https one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Arc::new(|| Ok(reqwest::Client::builder().no_proxy().build().unwrap()));
    Mcp::new(environment, lookup, client).with_limits(limits)
}

pub fn patient() -> Limits {
    Limits { start: PATIENCE, call: PATIENCE }
}

pub fn mcp() -> Mcp {
    mcp_with(&[], &[], patient())
}

pub fn program(command: &str, args: &[&str]) -> Server {
    let transport = Transport::Stdio {
        command: command.into(),
        args: args.iter().map(|arg| arg.to_string()).collect(),
        env: vec![],
        working_dir: None,
    };
    Server { transport, timeout: None, tools: None }
}

pub fn with_env(mut server: Server, name: &str, value: &str) -> Server {
    if let Transport::Stdio { env, .. } = &mut server.transport {
        env.push((name.into(), value.into()));
    }
    server
}

/// The tests' own server, which cargo builds beside the tests.
pub fn test_server() -> Server {
    program(&test_server_path().display().to_string(), &[])
}

pub fn test_server_path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/mcp_test_server");
    assert!(path.exists(), "{} is missing: cargo build --example mcp_test_server", path.display());
    path
}

pub fn named(name: &str, server: Server) -> Servers {
    Servers::from_iter([(name.to_owned(), server)])
}

pub fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.spec.name.as_str()).collect()
}

pub async fn find(mcp: &Mcp, servers: &Servers, name: &str) -> Tool {
    let tools = mcp.list(servers).await.unwrap();
    tools.into_iter().find(|tool| tool.name == name).unwrap_or_else(|| panic!("no tool {name}"))
}

/// Calls a tool of the servers by its own name.
pub async fn call(mcp: &Mcp, servers: &Servers, name: &str, arguments: Value) -> Result<ToolResult, Failure> {
    let tool = find(mcp, servers, name).await;
    mcp.call(servers, &tool, &JsonText::of(&arguments), "k", CancellationToken::new()).await
}

pub async fn said(mcp: &Mcp, servers: &Servers, name: &str, arguments: Value) -> String {
    let result = call(mcp, servers, name, arguments).await.unwrap();
    assert!(!result.failed, "{}", result.text);
    result.text
}
