//! Tools that are commands of this machine: a person approved each by writing it down, with its program and arguments.
//!
//! What a model gives comes as a JSON object on standard input, checked before the command starts; no shell reads it, and
//! it is no part of the command line. What the command prints is checked against its schema before it counts. Output and
//! time are bounded, and whatever a command started is gone when its time is over. Invariant: a result that does not
//! fit is a failed one, never a result.

use super::catalogue::Catalogue;
use super::content::failed;
use super::labels::Labels;
use super::settings::{Means, Resolved};
use super::trouble::{self, Who};
use convoke_agent::{Commands, Report, ScriptResult, Sink, ToolResult};
use convoke_model::excerpt::last_chars;
use convoke_model::{Class, Failure, JsonText, ScriptCall, ScriptTool, Server, TRACEPARENT, Transport};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Characters of what a failed command said that are passed on.
const TOLD: usize = 4_000;

/// The scripts of one entry.
pub struct Scripts<'a> {
    server: &'a Server,
    scripts: &'a [ScriptTool],
    env: &'a [(String, String)],
    working_dir: Option<&'a str>,
}

/// Reports of a tool's command are dropped: its caller reports the call.
struct Nobody;

impl Sink for Nobody {
    fn report(&self, _: Report) {}
}

impl<'a> Scripts<'a> {
    /// The scripts of a server that is none.
    pub fn of(server: &'a Server) -> Option<Scripts<'a>> {
        match &server.transport {
            Transport::Scripts { scripts, env, working_dir } => {
                Some(Scripts { server, scripts, env, working_dir: working_dir.as_deref() })
            }
            _ => None,
        }
    }

    /// All of them that may be used. One whose schema checks nothing is in the way of all: it was approved as it was
    /// written, not without its checks.
    pub fn catalogue(&self, server: &str) -> Result<Catalogue, Failure> {
        let listed = self.scripts.iter().map(|script| {
            serde_json::from_value(listing(script)).map_err(|error| format!("`{}`: {error}", script.name))
        });
        let catalogue = listed
            .collect::<Result<Vec<_>, _>>()
            .and_then(|listed| Catalogue::checked(listed, self.server.tools.as_deref()));
        catalogue.map_err(|why| trouble::bad_schema(server, &why))
    }

    /// Runs one.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &JsonText,
        labels: impl Into<Labels<'_>>,
        means: &Means,
        cancel: CancellationToken,
    ) -> Result<ToolResult, Failure> {
        let catalogue = self.catalogue(server)?;
        let script = self.scripts.iter().find(|script| script.name == tool);
        let (Some(entry), Some(script)) = (catalogue.get(tool), script) else {
            return Ok(failed(format!("tool `{tool}` was not found; there are {}", catalogue.names())));
        };
        let given = match entry.arguments(arguments.value()) {
            Ok(given) => given,
            Err(refused) => return Ok(refused),
        };
        let mut call =
            self.command(script, &given, means, &Who::new(server, format!("`{}`", script.command)))?;
        let Labels { key, trace } = labels.into();
        call.key = (!key.is_empty()).then(|| key.into());
        call.env.extend(trace.map(|trace| (TRACEPARENT.to_owned(), trace.to_owned())));
        let limit = self.server.timeout.unwrap_or(means.limits.call);
        match run(&call, limit, means, &cancel).await {
            Ok(Some(result)) => Ok(entry.result(read(script, &result))),
            Ok(None) => Ok(failed(format!("it took longer than {} s and was ended", limit.as_secs_f64()))),
            Err(_) if cancel.is_cancelled() => Err(trouble::cancelled(server, tool)),
            // A command that cannot be started is a result that a model can act on.
            Err(failure) if failure.class == Class::Fatal => Ok(failed(failure.message)),
            Err(failure) => Err(failure),
        }
    }

    fn command(
        &self,
        script: &ScriptTool,
        given: &Map<String, Value>,
        means: &Means,
        who: &Who,
    ) -> Result<ScriptCall, Failure> {
        let named: Vec<_> = script.args.iter().map(|arg| ("args".to_owned(), arg.clone())).collect();
        let args = Resolved::of(&named, &means.lookup, who)?.values.into_iter().map(|(_, arg)| arg);
        Ok(ScriptCall {
            command: script.command.clone(),
            args: args.collect(),
            env: Resolved::of(self.env, &means.lookup, who)?.values,
            working_dir: self.working_dir.map(str::to_owned),
            stdin: Some(format!("{}\n", Value::Object(given.clone()))),
            idle: None,
            key: None,
            survival: None,
            schema: None,
        })
    }
}

/// As a server would list it.
fn listing(script: &ScriptTool) -> Value {
    let mut listing = json!({
        "name": script.name,
        "description": script.description,
        "inputSchema": script.input.value(),
        "annotations": { "idempotentHint": script.repeatable },
    });
    if let Some(output) = &script.output {
        listing["outputSchema"] = output.value();
    }
    listing
}

/// Runs a command to its end, or to the end of its time; then `None`, and nothing of it is left.
async fn run(
    call: &ScriptCall,
    limit: Duration,
    means: &Means,
    cancel: &CancellationToken,
) -> Result<Option<ScriptResult>, Failure> {
    let stop = cancel.child_token();
    let mut running = means.commands().run(call, stop.clone(), &Nobody);
    match tokio::time::timeout(limit, &mut running).await {
        Ok(result) => result.map(Some),
        Err(_) => {
            stop.cancel();
            // It may have ended by itself in this moment; its time was over all the same.
            let _ = running.await;
            Ok(None)
        }
    }
}

/// What a command left behind, as a result: data where data is declared, else its text.
fn read(script: &ScriptTool, result: &ScriptResult) -> ToolResult {
    if result.exit_code != 0 {
        let said = if result.stderr.trim().is_empty() { &result.stdout } else { &result.stderr };
        return failed(format!(
            "it ended with exit code {}: {}",
            result.exit_code,
            last_chars(said.trim(), TOLD)
        ));
    }
    let text = result.stdout.trim_end().to_owned();
    if script.output.is_none() {
        return ToolResult { text, ..ToolResult::default() };
    }
    match serde_json::from_str::<Value>(&text) {
        _ if text.trim().is_empty() => failed("it gave no response, though it declares one"),
        Err(error) => failed(format!("what it gave is no JSON: {error}\n\n{}", last_chars(&text, TOLD))),
        Ok(data) => ToolResult { structured: Some(JsonText::of(&data)), text, ..ToolResult::default() },
    }
}

#[cfg(test)]
mod tests;
