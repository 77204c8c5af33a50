//! Secrets that a command prints.
//!
//! The command runs as a script of the file would: confined, without other credentials, marked as a child of a run, ended as a whole after a
//! bound. What it writes to standard error is not shown, because it may hold what it was asked for.

use super::Fetched;
use super::fetching::Missing;
use crate::config::Config;
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_agent::{Commands, Report, ScriptResult, Sink};
use convoke_model::{Failure, ScriptCall, SecretSource};
use convoke_secrets::value;
use convoke_tools::{Environment, Processes};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// How long a command may take.
const BOUND: Duration = Duration::from_secs(30);

/// Tests of a program with debug assertions wait for less.
fn bound() -> Duration {
    let stated = env::get_filled(env::TEST_SECRET_BOUND).filter(|_| cfg!(debug_assertions));
    stated.and_then(|text| text.parse().ok()).map_or(BOUND, Duration::from_secs)
}

/// Runs every command at the same time.
pub(super) fn run_all(
    config: &Config,
    sources: &BTreeMap<String, SecretSource>,
) -> Result<BTreeMap<String, Fetched>, CommandFailure> {
    let calls: Vec<(&String, ScriptCall)> = sources
        .iter()
        .filter_map(|(name, source)| match source {
            SecretSource::Command { argv, inherit } => Some((name, call(argv, inherit))),
            _ => None,
        })
        .collect();
    if calls.is_empty() {
        return Ok(BTreeMap::new());
    }
    let environment = Environment::new(std::env::vars_os(), &[]).on(config.sandbox.clone());
    let processes = Processes::new(environment);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let all = calls.iter().map(|(name, call)| {
        let processes = &processes;
        async move { ((*name).clone(), printed(processes, call).await) }
    });
    Ok(runtime.block_on(futures::future::join_all(all)).into_iter().collect())
}

fn call(argv: &[String], inherit: &[String]) -> ScriptCall {
    let given = inherit.iter().filter_map(|name| Some((name.clone(), env::get(name)?)));
    ScriptCall {
        command: argv.first().cloned().unwrap_or_default(),
        args: argv.iter().skip(1).cloned().collect(),
        env: given.collect(),
        working_dir: None,
        stdin: None,
        schema: None,
        key: None,
        survival: None,
        idle: None,
    }
}

async fn printed(processes: &Processes, call: &ScriptCall) -> Fetched {
    let cancel = CancellationToken::new();
    let mut running = std::pin::pin!(processes.run(call, cancel.clone(), &Unheard));
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        () = tokio::time::sleep(bound()) => {
            cancel.cancel();
            // Its whole tree is ended before anything else is done.
            drop(running.await);
            return Err(Missing::new(format!("command `{}` took longer than {} s", call.command, bound().as_secs()))
                .hint("a command that asks something has no terminal here: unlock what it reads first"));
        }
    };
    judged(&call.command, ended)
}

fn judged(command: &str, ended: Result<ScriptResult, Failure>) -> Fetched {
    let result = ended.map_err(|failure| Missing::new(failure.message))?;
    let output = Zeroizing::new(result.stdout.into_bytes());
    if result.exit_code != 0 {
        let why = format!("command `{command}` ended with exit code {}", result.exit_code);
        return Err(Missing::new(why).hint("what it says is not shown: give it in your own shell to see it"));
    }
    value::of_output(output).map_err(|why| Missing::new(format!("what command `{command}` printed: {why}")))
}

/// Nothing is reported of it.
struct Unheard;

impl Sink for Unheard {
    fn report(&self, _: Report) {}
}
